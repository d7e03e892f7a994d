package main

import (
	"path"
	"slices"
	"strings"
	"text/template/parse"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
)

// read is one place where a template reads a value.
type read struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Path is what follows .Values, such as "worker.replicas"; empty for all of it.
	Path string `json:"path"`
}

// reads lists where the templates of a chart, without its dependencies, read values: from
// the parse tree, so that comments and text do not count. A value that is read as a whole,
// for `with` or as an argument, stands for all that is below it.
func reads(chartPath string) ([]read, error) {
	loaded, err := load(chartPath)
	if err != nil {
		return nil, err
	}
	return chartReads(loaded)
}

func chartReads(loaded *chartv2.Chart) ([]read, error) {
	var found []read
	for _, file := range loaded.Templates {
		if !isTemplate(file.Name) {
			continue
		}
		source := string(file.Data)
		trees, err := parseTemplate(file.Name, source)
		if err != nil {
			return nil, err
		}
		for _, tree := range sortedTrees(trees) {
			walk(tree.Root, func(node parse.Node, names []string) {
				line := lineAt(source, node.Position())
				found = append(found, read{path.Clean(file.Name), line, strings.Join(names, ".")})
			})
		}
	}
	return found, nil
}

// walk calls visit for each read of .Values below node, with the names behind it.
func walk(node parse.Node, visit func(parse.Node, []string)) {
	switch found := node.(type) {
	case *parse.ListNode:
		if found == nil {
			return
		}
		for _, child := range found.Nodes {
			walk(child, visit)
		}
	case *parse.ActionNode:
		walk(found.Pipe, visit)
	case *parse.TemplateNode:
		walk(found.Pipe, visit)
	case *parse.IfNode:
		walkBranch(&found.BranchNode, visit)
	case *parse.RangeNode:
		walkBranch(&found.BranchNode, visit)
	case *parse.WithNode:
		walkBranch(&found.BranchNode, visit)
	case *parse.PipeNode:
		if found == nil {
			return
		}
		for _, command := range found.Cmds {
			walkCommand(command, visit)
		}
	case *parse.FieldNode:
		visitFields(found, found.Ident, visit)
	case *parse.VariableNode:
		visitFields(found, found.Ident, visit)
	case *parse.ChainNode:
		walkChain(found, visit)
	}
}

func walkBranch(node *parse.BranchNode, visit func(parse.Node, []string)) {
	walk(node.Pipe, visit)
	walk(node.List, visit)
	walk(node.ElseList, visit)
}

// walkCommand knows the functions that follow a path by strings: index and get.
func walkCommand(command *parse.CommandNode, visit func(parse.Node, []string)) {
	arguments := command.Args
	if name, ok := arguments[0].(*parse.IdentifierNode); ok && len(arguments) > 2 {
		switch name.Ident {
		case "index", "get":
			if base := valuesPath(arguments[1]); base != nil {
				names, rest := constants(arguments[2:])
				visit(command, append(base, names...))
				arguments = rest
			}
		}
	}
	for _, argument := range arguments {
		walk(argument, visit)
	}
}

// walkChain handles a parenthesis with fields behind it, such as (.Values.a).b.
func walkChain(chain *parse.ChainNode, visit func(parse.Node, []string)) {
	if base := valuesPath(chain.Node); base != nil {
		visit(chain, append(base, chain.Field...))
		return
	}
	walk(chain.Node, visit)
}

// constants splits arguments into the leading string constants and what follows them.
func constants(arguments []parse.Node) ([]string, []parse.Node) {
	var found []string
	for number, argument := range arguments {
		text, ok := argument.(*parse.StringNode)
		if !ok {
			return found, arguments[number:]
		}
		found = append(found, text.Text)
	}
	return found, nil
}

// valuesPath gives the names behind .Values where a node is nothing but such a path.
func valuesPath(node parse.Node) []string {
	switch found := node.(type) {
	case *parse.FieldNode:
		return behindValues(found.Ident)
	case *parse.VariableNode:
		return behindValues(found.Ident)
	case *parse.ChainNode:
		if base := valuesPath(found.Node); base != nil {
			return append(base, found.Field...)
		}
	case *parse.PipeNode:
		if len(found.Decl) == 0 && len(found.Cmds) == 1 && len(found.Cmds[0].Args) == 1 {
			return valuesPath(found.Cmds[0].Args[0])
		}
	}
	return nil
}

func visitFields(node parse.Node, names []string, visit func(parse.Node, []string)) {
	if behind := behindValues(names); behind != nil {
		visit(node, behind)
	}
}

// behindValues gives what follows "Values" in a chain of names; nil where it is not there.
func behindValues(names []string) []string {
	at := slices.Index(names, "Values")
	if at < 0 {
		return nil
	}
	return append([]string{}, names[at+1:]...)
}

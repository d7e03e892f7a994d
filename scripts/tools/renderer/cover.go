package main

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
)

// branch is one way through an if, range or with of a template. Its place and way name it.
type branch struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Column is where the condition begins, in bytes from 1.
	Column int `json:"column"`
	// Keyword is "if", "range" or "with".
	Keyword string `json:"keyword"`
	// Way is "taken" or "else"; an else that is not written exists all the same, unless it is
	// that of a range over items that are written out.
	Way string `json:"way"`
	// Text is the condition as it is written.
	Text string `json:"text"`
}

// coverage is a render together with the branches that it took, as indexes into branches.
type coverage struct {
	renderOutput
	Taken []int `json:"taken"`
	// Refused is why nothing was rendered; Taken then says how far the templates came.
	Refused string `json:"refused,omitempty"`
}

// mark is the function that instrumented templates call at the head of each branch.
const mark = "trainyardBranch"

// branches lists every branch of a chart and its dependencies, in a fixed order.
func branches(chartPath string) ([]branch, error) {
	loaded, err := load(chartPath)
	if err != nil {
		return nil, err
	}
	found := &instrument{}
	err = found.chart(loaded, "")
	return found.branches, err
}

// cover renders a chart with every branch marked. The marks print nothing.
func cover(input renderInput) (*coverage, error) {
	loaded, err := load(input.Chart)
	if err != nil {
		return nil, err
	}
	marked := &instrument{}
	if err := marked.chart(loaded, ""); err != nil {
		return nil, err
	}
	taken := map[int]bool{}
	made, failure := install(input, loaded, template.FuncMap{
		mark: func(number int) string { taken[number] = true; return "" },
	})
	result := &coverage{}
	if failure != nil {
		result.Refused = refusal(input, failure)
	} else {
		result.renderOutput = output(made)
	}
	for number := range taken {
		result.Taken = append(result.Taken, number)
	}
	slices.Sort(result.Taken)
	return result, nil
}

// refusal gives the error of the render without marks: its lines are those of the files.
func refusal(input renderInput, marked error) string {
	if _, err := render(input); err != nil {
		return err.Error()
	}
	return marked.Error()
}

// instrument rewrites templates so that they mark the branches they take.
type instrument struct {
	branches []branch
	file     string
	source   string
}

func (i *instrument) chart(loaded *chartv2.Chart, prefix string) error {
	for _, file := range loaded.Templates {
		if !isTemplate(file.Name) {
			continue
		}
		marked, err := i.template(path.Join(prefix, file.Name), string(file.Data))
		if err != nil {
			return err
		}
		file.Data = []byte(marked)
	}
	dependencies := slices.Clone(loaded.Dependencies())
	slices.SortFunc(dependencies, func(a, b *chartv2.Chart) int { return strings.Compare(a.Name(), b.Name()) })
	for _, dependency := range dependencies {
		if err := i.chart(dependency, path.Join(prefix, "charts", dependency.Name())); err != nil {
			return err
		}
	}
	return nil
}

// isTemplate says whether Helm gives a file below templates/ to its engine, as it does with all.
func isTemplate(name string) bool {
	return strings.HasPrefix(name, "templates/")
}

func (i *instrument) template(name, source string) (string, error) {
	i.file, i.source = name, source
	trees, err := parseTemplate(name, source)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, tree := range sortedTrees(trees) {
		i.list(tree.Root)
		if tree.Name == name {
			continue
		}
		fmt.Fprintf(&text, "{{define %q}}%s{{end}}", tree.Name, tree.Root)
	}
	if tree, ok := trees[name]; ok {
		text.WriteString(tree.Root.String())
	}
	return text.String(), nil
}

func (i *instrument) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for number, node := range list.Nodes {
		switch found := node.(type) {
		case *parse.TextNode:
			// Written back as it is, a text that ends in a brace would run into the next action.
			if text := string(found.Text); strings.HasSuffix(text, "{") || strings.Contains(text, "{{") {
				list.Nodes[number] = actionNode(strconv.Quote(text))
			}
		case *parse.IfNode:
			i.branch("if", &found.BranchNode)
		case *parse.RangeNode:
			i.branch("range", &found.BranchNode)
		case *parse.WithNode:
			i.branch("with", &found.BranchNode)
		}
	}
}

func (i *instrument) branch(keyword string, node *parse.BranchNode) {
	line, column := lineAt(i.source, node.Pos), columnAt(i.source, node.Pos)
	type way struct {
		name string
		list *parse.ListNode
	}
	ways := []way{{"taken", node.List}}
	if node.ElseList == nil && !(keyword == "range" && neverEmpty(node.Pipe)) {
		node.ElseList = &parse.ListNode{NodeType: parse.NodeList, Pos: node.Pos}
	}
	if node.ElseList != nil {
		ways = append(ways, way{"else", node.ElseList})
	}
	for _, way := range ways {
		number := len(i.branches)
		i.branches = append(i.branches, branch{i.file, line, column, keyword, way.name, node.Pipe.String()})
		i.list(way.list)
		marking := actionNode(fmt.Sprintf("%s %d", mark, number))
		way.list.Nodes = append([]parse.Node{marking}, way.list.Nodes...)
	}
}

// neverEmpty says whether a pipeline makes its list or map of items that are written in it.
func neverEmpty(pipe *parse.PipeNode) bool {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) < 2 {
		return false
	}
	function, ok := pipe.Cmds[0].Args[0].(*parse.IdentifierNode)
	return ok && slices.Contains([]string{"list", "tuple", "dict"}, function.Ident)
}

// actionNode gives the node of the action {{text}}.
func actionNode(text string) parse.Node {
	trees, err := parseTemplate("action", "{{"+text+"}}")
	if err != nil {
		panic(err)
	}
	return trees["action"].Root.Nodes[0]
}

// parseTemplate parses without knowing which functions there are: Helm adds some late.
func parseTemplate(name, source string) (map[string]*parse.Tree, error) {
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(source, "", "", trees); err != nil {
		return nil, err
	}
	return trees, nil
}

func sortedTrees(trees map[string]*parse.Tree) []*parse.Tree {
	sorted := make([]*parse.Tree, 0, len(trees))
	for _, tree := range trees {
		sorted = append(sorted, tree)
	}
	slices.SortFunc(sorted, func(a, b *parse.Tree) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

func columnAt(source string, position parse.Pos) int {
	before := source[:min(int(position), len(source))]
	return len(before) - strings.LastIndexByte(before, '\n')
}

func lineAt(source string, position parse.Pos) int {
	return 1 + strings.Count(source[:min(int(position), len(source))], "\n")
}

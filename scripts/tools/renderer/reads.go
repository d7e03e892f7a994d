package main

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template/parse"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"
)

// read is one place where a template reads a value.
type read struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Path is what follows .Values: "a.b" is read itself, "a.b.**" with all that is below
	// it, "a.*.b" under whatever key a user chose, "a.?" under a key that only a render
	// knows; "a.b=" is not read but put there by the template; of "a.b|" the template takes
	// false and 0 for absent, as a default other than these follows.
	Path string `json:"path"`
}

// reads lists where the templates of a chart read values. It follows the parse trees from
// each file that Helm renders, through variables, dict and list, and into the helpers that
// are called, those of dependencies too. What it cannot follow counts as read as a whole.
func reads(chartPath string) ([]read, error) {
	loaded, err := load(chartPath)
	if err != nil {
		return nil, err
	}
	return chartReads(loaded)
}

func chartReads(loaded *chartv2.Chart) ([]read, error) {
	t := &tracer{templates: map[string]source{}, found: map[read]bool{}, known: map[string]*value{}}
	entries, err := t.parse(loaded, "")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		t.call(entry, &value{root: true}, true)
	}
	if t.nameless {
		// A helper whose name only a render knows may be any that nobody else calls.
		for _, name := range slices.Sorted(maps.Keys(t.templates)) {
			if from := t.templates[name]; !from.called && strings.HasPrefix(from.file, "templates/") {
				t.call(name, &value{root: true}, true)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(t.found), func(a, b read) int {
		foreign := func(r read) bool { return strings.HasPrefix(r.File, "charts/") }
		if foreign(a) != foreign(b) {
			return map[bool]int{true: 1, false: -1}[foreign(a)]
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	}), nil
}

// value is all that an expression may be, as far as the source tells.
type value struct {
	paths   [][]string        // where in .Values it may come from
	fields  map[string]*value // what a map holds under known keys
	rest    *value            // what a map or list holds under other keys
	items   []*value          // what a list holds
	texts   []string          // texts that it may be
	written *value            // for text: the value that was written as YAML or JSON
	truth   int               // 1 is true, -1 is false, 0 is not known
	root    bool              // the context that Helm calls templates with
	anyKey  bool              // a key that users choose, or a number
	opaque  bool              // something else, too
	level   int               // how many unknown conditions it was made under
}

// source is one template with the file that it stands in.
type source struct {
	tree   *parse.Tree
	file   string
	text   string
	called bool
}

// tracer follows templates. One that is never left is ended by depth and by steps.
type tracer struct {
	templates map[string]source
	found     map[read]bool
	known     map[string]*value
	stack     []string
	frame     *frame
	level     int
	steps     int
	nameless  bool
}

// frame is one call of a template.
type frame struct {
	from      source
	line      int
	dot, root *value
	variables []variable
	level     int
	entry     bool
	output    []emission
}

type variable struct {
	name  string
	value *value
	level int
}

type emission struct {
	value  *value
	line   int
	always bool
}

const (
	deepest  = 5
	longest  = 400_000
	mostEach = 64
)

// parse reads the templates of a chart after those of its dependencies, which it may
// replace, and gives the names of its files that Helm renders.
func (t *tracer) parse(loaded *chartv2.Chart, prefix string) ([]string, error) {
	for _, dependency := range loaded.Dependencies() {
		if _, err := t.parse(dependency, path.Join(prefix, "charts", dependency.Name())); err != nil {
			return nil, err
		}
	}
	var entries []string
	for _, file := range loaded.Templates {
		if !isTemplate(file.Name) {
			continue
		}
		name, text := path.Join(prefix, file.Name), string(file.Data)
		trees, err := parseTemplate(name, text)
		if err != nil {
			return nil, err
		}
		for _, tree := range trees {
			t.templates[tree.Name] = source{tree: tree, file: name, text: text}
		}
		if trees[name] != nil && !strings.HasPrefix(path.Base(name), "_") {
			entries = append(entries, name)
		}
	}
	return entries, nil
}

// call follows one template; an entry is a file, whose output is the manifest.
func (t *tracer) call(name string, argument *value, entry bool) *value {
	from, ok := t.templates[name]
	depth := 0
	for _, caller := range t.stack {
		if caller == name {
			depth++
		}
	}
	if t.steps > longest {
		t.record([]string{"?"}, "")
	}
	if !ok || t.steps > longest {
		t.use(argument, true)
		return &value{opaque: true}
	}
	if depth >= deepest {
		// The outer calls of the same helper have given all that this one could.
		t.use(argument, true)
		return &value{}
	}
	from.called = true
	t.templates[name] = from
	key := name + "\x00" + argument.describe(true)
	if done := t.known[key]; done != nil {
		return done
	}
	t.stack = append(t.stack, name)
	caller := t.frame
	t.frame = &frame{from: from, dot: argument, root: argument, level: t.level, entry: entry}
	t.list(from.tree.Root)
	result := t.result()
	t.frame, t.stack = caller, t.stack[:len(t.stack)-1]
	if !argument.changeable(true) {
		t.known[key] = result
	}
	return result
}

// result gives what a template's output is: a text, a value written as YAML, or just text.
func (t *tracer) result() *value {
	var text strings.Builder
	var written *value
	constant, whole := true, true
	if chosen := t.choice(); chosen != nil {
		return chosen
	}
	for _, part := range t.frame.output {
		single, fixed := part.value.single()
		switch {
		case part.value.written != nil && len(part.value.paths) == 0:
			written, constant = joined(written, part.value.written), false
		case part.value.empty():
		case fixed && (part.always || strings.TrimSpace(single) == ""):
			text.WriteString(single)
			whole = whole && strings.TrimSpace(single) == ""
		default:
			constant, whole = false, false
		}
	}
	switch {
	case constant:
		return &value{texts: []string{text.String()}}
	case whole && written != nil:
		return &value{written: written}
	}
	for _, part := range t.frame.output {
		t.frame.line = part.line
		t.use(part.value, true)
	}
	return &value{opaque: true}
}

// choice gives an output that is always one of several known texts, with nothing beside it.
func (t *tracer) choice() *value {
	var chosen *value
	for _, part := range t.frame.output {
		text, fixed := part.value.single()
		switch {
		case part.value.empty() || fixed && strings.TrimSpace(text) == "":
		case chosen == nil && part.always && part.value.choice():
			chosen = &value{texts: part.value.texts}
		default:
			return nil
		}
	}
	return chosen
}

// use records that a value is read: itself, or with all that is below it.
func (t *tracer) use(v *value, whole bool) {
	if v == nil {
		return
	}
	for _, names := range v.paths {
		t.record(names, map[bool]string{true: ".**", false: ""}[whole])
	}
	if !whole {
		return
	}
	for _, field := range v.fields {
		t.use(field, true)
	}
	for _, item := range v.items {
		t.use(item, true)
	}
	t.use(v.rest, true)
	t.use(v.written, true)
}

func (t *tracer) record(names []string, mark string) {
	where := strings.TrimPrefix(strings.Join(names, ".")+mark, ".")
	if where != "" {
		t.found[read{path.Clean(t.frame.from.file), t.frame.line, where}] = true
	}
}

func (t *tracer) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		t.steps++
		switch found := node.(type) {
		case *parse.TextNode:
			t.emit(&value{texts: []string{string(found.Text)}})
		case *parse.ActionNode:
			if v := t.pipe(found.Pipe); len(found.Pipe.Decl) == 0 {
				t.emit(v)
			}
		case *parse.TemplateNode:
			t.emit(t.call(found.Name, t.pipe(found.Pipe), false))
		case *parse.IfNode:
			v := t.pipe(found.Pipe)
			t.branch(&found.BranchNode, v, t.frame.dot)
		case *parse.WithNode:
			v := t.pipe(found.Pipe)
			t.branch(&found.BranchNode, v, v)
		case *parse.RangeNode:
			t.loop(found)
		}
	}
}

func (t *tracer) emit(v *value) {
	if t.frame.entry {
		t.use(v, true)
		return
	}
	t.frame.output = append(t.frame.output, emission{v, t.frame.line, t.level == t.frame.level})
}

// scoped follows a list with variables of its own, under a condition that may not be known.
func (t *tracer) scoped(list *parse.ListNode, dot *value, unknown bool) {
	outer, declared := t.frame.dot, len(t.frame.variables)
	if unknown {
		t.level++
		defer func() { t.level-- }()
	}
	t.frame.dot = dot
	t.list(list)
	t.frame.dot, t.frame.variables = outer, t.frame.variables[:declared]
}

func (t *tracer) branch(node *parse.BranchNode, condition, dot *value) {
	t.use(condition, false)
	declared := len(t.frame.variables) - len(node.Pipe.Decl)
	truth := condition.truthful()
	if truth >= 0 {
		t.scoped(node.List, dot, truth == 0)
	}
	if truth <= 0 {
		t.scoped(node.ElseList, t.frame.dot, truth == 0)
	}
	t.frame.variables = t.frame.variables[:max(declared, 0)]
}

// loop follows a range: once for each item that is known, else once for all of them.
func (t *tracer) loop(node *parse.RangeNode) {
	over := t.commands(node.Pipe)
	t.use(over, false)
	names := node.Pipe.Decl
	turn := func(key, item *value, unknown bool) {
		declared := len(t.frame.variables)
		for number, name := range names {
			v := item
			if number == 0 && len(names) == 2 {
				v = key
			}
			t.frame.variables = append(t.frame.variables, variable{name.Ident[0], v, t.level})
		}
		t.scoped(node.List, item, unknown)
		t.frame.variables = t.frame.variables[:declared]
	}
	for _, item := range over.items {
		turn(&value{anyKey: true}, item, over.opaque)
	}
	for _, key := range slices.Sorted(maps.Keys(over.fields)) {
		turn(&value{texts: []string{key}}, over.fields[key], over.opaque)
	}
	if len(over.paths) > 0 || over.rest != nil || over.opaque {
		turn(&value{anyKey: len(over.paths) > 0, opaque: true}, over.others(), true)
	}
	t.scoped(node.ElseList, t.frame.dot, true)
}

// pipe gives the value of a pipeline and puts it into the variables that it declares.
func (t *tracer) pipe(pipe *parse.PipeNode) *value {
	if pipe == nil {
		return &value{truth: -1}
	}
	v := t.commands(pipe)
	for _, name := range pipe.Decl {
		if !pipe.IsAssign {
			t.frame.variables = append(t.frame.variables, variable{name.Ident[0], v, t.level})
		} else if at := t.frame.find(name.Ident[0]); at >= 0 {
			old := &t.frame.variables[at]
			if t.level > old.level {
				v = joined(old.value, v)
			}
			old.value = v
		}
	}
	return v
}

func (t *tracer) commands(pipe *parse.PipeNode) *value {
	var v *value
	for _, command := range pipe.Cmds {
		v = t.command(command, v)
	}
	return v
}

func (t *tracer) command(command *parse.CommandNode, piped *value) *value {
	name, ok := command.Args[0].(*parse.IdentifierNode)
	if !ok {
		v := t.operand(command.Args[0])
		for _, argument := range command.Args[1:] {
			t.use(t.operand(argument), true)
		}
		t.use(piped, true)
		return v
	}
	if name.Ident == "and" || name.Ident == "or" {
		return t.shortcut(name.Ident, command.Args[1:], piped)
	}
	var arguments []*value
	for _, argument := range command.Args[1:] {
		arguments = append(arguments, t.operand(argument))
	}
	if piped != nil {
		arguments = append(arguments, piped)
	}
	t.at(command)
	return t.function(name.Ident, arguments)
}

// shortcut follows `and` and `or`, which stop at the operand that decides.
func (t *tracer) shortcut(name string, nodes []parse.Node, piped *value) *value {
	decides := map[string]int{"and": -1, "or": 1}[name]
	var all *value
	follow := func(v *value) bool {
		t.use(v, false)
		if v.truthful() == decides {
			all = joined(all, v)
			all.truth = decides
			return true
		}
		if name == "and" && all != nil {
			// What comes before the last operand of `and` is given only where it is empty.
			all = &value{truth: all.truthful()}
		}
		truth := v.truthful()
		if all != nil && all.truthful() == 0 {
			truth = 0
		}
		all = joined(all, v)
		all.truth = truth
		return false
	}
	for _, node := range nodes {
		if follow(t.operand(node)) {
			return all
		}
	}
	if piped != nil {
		follow(piped)
	}
	return all
}

func (t *tracer) operand(node parse.Node) *value {
	t.at(node)
	switch found := node.(type) {
	case *parse.DotNode:
		return t.frame.dot
	case *parse.FieldNode:
		return t.frame.dot.follow(found.Ident)
	case *parse.VariableNode:
		if found.Ident[0] == "$" {
			return t.frame.root.follow(found.Ident[1:])
		}
		if at := t.frame.find(found.Ident[0]); at >= 0 {
			return t.frame.variables[at].value.follow(found.Ident[1:])
		}
	case *parse.ChainNode:
		return t.operand(found.Node).follow(found.Field)
	case *parse.PipeNode:
		return t.pipe(found)
	case *parse.IdentifierNode:
		return t.function(found.Ident, nil)
	case *parse.StringNode:
		return &value{texts: []string{found.Text}}
	case *parse.NumberNode:
		zero := found.Int64 == 0 && found.Uint64 == 0 && found.Float64 == 0
		return &value{anyKey: true, truth: map[bool]int{true: -1, false: 1}[zero]}
	case *parse.BoolNode:
		return &value{truth: map[bool]int{true: 1, false: -1}[found.True]}
	case *parse.NilNode:
		return &value{truth: -1}
	}
	return &value{opaque: true}
}

func (t *tracer) at(node parse.Node) {
	t.frame.line = lineAt(t.frame.from.text, node.Position())
}

func (f *frame) find(name string) int {
	for at := len(f.variables) - 1; at >= 0; at-- {
		if f.variables[at].name == name {
			return at
		}
	}
	return -1
}

// function gives the result of a template function. One that is not listed here takes its
// arguments as they are, with all that is below them.
func (t *tracer) function(name string, arguments []*value) *value {
	kind := functions[name]
	if kind == nil || len(arguments) == 0 && name != "dict" && name != "list" {
		for _, argument := range arguments {
			t.use(argument, true)
		}
		return &value{opaque: true}
	}
	return kind(t, arguments)
}

var functions map[string]func(*tracer, []*value) *value

func init() {
	functions = map[string]func(*tracer, []*value) *value{
		"include": callInclude, "dict": callDict, "set": callSet, "index": callIndex, "get": callIndex, "dig": callDig,
		"default": callDefault, "coalesce": callEither, "required": callLast, "ternary": callTernary,
		"pick": callPick, "omit": callCopied, "deepCopy": callCopied, "mustDeepCopy": callCopied, "unset": callFirst,
		"merge": callMerge, "mergeOverwrite": callMerge, "mustMerge": callMerge, "mustMergeOverwrite": callMerge,
		"list": callList, "tuple": callList, "append": callAppended, "mustAppend": callAppended, "concat": callConcat,
		"uniq": callFirst, "compact": callFirst, "mustUniq": callFirst, "mustCompact": callFirst,
		"first": callElement, "last": callElement, "keys": callKeys, "values": callContents, "has": callHas,
		"printf": callFormat, "print": callFormat, "toString": callLast, "eq": callEqual, "ne": callUnequal, "not": callNot,
		"empty": callNot, "len": callProbe, "kindIs": callKindIs, "kindOf": callNothing, "typeIs": callNothing,
		"typeOf": callNothing, "typeIsLike": callNothing, "hasKey": callNothing,
	}
	for _, name := range strings.Fields("toYaml mustToYaml toYamlPretty toJson mustToJson toPrettyJson toRawJson") {
		functions[name] = callWrite
	}
	for _, name := range strings.Fields("fromYaml fromJson mustFromJson fromYamlArray fromJsonArray") {
		functions[name] = callParsed
	}
}

func callInclude(t *tracer, arguments []*value) *value {
	if len(arguments) < 2 {
		return &value{opaque: true}
	}
	name := arguments[0]
	if len(name.texts) == 0 || len(name.paths) > 0 || name.opaque {
		t.nameless = true
		t.use(name, true)
		t.use(arguments[1], true)
		return &value{opaque: true}
	}
	var result *value
	for _, text := range name.texts {
		result = joined(result, t.call(text, arguments[1], false))
	}
	return result
}

func callDict(t *tracer, arguments []*value) *value {
	made := &value{fields: map[string]*value{}, level: t.level}
	for at := 0; at+1 < len(arguments); at += 2 {
		if key, ok := arguments[at].single(); ok {
			made.fields[key] = arguments[at+1]
		} else {
			made.rest = joined(made.rest, arguments[at+1])
		}
	}
	return made
}

// callSet changes a map that a template made. Users' own values keep their paths.
func callSet(t *tracer, arguments []*value) *value {
	if len(arguments) < 3 {
		return arguments[0]
	}
	target, v := arguments[0], arguments[2]
	key, ok := arguments[1].single()
	switch {
	case target.fields == nil && len(target.paths) > 0:
		t.use(v, true)
		for _, names := range target.paths {
			if ok {
				t.record(append(slices.Clone(names), key), "=")
			}
		}
	case !ok:
		t.use(arguments[1], true)
		target.rest = joined(target.rest, v)
	case target.fields == nil:
		target.fields = map[string]*value{key: v}
	case t.level > target.level:
		target.fields[key] = joined(target.follow([]string{key}), v)
	default:
		target.fields[key] = v
	}
	return target
}

func callIndex(t *tracer, arguments []*value) *value {
	v := arguments[0]
	for _, key := range arguments[1:] {
		t.use(key, true)
		v = v.under(key)
	}
	return v
}

func callDig(t *tracer, arguments []*value) *value {
	keys, rest := arguments[:max(len(arguments)-2, 0)], arguments[max(len(arguments)-2, 0):]
	return joined(callIndex(t, append([]*value{rest[len(rest)-1]}, keys...)), rest[0])
}

func callEither(t *tracer, arguments []*value) *value {
	var all *value
	for _, argument := range arguments {
		t.use(argument, false)
		all = joined(all, argument)
	}
	return all
}

// callDefault is callEither that notes what default would take for absent.
func callDefault(t *tracer, arguments []*value) *value {
	if len(arguments) == 2 && arguments[0] != nil && arguments[1] != nil {
		number := len(arguments[0].texts) == 0 && arguments[0].truthful() == 1
		if number && len(arguments[1].paths) == 1 {
			t.record(arguments[1].paths[0], "|")
		}
	}
	return callEither(t, arguments)
}

func callTernary(t *tracer, arguments []*value) *value {
	if len(arguments) < 3 {
		return callEither(t, arguments)
	}
	t.use(arguments[2], false)
	switch arguments[2].truthful() {
	case 1:
		return arguments[0]
	case -1:
		return arguments[1]
	}
	return joined(arguments[0], arguments[1])
}

func callFirst(_ *tracer, arguments []*value) *value { return arguments[0] }

func callLast(t *tracer, arguments []*value) *value {
	v := arguments[len(arguments)-1]
	t.use(v, false)
	return v
}

func callCopied(t *tracer, arguments []*value) *value {
	twin := *arguments[0]
	twin.fields = maps.Clone(arguments[0].fields)
	if twin.fields == nil {
		twin.fields = map[string]*value{}
	}
	twin.level = t.level
	return &twin
}

func callPick(t *tracer, arguments []*value) *value {
	made := &value{fields: map[string]*value{}, level: t.level}
	for _, key := range arguments[1:] {
		if text, ok := key.single(); ok {
			made.fields[text] = arguments[0].under(key)
		} else {
			made.rest = joined(made.rest, arguments[0].under(key))
		}
	}
	return made
}

func callMerge(t *tracer, arguments []*value) *value {
	var all *value
	for _, argument := range arguments {
		all = joined(all, argument)
	}
	all.level = t.level
	if target := arguments[0]; target.fields != nil {
		*target = *all
		return target
	}
	return callCopied(t, []*value{all})
}

func callList(t *tracer, arguments []*value) *value {
	return &value{items: arguments, level: t.level, truth: map[bool]int{true: 1, false: -1}[len(arguments) > 0]}
}

func callAppended(t *tracer, arguments []*value) *value {
	twin := *arguments[0]
	twin.truth = 1
	twin.items = append(slices.Clone(twin.items), arguments[1:]...)
	if len(twin.items) > mostEach {
		for _, item := range twin.items {
			twin.rest = joined(twin.rest, item)
		}
		twin.items = nil
	}
	return &twin
}

func callConcat(t *tracer, arguments []*value) *value {
	var all *value
	for _, argument := range arguments {
		all = joined(all, argument)
	}
	all.truth = 0
	return all
}

func callElement(t *tracer, arguments []*value) *value { return arguments[0].any() }

func callKeys(t *tracer, arguments []*value) *value {
	t.use(arguments[0], false)
	made := &value{}
	for _, v := range arguments {
		for _, key := range slices.Sorted(maps.Keys(v.fields)) {
			made.items = append(made.items, &value{texts: []string{key}})
		}
		if len(v.paths) > 0 || v.rest != nil || v.opaque {
			made.rest = &value{anyKey: len(v.paths) > 0, opaque: true}
		}
	}
	return made
}

func callContents(t *tracer, arguments []*value) *value {
	return &value{rest: arguments[0].any(), opaque: true}
}

func callHas(t *tracer, arguments []*value) *value {
	wanted, ok := arguments[0].single()
	if len(arguments) == 2 && ok && arguments[1].listed() {
		for _, item := range arguments[1].items {
			if item.texts[0] == wanted {
				return &value{truth: 1}
			}
		}
		return &value{truth: -1}
	}
	for _, argument := range arguments {
		t.use(argument, true)
	}
	return &value{opaque: true}
}

// callFormat gives the text where all parts of it are known.
func callFormat(t *tracer, arguments []*value) *value {
	var texts []any
	for _, argument := range arguments {
		t.use(argument, true)
		if text, ok := argument.single(); ok {
			texts = append(texts, text)
		}
	}
	pattern, _ := arguments[0].single()
	switch {
	case len(texts) < len(arguments):
		return &value{opaque: true}
	case strings.Count(pattern, "%") == strings.Count(pattern, "%s"):
		if strings.Count(pattern, "%s") == len(texts)-1 {
			return &value{texts: []string{fmt.Sprintf(pattern, texts[1:]...)}}
		}
		return &value{texts: []string{fmt.Sprint(texts...)}}
	}
	return &value{opaque: true}
}

func callEqual(t *tracer, arguments []*value) *value {
	one, ok := arguments[0].single()
	if len(arguments) == 2 && ok {
		if other, ok := arguments[1].single(); ok {
			return &value{truth: map[bool]int{true: 1, false: -1}[one == other]}
		}
	}
	for _, argument := range arguments {
		t.use(argument, true)
	}
	return &value{opaque: true}
}

func callUnequal(t *tracer, arguments []*value) *value {
	same := callEqual(t, arguments)
	return &value{truth: -same.truth, opaque: true}
}

func callNot(t *tracer, arguments []*value) *value {
	t.use(arguments[0], false)
	return &value{truth: -arguments[0].truthful(), opaque: true}
}

func callProbe(t *tracer, arguments []*value) *value {
	t.use(arguments[0], false)
	return &value{opaque: true}
}

// callKindIs knows the kind of what a template made; it uses no value of a user.
func callKindIs(_ *tracer, arguments []*value) *value {
	wanted, ok := arguments[0].single()
	v := arguments[len(arguments)-1]
	if !ok || len(v.paths) > 0 || v.opaque || v.root || v.rest != nil {
		return &value{opaque: true}
	}
	_, text := v.single()
	is := map[string]bool{"map": len(v.fields) > 0, "slice": len(v.items) > 0, "string": text}
	if !is["map"] && !is["slice"] && !is["string"] && (v.fields != nil || v.written != nil || v.truth != 0) {
		return &value{opaque: true}
	}
	return &value{truth: map[bool]int{true: 1, false: -1}[is[wanted]]}
}

// callNothing stands for questions about a value's type or presence, which use no value.
func callNothing(*tracer, []*value) *value { return &value{opaque: true} }

func callWrite(_ *tracer, arguments []*value) *value { return &value{written: arguments[0]} }

// callParsed undoes callWrite, and reads the text of helpers that hold nothing but YAML.
func callParsed(t *tracer, arguments []*value) *value {
	if arguments[0].written != nil {
		return callCopied(t, []*value{arguments[0].written})
	}
	if text, ok := arguments[0].single(); ok {
		var content any
		if yaml.Unmarshal([]byte(text), &content) == nil {
			return constantValue(content)
		}
	}
	t.use(arguments[0], true)
	return &value{opaque: true}
}

func constantValue(content any) *value {
	switch found := content.(type) {
	case map[string]any:
		made := &value{fields: map[string]*value{}}
		for key, item := range found {
			made.fields[key] = constantValue(item)
		}
		return made
	case []any:
		made := &value{}
		for _, item := range found {
			made.items = append(made.items, constantValue(item))
		}
		return made
	case string:
		return &value{texts: []string{found}}
	case bool:
		return &value{truth: map[bool]int{true: 1, false: -1}[found]}
	}
	return &value{anyKey: true}
}

// follow gives what is below a value under a chain of names.
func (v *value) follow(names []string) *value {
	for _, name := range names {
		v = v.field(name)
	}
	return v
}

func (v *value) field(name string) *value {
	if field, ok := v.fields[name]; ok {
		return field
	}
	if name == "Values" && (v.root || v.opaque) {
		return &value{paths: [][]string{{}}}
	}
	made := &value{opaque: v.root || v.opaque}
	for _, names := range v.paths {
		made.paths = append(made.paths, append(slices.Clone(names), name))
	}
	return joined(made, v.rest)
}

// under gives what is below a value under a key that may not be known.
func (v *value) under(key *value) *value {
	var all *value
	for _, text := range key.texts {
		all = joined(all, v.field(text))
	}
	switch {
	case key.anyKey || len(key.paths) > 0:
		all = joined(all, v.any())
	case len(v.fields) > 0 && len(v.paths) == 0 && v.rest == nil && !v.opaque && !v.root:
		// All that a template's own map can give is in it.
		all = joined(all, v.any())
	case key.opaque || len(key.texts) == 0:
		unknown := &value{opaque: true}
		for _, names := range v.paths {
			if !slices.Contains(names, "?") {
				names = append(slices.Clone(names), "?")
			}
			unknown.paths = append(unknown.paths, names)
		}
		bare := *v
		bare.paths = nil
		all = joined(all, joined(unknown, bare.any()))
	}
	return all
}

// any gives what is below a value under whatever key.
func (v *value) any() *value {
	all := v.others()
	for _, field := range v.fields {
		all = joined(all, field)
	}
	for _, item := range v.items {
		all = joined(all, item)
	}
	return all
}

// others gives what is below a value under keys that are not known.
func (v *value) others() *value {
	made := &value{opaque: v.opaque}
	for _, names := range v.paths {
		// Two stars stand for any depth, so that helpers which call themselves come to an end.
		if at := len(names) - 2; at < 0 || names[at] != "*" || names[at+1] != "*" {
			names = append(slices.Clone(names), "*")
		}
		made.paths = append(made.paths, names)
	}
	return joined(made, v.rest)
}

// single gives the text where a value is one text and nothing else.
func (v *value) single() (string, bool) {
	if v == nil || len(v.texts) != 1 || v.opaque || v.anyKey || v.root || v.written != nil ||
		len(v.paths)+len(v.fields)+len(v.items) > 0 {
		return "", false
	}
	return v.texts[0], true
}

// choice says whether a value is one of several texts and nothing else.
func (v *value) choice() bool {
	bare := *v
	bare.texts, bare.truth = nil, 0
	return len(v.texts) > 1 && bare.empty()
}

// bare says whether a value is a number or a boolean, of which only the truth is known.
func (v *value) bare() bool { return v.truth != 0 && len(v.texts) == 0 }

// empty says whether a value is known to be nothing.
func (v *value) empty() bool {
	return !v.root && !v.anyKey && !v.opaque && v.rest == nil && v.written == nil &&
		len(v.paths)+len(v.fields)+len(v.items)+len(v.texts) == 0
}

// listed says whether a value is a list of known texts.
func (v *value) listed() bool {
	for _, item := range v.items {
		if _, ok := item.single(); !ok {
			return false
		}
	}
	return v.truth == 1 && len(v.paths) == 0 && v.rest == nil && !v.opaque
}

func (v *value) truthful() int {
	if text, ok := v.single(); ok {
		return map[bool]int{true: 1, false: -1}[text != ""]
	}
	if len(v.paths) > 0 {
		return 0
	}
	return v.truth
}

// changeable says whether a template could change a value, or maps below it, by set. The
// map that is made for a call is thrown away after it.
func (v *value) changeable(outermost bool) bool {
	if v == nil {
		return false
	}
	if !outermost && v.fields != nil {
		return true
	}
	for _, field := range v.fields {
		if field.changeable(false) {
			return true
		}
	}
	return v.rest.changeable(false)
}

// describe gives a text that is equal for values that are followed alike.
func (v *value) describe(outermost bool) string {
	if v == nil {
		return "-"
	}
	text := fmt.Sprint(v.paths, v.texts, v.truth, v.root, v.anyKey, v.opaque)
	for _, key := range slices.Sorted(maps.Keys(v.fields)) {
		text += fmt.Sprintf("{%q:%s}", key, v.fields[key].describe(false))
	}
	for _, item := range v.items {
		text += "[" + item.describe(false) + "]"
	}
	if v.rest != nil {
		text += "(" + v.rest.describe(false) + ")"
	}
	if v.written != nil {
		text += "<" + v.written.describe(false) + ">"
	}
	return text
}

// joined gives a value that may be either of two.
func joined(a, b *value) *value {
	if a == nil || a == b {
		return b
	}
	if b == nil {
		return a
	}
	made := &value{
		rest: joined(a.rest, b.rest), written: joined(a.written, b.written), level: min(a.level, b.level),
		root: a.root || b.root, anyKey: a.anyKey || b.anyKey, opaque: a.opaque || b.opaque,
	}
	if a.truthful() == b.truthful() {
		made.truth = a.truthful()
	}
	made.paths = slices.CompactFunc(slices.SortedFunc(slices.Values(slices.Concat(a.paths, b.paths)),
		slices.Compare), slices.Equal)
	made.texts = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.texts, b.texts))))
	made.opaque = made.opaque || a.bare() && len(b.texts) > 0 || b.bare() && len(a.texts) > 0
	made.items = slices.Concat(a.items, b.items)
	if len(made.items) > mostEach {
		made.items, made.rest = nil, joined(made.rest, joined(a.any(), b.any()))
	}
	if a.fields != nil || b.fields != nil {
		made.fields = maps.Clone(a.fields)
		if made.fields == nil {
			made.fields = map[string]*value{}
		}
		for key, field := range b.fields {
			made.fields[key] = joined(made.fields[key], field)
		}
	}
	return made
}

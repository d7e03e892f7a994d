package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/getter"
	release "helm.sh/helm/v4/pkg/release/v1"
)

// renderInput says what to render, in the words of `helm template`.
type renderInput struct {
	Chart       string   `json:"chart"`
	Release     string   `json:"release"`
	Namespace   string   `json:"namespace"`
	IsUpgrade   bool     `json:"is_upgrade"`
	KubeVersion string   `json:"kube_version"`
	APIVersions []string `json:"api_versions"`
	IncludeCRDs bool     `json:"include_crds"`
	SkipSchema  bool     `json:"skip_schema"`
	// SkipMissing renders without the dependencies that Chart.yaml names and charts/ lacks.
	SkipMissing bool `json:"skip_missing"`
	// ValuesText holds values files by content, laid over one another before Values.
	ValuesText []string `json:"values_text"`
	ValueFiles []string `json:"value_files"`
	Set        []string `json:"set"`
	SetString  []string `json:"set_string"`
	SetJSON    []string `json:"set_json"`
	SetFile    []string `json:"set_file"`
	SetLiteral []string `json:"set_literal"`
}

// renderOutput is what came out. Manifest is what `helm template` prints, byte for byte.
type renderOutput struct {
	Manifest string   `json:"manifest"`
	Notes    string   `json:"notes"`
	Hooks    []string `json:"hooks"`
	// Documents are the manifest's documents, read.
	Documents []document     `json:"documents"`
	Values    map[string]any `json:"values"`
}

func render(input renderInput) (*renderOutput, error) {
	loaded, err := load(input.Chart)
	if err != nil {
		return nil, err
	}
	made, err := install(input, loaded, nil)
	if err != nil {
		return nil, err
	}
	result := output(made)
	return &result, nil
}

// output gives what came out of a release that was rendered.
func output(made *release.Release) renderOutput {
	result := renderOutput{Manifest: printed(made), Notes: made.Info.Notes, Values: made.Config}
	result.Documents = documents(result.Manifest)
	for _, hook := range made.Hooks {
		result.Hooks = append(result.Hooks, hook.Path)
	}
	return result
}

// load reads a chart and refuses what the command line would refuse.
func load(path string) (*chartv2.Chart, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("path %q not found", path)
	}
	found, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	loaded, ok := found.(*chartv2.Chart)
	if !ok {
		return nil, errors.New("only charts of apiVersion v1 and v2 are supported")
	}
	if kind := loaded.Metadata.Type; kind != "" && kind != "application" {
		return nil, fmt.Errorf("%s charts are not installable", kind)
	}
	return loaded, nil
}

// checkDependencies refuses a chart whose dependencies are not all there.
func checkDependencies(loaded *chartv2.Chart) error {
	accessor, err := chart.NewAccessor(loaded)
	if err != nil {
		return err
	}
	needed := accessor.MetaDependencies()
	if len(needed) == 0 {
		return nil
	}
	if err := action.CheckDependencies(loaded, needed); err != nil {
		return fmt.Errorf("an error occurred while checking for chart dependencies. "+
			"You may need to run 'helm dependency build' to fetch missing dependencies: %w", err)
	}
	return nil
}

// install runs the client side of an installation, as `helm template` does; functions are
// more functions that templates may call.
func install(input renderInput, loaded *chartv2.Chart, functions template.FuncMap) (*release.Release, error) {
	merged, err := mergedValues(input)
	if err != nil {
		return nil, err
	}
	return installWith(input, loaded, merged, functions)
}

// installWith is install with values that are merged already.
func installWith(
	input renderInput, loaded *chartv2.Chart, merged map[string]any, functions template.FuncMap,
) (*release.Release, error) {
	if !input.SkipMissing {
		if err := checkDependencies(loaded); err != nil {
			return nil, err
		}
	}
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	configuration.CustomTemplateFuncs = functions
	client := action.NewInstall(configuration)
	client.DryRunStrategy = action.DryRunClient
	client.Replace = true // The name may be taken: nothing is installed.
	client.ReleaseName = input.Release
	client.Namespace = input.Namespace
	client.IsUpgrade = input.IsUpgrade
	client.IncludeCRDs = input.IncludeCRDs
	client.SkipSchemaValidation = input.SkipSchema
	client.APIVersions = common.VersionSet(input.APIVersions)
	if input.KubeVersion != "" {
		parsed, err := common.ParseKubeVersion(input.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("invalid kube version '%s': %w", input.KubeVersion, err)
		}
		client.KubeVersion = parsed
	}
	made, err := client.RunWithContext(context.Background(), loaded, merged)
	if err != nil {
		return nil, err
	}
	rendered, ok := made.(*release.Release)
	if !ok {
		return nil, fmt.Errorf("unexpected release of type %T", made)
	}
	return rendered, nil
}

// mergedValues merges all values as the command line does; texts become files first, since
// only files give the number types that files give.
func mergedValues(input renderInput) (map[string]any, error) {
	options := values.Options{
		ValueFiles:    []string{},
		Values:        input.Set,
		StringValues:  input.SetString,
		JSONValues:    input.SetJSON,
		FileValues:    input.SetFile,
		LiteralValues: input.SetLiteral,
	}
	for _, text := range input.ValuesText {
		file, err := os.CreateTemp("", "values-*.yaml")
		if err != nil {
			return nil, err
		}
		defer os.Remove(file.Name())
		if _, err := io.WriteString(file, text); err != nil {
			return nil, err
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
		options.ValueFiles = append(options.ValueFiles, file.Name())
	}
	options.ValueFiles = append(options.ValueFiles, input.ValueFiles...)
	return options.MergeValues(providers)
}

var providers = getter.All(cli.New())

// printed gives the text that `helm template` prints for a release.
func printed(made *release.Release) string {
	var text bytes.Buffer
	fmt.Fprintln(&text, strings.TrimSpace(made.Manifest))
	for _, hook := range made.Hooks {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	return text.String()
}

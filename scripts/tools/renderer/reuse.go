package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common/util"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

// reused is a render of a new chart with the values that `helm upgrade --reuse-values` gives it.
type reused struct {
	renderOutput
	// Added are the paths in the new chart's values.yaml that the old one has not got. Below
	// such a path there is nothing unless the templates put it there.
	Added []string `json:"added"`
	// Refused is why nothing was rendered.
	Refused string `json:"refused,omitempty"`
}

// reuse renders a new chart over the release that the old input made. As in reuseValues of
// helm.sh/helm/v4/pkg/action/upgrade.go, the new chart's values.yaml is not read: the old chart's
// values with the user's laid over take its place.
func reuse(old, input renderInput) (*reused, error) {
	before, err := load(old.Chart)
	if err != nil {
		return nil, err
	}
	loaded, err := load(input.Chart)
	if err != nil {
		return nil, err
	}
	result := &reused{Added: added(loaded.Values, before.Values, "")}
	kept, err := mergedValues(old)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(before, kept); err != nil {
		return nil, err
	}
	// A release is kept as JSON, which turns every number into a float.
	if kept, err = stored(kept); err != nil {
		return nil, err
	}
	if before.Values, err = stored(before.Values); err != nil {
		return nil, err
	}
	if loaded.Values, err = util.CoalesceValues(before, kept); err != nil {
		return nil, fmt.Errorf("failed to rebuild old values: %w", err)
	}
	given, err := mergedValues(input)
	if err != nil {
		return nil, err
	}
	made, err := installWith(input, loaded, util.CoalesceTables(given, kept), nil)
	if err != nil {
		result.Refused = err.Error()
		return result, nil
	}
	result.renderOutput = output(made)
	return result, nil
}

func stored(values map[string]any) (map[string]any, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	var read map[string]any
	err = json.Unmarshal(text, &read)
	return read, err
}

// added gives the paths in values that are not in old, in order. A null is no value: Helm drops it.
func added(values, old map[string]any, prefix string) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		before, known := old[key]
		below, isTable := value.(map[string]any)
		tableBefore, wasTable := before.(map[string]any)
		switch {
		case value == nil:
		case !known:
			found = append(found, prefix+key)
		case isTable && wasTable:
			found = append(found, added(below, tableBefore, prefix+key+".")...)
		}
	}
	return found
}

package main

import (
	"encoding/json"
	"regexp"

	"sigs.k8s.io/yaml"
)

// document is one YAML document of a manifest, read as the API server reads it: the last
// word on what a text means is not Python's.
type document struct {
	Object json.RawMessage `json:"object,omitempty"`
	// Error says why it cannot be read: no YAML, or a key that stands twice.
	Error string `json:"error,omitempty"`
}

var separator = regexp.MustCompile(`(?m)^---[ \t]*$`)

// documents reads what stands between the separators of a manifest, empty pieces included.
func documents(manifest string) []document {
	var found []document
	for _, text := range separator.Split(manifest, -1) {
		object, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			found = append(found, document{Error: err.Error()})
			continue
		}
		found = append(found, document{Object: object})
	}
	return found
}

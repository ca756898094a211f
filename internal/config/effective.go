package config

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Effective is the whole configuration as YAML, defaults and what follows from
// other settings included. Secrets are redacted. Where there are none, a file
// with this text leads to the same configuration.
func (c *Config) Effective() (string, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range c.settings() {
		if s.isSecret() && shown(s.value) == "" {
			continue // it is no key of a file
		}
		parent, name := root, s.key
		for {
			section, rest, deeper := strings.Cut(name, ".")
			if !deeper {
				break
			}
			parent, name = child(parent, section), rest
		}
		parent.Content = append(parent.Content, textNode(name), s.value.node())
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return b.String(), nil
}

// child is the mapping under a key, which is made if it is not the last one.
func child(parent *yaml.Node, key string) *yaml.Node {
	if n := len(parent.Content); n > 0 && parent.Content[n-2].Value == key {
		return parent.Content[n-1]
	}
	made := &yaml.Node{Kind: yaml.MappingNode}
	parent.Content = append(parent.Content, textNode(key), made)
	return made
}

func textNode(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	return n
}

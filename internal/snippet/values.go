package snippet

import (
	"fmt"
	"maps"
	"strings"

	"github.com/kraftside/kraftside/internal/nearest"
)

// lay puts values over those of the chart, which know all keys but those of maps
// that are empty there.
func lay(over, values map[string]any, path string) error {
	for key, value := range values {
		was, known := over[key]
		if !known && (path == "" || len(over) > 0) {
			return unknown(path+key, over, path)
		}
		inner, isMap := was.(map[string]any)
		given, giveMap := value.(map[string]any)
		switch {
		case isMap && !giveMap:
			return fmt.Errorf("%s%s has keys of its own, and cannot be %v", path, key, value)
		case isMap && len(inner) > 0:
			if err := lay(inner, given, path+key+"."); err != nil {
				return err
			}
		default:
			over[key] = value
		}
	}
	return nil
}

func unknown(key string, known map[string]any, path string) error {
	if meant := nearest.Of(strings.TrimPrefix(key, path), maps.Keys(known)); meant != "" {
		return fmt.Errorf("the chart has no value %s; did you mean %s%s?", key, path, meant)
	}
	return fmt.Errorf("the chart has no value %s", key)
}

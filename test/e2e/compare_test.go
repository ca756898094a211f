//go:build e2e && unix

package e2e

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// difference is what two answers do not have in common.
type difference struct {
	path          string // such as Groups[g].Members[m].State
	broker, other any    // missing where one has no such element
}

type missing struct{}

func (missing) String() string { return "(missing)" }

func (d difference) String() string {
	return fmt.Sprintf("%s: the broker says %s, the sidecar %s", d.path, show(d.broker), show(d.other))
}

func show(v any) string {
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		return show(rv.Elem().Interface())
	}
	if rv.Kind() == reflect.String {
		return fmt.Sprintf("%q", rv.String())
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(text), `,"UnknownTags":{}`, "")
}

// identity is the fields by which elements of a list belong together, whatever
// their order.
var identity = []string{
	"Group", "GroupID", "MemberID", "Topic", "TopicID", "ResourceType", "ResourceName", "ResourcePatternType", "Name", "Type", "Partition",
	"NodeID", "ReplicaID", "User", "Mechanism", "ApiKey", "Key", "SubtopologyID", "Principal", "Host", "Operation", "PermissionType", "Entity", "TokenID",
}

// key is what an element of a list is recognised by.
func key(v reflect.Value) string {
	var parts []string
	for _, name := range identity {
		f := v.FieldByName(name)
		if !f.IsValid() || name == "Host" && v.FieldByName("NodeID").IsValid() || name == "Type" && v.FieldByName("Name").Kind() == reflect.Pointer {
			continue
		}
		parts = append(parts, strings.Trim(show(f.Interface()), `"`))
	}
	return strings.NewReplacer("[", "", "]", "", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", "").Replace(strings.Join(parts, "/"))
}

// compare lists in what two answers of the same type differ.
func compare(broker, sidecar any) (all []difference) {
	compareValues("", reflect.ValueOf(broker), reflect.ValueOf(sidecar), &all)
	return all
}

func compareValues(path string, a, b reflect.Value, all *[]difference) {
	differ := func() { *all = append(*all, difference{path, a.Interface(), b.Interface()}) }
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				differ()
			}
			return
		}
		compareValues(path, a.Elem(), b.Elem(), all)
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if f.IsExported() && f.Name != "UnknownTags" && f.Name != "Version" && f.Name != "ThrottleMillis" {
				compareValues(join(path, f.Name), a.Field(i), b.Field(i), all)
			}
		}
	case reflect.Slice:
		if a.Type().Elem().Kind() == reflect.Struct {
			compareLists(path, a, b, all)
		} else if a.Len() != b.Len() || a.Len() > 0 && !reflect.DeepEqual(a.Interface(), b.Interface()) {
			differ()
		}
	default:
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			differ()
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func compareLists(path string, a, b reflect.Value, all *[]difference) {
	left, right := byIdentity(a), byIdentity(b)
	var keys []string
	for k := range left {
		keys = append(keys, k)
	}
	for k := range right {
		if _, ok := left[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		at := fmt.Sprintf("%s[%s]", path, k)
		l, inLeft := left[k]
		r, inRight := right[k]
		switch {
		case !inLeft:
			*all = append(*all, difference{at, missing{}, r.Interface()})
		case !inRight:
			*all = append(*all, difference{at, l.Interface(), missing{}})
		default:
			compareValues(at, l, r, all)
		}
	}
}

func byIdentity(list reflect.Value) map[string]reflect.Value {
	m := map[string]reflect.Value{}
	for i := range list.Len() {
		k := key(list.Index(i))
		for n := 2; ; n++ {
			if _, taken := m[k]; !taken {
				break
			}
			k = fmt.Sprintf("%s#%d", key(list.Index(i)), n)
		}
		m[k] = list.Index(i)
	}
	return m
}

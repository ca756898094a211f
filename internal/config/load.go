package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// configFlag names the file. It is a flag and a variable, and no key of the
// file.
const configFlag = "config"

// Loader collects a Config from a command line, the environment and a file.
type Loader struct {
	file  string
	flags []*argument
}

// argument keeps what the command line says until it is its turn.
type argument struct {
	setting  setting
	standard string // the default, for help
	texts    []string
}

// NewLoader adds a flag for every setting to the flags of a command, and one
// for the file, in the order in which they are to be shown.
func NewLoader(to *pflag.FlagSet) *Loader {
	l := new(Loader)
	to.StringVar(&l.file, configFlag, "", "YAML `FILE` with settings; flags and KRAFTSIDE_… variables override it")
	for _, s := range Default().settings() {
		if s.isSecret() {
			continue
		}
		f := &argument{setting: s, standard: shown(s.value)}
		l.flags = append(l.flags, f)
		added := to.VarPF(f, s.key, "", s.help)
		if s.isBool() {
			added.NoOptDefVal = "true"
		}
	}
	return l
}

// Readable tells whether the files that it names can be opened. The error has one
// line for each that cannot.
func (c *Config) Readable() error {
	var errs []error
	for _, s := range c.settings() {
		path := shown(s.value)
		if s.value.form() != fileForm || path == "" {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.key, err))
			continue
		}
		_ = f.Close() // nothing was written
	}
	return errors.Join(errs...)
}

// Load reads everything. The flags must have been parsed. environ is as
// os.Environ has it. The error has one line for each thing that is wrong.
func (l *Loader) Load(environ []string) (*Config, error) {
	c, err := l.read(environ)
	if err != nil {
		return nil, err // what does not go together may be for want of what was not read
	}
	c.complete()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// HTTPListen is http.listen as far as it can be told, whatever else is wrong.
func (l *Loader) HTTPListen(environ []string) string {
	c, _ := l.read(environ) // Load says what is wrong
	return c.HTTP.Listen
}

// read is all that can be read, and what cannot.
func (l *Loader) read(environ []string) (*Config, error) {
	c := Default()
	k := newKeys(c.settings())
	env, envErr := k.readEnvironment(environ)
	var fileErr error
	if file := cmp.Or(l.file, env.file); file != "" {
		fileErr = k.loadFile(file)
	}
	return c, errors.Join(fileErr, envErr, k.loadEnvironment(env), k.loadFlags(l.flags))
}

// keys finds settings by their names.
type keys struct {
	settings []setting
	byKey    map[string]*setting
}

func newKeys(settings []setting) *keys {
	k := &keys{settings, map[string]*setting{}}
	for i := range settings {
		k.byKey[settings[i].key] = &settings[i]
	}
	return k
}

func (k *keys) loadFlags(flags []*argument) error {
	var errs []error
	for _, f := range flags {
		if f.texts == nil {
			continue
		}
		s := k.byKey[f.setting.key]
		var all []string
		for _, text := range f.texts {
			all = append(all, split(s.value, text)...)
		}
		if err := s.value.set(all); err != nil {
			errs = append(errs, fmt.Errorf("--%s %w", s.key, err))
		}
	}
	return errors.Join(errs...)
}

// Set implements pflag.Value. Of a list that is given more than once all items
// count; of other settings the last.
func (f *argument) Set(text string) error {
	if _, isList := f.setting.value.(*texts); !isList {
		f.texts = f.texts[:0]
	}
	f.texts = append(f.texts, text)
	return nil
}

// String implements pflag.Value: the default.
func (f *argument) String() string {
	if f.texts == nil {
		return f.standard
	}
	return strings.Join(f.texts, ",")
}

// Type implements pflag.Value: what help shows after the flag's name.
func (f *argument) Type() string { return f.setting.value.form() }

// shown is a value in one line; "" if it is empty.
func shown(v value) string {
	n := v.node()
	if len(n.Content) == 0 {
		return n.Value
	}
	var items []string
	for _, c := range n.Content {
		items = append(items, c.Value)
	}
	return strings.Join(items, ",")
}

// under are the names that may stand in a section of the file: of settings, and
// of sections in it.
func (k *keys) under(section string) []string {
	var out []string
	for _, s := range k.settings {
		rest, in := strings.CutPrefix(s.key, section)
		if name, _, _ := strings.Cut(rest, "."); in && !s.isSecret() && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

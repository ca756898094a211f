package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// load loads what the three places say; a file is written if there is text
// for it.
func load(t *testing.T, yamlText string, environ []string, args ...string) (*Config, error) {
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	l := NewLoader(flags)
	if yamlText != "" {
		path := filepath.Join(t.TempDir(), "kraftside.yaml")
		require.NoError(t, os.WriteFile(path, []byte(yamlText), 0o600))
		args = append([]string{"--config", path}, args...)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return l.Load(environ)
}

// In the files under testdata/load, lines that begin with -- are flags, those
// that begin with KRAFTSIDE_ are variables, and the others are the file. The
// output is what differs from the defaults.
func TestLoad(t *testing.T) {
	datadriven.Walk(t, "testdata/load", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var args, environ, lines []string
			for _, line := range strings.Split(d.Input, "\n") {
				switch {
				case strings.HasPrefix(line, "--"):
					args = append(args, line)
				case strings.HasPrefix(line, variablePrefix):
					environ = append(environ, line)
				default:
					lines = append(lines, line)
				}
			}
			c, err := load(t, strings.Join(lines, "\n"), environ, args...)
			if err != nil {
				return inTestDir.ReplaceAllString(err.Error(), "") + "\n"
			}
			return differences(c)
		})
	})
}

func differences(c *Config) string {
	var b strings.Builder
	standard := Default()
	standard.complete()
	other := standard.settings()
	for i, s := range c.settings() {
		if shown(s.value) != shown(other[i].value) {
			fmt.Fprintf(&b, "%s = %s\n", s.key, shown(s.value))
		}
	}
	return b.String()
}

// samples are two values for each form that settings have.
var samples = map[string][2]string{
	"ID": {"0", "7"}, "NAME": {"a b", "true"}, "DIR": {"/d/1", "#d"}, "FILE": {"/f/1", "f: 2"},
	"HOST:PORT,…": {"a:1,[::1]:65535", "b:9"}, "[ID@]HOST:PORT,…": {"1@a:1,b:2", "c:3"}, "DIR,…": {"/a,/b", "/c"},
	"[HOST]:PORT": {":0", "h:9464"}, "HOST[:PORT]": {"{host}:1", "s-{id}.x"},
	"PORT": {"9200", "0"}, "MECHANISM,…": {"PLAIN,SCRAM-SHA-256", "OAUTHBEARER"}, "FILE|URL": {"/f", "https://h/keys"},
	"PRINCIPAL,…": {"User:a,User:b", "User:CN=c"}, "SIZE": {"3MiB", "1000000"}, "SECRET": {"s1", "s2"},
	"URL": {"http://h:4317", "https://h/base"}, "DURATION": {"1m30s", "2h"},
}

func sample(v value, n int) string {
	if s, ok := samples[v.form()]; ok {
		return s[n]
	}
	words := strings.Split(v.form(), "|")
	return words[len(words)-2+n] // a choice has two at least, and the first may be the default
}

// Every setting can be given in all three places, and of these the later wins;
// a secret can be given in the environment alone.
func TestEverySettingEverywhere(t *testing.T) {
	for _, s := range Default().settings() {
		first, second := sample(s.value, 0), sample(s.value, 1)
		get := func(c *Config) string { return shown(newKeys(c.settings()).byKey[s.key].value) }
		env := variable(s.key) + "="
		if s.isSecret() {
			_, err := read(t, s.key+": x", nil)
			require.ErrorContains(t, err, s.key+" may not be here")
			_, err = read(t, "", nil, "--"+s.key+"=x")
			require.ErrorContains(t, err, "unknown flag")
			c, err := read(t, "", []string{env + first})
			require.NoError(t, err)
			require.Equal(t, redacted, get(c))
			continue
		}
		want := func(text string, c *Config, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, strings.Join(split(s.value, text), ","), get(c), s.key)
		}
		quoted := func(text string) string {
			if strings.HasSuffix(s.value.form(), ",…") {
				return "['" + strings.ReplaceAll(text, ",", "', '") + "']"
			}
			return "'" + text + "'"
		}
		c, err := read(t, s.key+": "+quoted(first), nil)
		want(first, c, err)
		c, err = read(t, s.key+": "+quoted(first), []string{env + second})
		want(second, c, err)
		c, err = read(t, s.key+": "+quoted(first), []string{env + first}, "--"+s.key+"="+second)
		want(second, c, err)
		c, err = read(t, "", []string{env + second}, "--"+s.key, "--"+s.key+"="+first)
		if s.isBool() {
			want(first, c, err)
		}
	}
}

// read is load without the part that looks at settings together.
func read(t *testing.T, yamlText string, environ []string, args ...string) (*Config, error) {
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	l := NewLoader(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	c := Default()
	k := newKeys(c.settings())
	if yamlText != "" {
		path := filepath.Join(t.TempDir(), "kraftside.yaml")
		require.NoError(t, os.WriteFile(path, []byte(yamlText), 0o600))
		if err := k.loadFile(path); err != nil {
			return nil, err
		}
	}
	env, err := k.readEnvironment(environ)
	require.NoError(t, err)
	if err := k.loadEnvironment(env); err != nil {
		return nil, err
	}
	return c, k.loadFlags(l.flags)
}

// A file with the effective configuration leads to the same configuration.
func TestEffective(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	valid := 0
	for range 10_000 {
		c := Default()
		c.Metadata.Controllers, c.Kafka.Bootstrap = []string{"c:1"}, []string{"a:1"} // or little of it is valid
		for _, s := range c.settings() {
			if !s.isSecret() && random.IntN(6) == 0 {
				require.NoError(t, s.value.set(split(s.value, sample(s.value, random.IntN(2)))))
			}
		}
		c.complete()
		if c.Validate() != nil {
			continue
		}
		valid++
		text, err := c.Effective()
		require.NoError(t, err)
		again, err := load(t, text, nil)
		require.NoError(t, err, text)
		require.Equal(t, c, again, text)
	}
	require.Greater(t, valid, 100)
}

func TestEffectiveText(t *testing.T) {
	c, err := load(t, "", []string{"KRAFTSIDE_KAFKA_SASL_PASSWORD=hunter2"}, "--kafka.bootstrap=a:1,b:2", "--metadata.controllers=3@c:9093",
		"--kafka.sasl.mechanism=SCRAM-SHA-512", "--kafka.sasl.username=on", "--kafka.tls.enabled", "--cluster-name=\x1b[2J")
	require.NoError(t, err)
	text, err := c.Effective()
	require.NoError(t, err)
	golden(t, "testdata/effective.yaml", text)
}

// A secret shows in nothing that is printed of a configuration.
func TestSecretIsNotShown(t *testing.T) {
	c, err := load(t, "", []string{"KRAFTSIDE_CONTROLLERS_SASL_PASSWORD=hunter2"}, "--kafka.bootstrap=a:1", "--metadata.controllers=c:9093",
		"--controllers.sasl.mechanism=PLAIN", "--controllers.sasl.username=u")
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(c.Controllers.SASL.Password))
	text, err := c.Effective()
	require.NoError(t, err)
	require.Contains(t, text, "password: '[redacted]'")
	json, err := c.Controllers.SASL.Password.MarshalText()
	require.NoError(t, err)
	text += string(json)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text += fmt.Sprintf(verb, *c)
	}
	require.NotContains(t, text, "hunter2")
	require.NotContains(t, text, fmt.Sprintf("%x", "hunter2"))
}

func TestBytes(t *testing.T) {
	for in, want := range map[string]Bytes{
		"0": 0, "4096": 4096, "10MiB": 10 << 20, "10 mib": 10 << 20, "1KB": 1000, "2GB": 2e9, "1TiB": 1 << 40, "7b": 7,
		"8388607TiB": 8388607 << 40, "9223372036854775807": 1<<63 - 1,
	} {
		b, ok := parseBytes(in)
		require.True(t, ok, in)
		require.Equal(t, want, b, in)
		back, ok := parseBytes(b.String())
		require.True(t, ok, b.String())
		require.Equal(t, b, back)
	}
	for _, in := range []string{"", "MiB", "-1", "+1", "1.5GiB", "1e6", "0x10", "8388608TiB", "9223372036854775808", "10 floz", "1 2"} {
		_, ok := parseBytes(in)
		require.False(t, ok, in)
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	_, err := load(t, "", []string{"KRAFTSIDE_CONFIG=testdata/none.yaml"})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "read the configuration: ")
	_, err = load(t, "log.level: warn\n---\nlog.level: info", nil)
	require.ErrorContains(t, err, "a second document follows the first")
	_, err = load(t, "#"+strings.Repeat("-", maxFile), nil)
	require.ErrorContains(t, err, "has more than 1048576 bytes")
}

// FuzzFile: whatever a file holds, it is read or the error names it.
func FuzzFile(f *testing.F) {
	f.Add("kafka: {bootstrap: [a:1]}\nmetadata:\n  controllers: b:2")
	f.Add("a: &a {kafka: *a}\nkafka: &b {tls: *b}")
	f.Add("x.: 1\nkafka.tls.x..y: 1\n? [x]\n: y\n<<: {kafka: 1}\n---\n...")
	f.Fuzz(func(t *testing.T, text string) {
		c := Default()
		if err := newKeys(c.settings()).parseFile("f.yaml", []byte(text)); err != nil {
			require.Contains(t, err.Error(), "f.yaml")
			return
		}
		c.complete()
		_ = c.Validate()
		_, err := c.Effective()
		require.NoError(t, err)
	})
}

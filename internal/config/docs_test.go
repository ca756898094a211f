package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inTestDir is the directory of a test's file in an error.
var inTestDir = regexp.MustCompile(`/\S*/(TestLoad|\d\d\d)\S*/`)

const docsHead = `# Configuration of ` + "`kraftside run`" + `

This file is made from the settings in internal/config by ` + "`go test ./internal/config -rewrite`" + `.

Every setting is a flag, a key of a YAML file and an environment variable at once. The setting ` + "`kafka.bootstrap`" + ` is

* the flag ` + "`--kafka.bootstrap a:9092,b:9092`" + `, or given twice, once with each,
* in the file that ` + "`--config FILE`" + ` or ` + "`KRAFTSIDE_CONFIG`" + ` names, the key ` + "`bootstrap`" + ` under ` + "`kafka`" + `, or ` + "`kafka.bootstrap`" + ` at the top:

      kafka:
        bootstrap: [a:9092, b:9092]

* the variable ` + "`KRAFTSIDE_KAFKA_BOOTSTRAP=a:9092,b:9092`" + `.

Flags win over variables, variables over the file, the file over the defaults. A list is replaced as a whole. A key or a
variable that is not known is an error, as is a value of the wrong form; ` + "`run`" + ` then ends with exit code 2 and one line for
each mistake, with the place and the name that was probably meant. Variables that Kubernetes makes for a service called
kraftside are passed over.

Passwords and tokens stand in files, which are read again for every login, and certificates likewise for every connection: to
rotate them, replace the file. A file that is missing or wrong does not end the process; the connection is tried again. Only
the files under ` + "`http`" + ` have to be right when it starts, and are replaced by what is right later. A password may also come
from the variable given below, and then lasts until a restart. There is no flag and no key for it, since others can
read command lines and configuration files.

` + "`run`" + ` logs the configuration that it arrived at, once, without secrets, as a file that would lead to the same one.

Sizes are whole numbers with KiB, MiB, GiB, TiB (of 1024), KB, MB, GB, TB (of 1000), or of bytes. What Kafka has to allow for each
source is in [permissions.md](permissions.md).
`

// docs/configuration.md says what the code says.
func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString(docsHead)
	for _, s := range Default().sections() {
		b.WriteString("\n")
		if s.name != "" {
			fmt.Fprintf(&b, "## `%s`\n\n%s\n\n", s.name, s.about)
			s.name += "."
		}
		b.WriteString("| setting | form | default | what it is |\n|---|---|---|---|\n")
		for _, one := range s.settings {
			writeRow(&b, s.name, &one)
		}
	}
	golden(t, "../../docs/configuration.md", b.String())
}

func writeRow(b *strings.Builder, section string, s *setting) {
	form, standard, key := strings.ReplaceAll(s.value.form(), "|", `\|`), shown(s.value), "`"+section+s.key+"`"
	if standard != "" {
		standard = "`" + standard + "`"
	}
	if s.isSecret() {
		key = "`" + variable(section+s.key) + "` (no flag, no key)"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", key, form, standard, s.help)
}

// golden compares a text with a file, or writes the file with -rewrite, which
// is a flag of package datadriven.
func golden(t *testing.T, path, text string) {
	if flag.Lookup("rewrite").Value.String() == "true" {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "write %s anew with -rewrite", path)
}

// No two settings share a variable or a key, and every one has a help.
func TestNames(t *testing.T) {
	k := newKeys(Default().settings())
	require.Len(t, k.byKey, len(k.settings))
	require.Len(t, k.variables(), len(k.settings)+1)
	for _, s := range k.settings {
		require.NotEmpty(t, s.help, s.key)
		require.Regexp(t, `^[a-z.-]+$`, s.key)
		require.NotContains(t, s.help, "`", "pflag takes a name in backquotes for the value's")
		require.False(t, isForeign(variable(s.key), ""), "%s looks like a variable of Kubernetes", variable(s.key))
	}
}

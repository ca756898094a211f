package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExitCode(t *testing.T) {
	plain := errors.New("plain")
	for name, c := range map[string]struct {
		err  error
		want Code
	}{
		"no error":              {nil, OK},
		"plain":                 {plain, Failed},
		"failed":                {Errorf(Failed, "x"), Failed},
		"usage":                 {Errorf(BadUsage, "x"), BadUsage},
		"found":                 {&Error{Code: Found}, Found},
		"not found":             {Errorf(NotFound, "x"), NotFound},
		"corrupt":               {Errorf(Corrupt, "x"), Corrupt},
		"incomplete":            {Errorf(Incomplete, "x"), Incomplete},
		"wrapped":               {fmt.Errorf("a: %w", fmt.Errorf("b: %w", Errorf(Corrupt, "x"))), Corrupt},
		"the outer code":        {&Error{NotFound, Errorf(Corrupt, "x")}, NotFound},
		"beside a sentinel":     {fmt.Errorf("%w: %w", io.EOF, Errorf(Corrupt, "x")), Corrupt},
		"incomplete and found":  {errors.Join(&Error{Code: Found}, Errorf(Incomplete, "x")), Incomplete},
		"incomplete, not found": {errors.Join(Errorf(Incomplete, "x"), Errorf(NotFound, "x")), NotFound},
		"corrupt and found":     {errors.Join(Errorf(Corrupt, "x"), &Error{Code: Found}), Corrupt},
		"plain and incomplete":  {errors.Join(plain, Errorf(Incomplete, "x")), Incomplete},
		"two plain":             {errors.Join(plain, plain), Failed},
	} {
		require.Equal(t, c.want, ExitCode(c.err), name)
	}
	require.Equal(t, []Code{0, 1, 2, 3, 4, 5, 6}, []Code{OK, Failed, BadUsage, Found, NotFound, Corrupt, Incomplete},
		"the numbers are a contract")
}

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"nothing":      {nil, ""},
		"only a code":  {&Error{Code: Found}, ""},
		"one line":     {Errorf(NotFound, "no topic orders"), "kraftside: no topic orders\n"},
		"several":      {errors.Join(Errorf(Corrupt, "a"), io.EOF), "kraftside: a\nkraftside: EOF\n"},
		"with a code":  {&Error{Corrupt, errors.Join(errors.New("a"), io.EOF)}, "kraftside: a\nkraftside: EOF\n"},
		"wrapped":      {fmt.Errorf("x: %w", errors.Join(io.EOF, io.EOF)), "kraftside: x: EOF; EOF\n"},
		"two verbs":    {fmt.Errorf("%w: %w", io.EOF, io.ErrNoProgress), "kraftside: EOF: multiple Read calls return no data or error\n"},
		"lines":        {errors.New("unknown command\n\n  did you mean\r\n\tdump\n"), "kraftside: unknown command; did you mean; dump\n"},
		"hostile name": {errors.New("group \x1b[2J\u202e"), "kraftside: group \\u001B[2J\\u202E\n"},
	} {
		var b bytes.Buffer
		Report(&b, c.err)
		require.Equal(t, c.want, b.String(), name)
	}
}

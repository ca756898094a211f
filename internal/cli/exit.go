// Package cli is the way in which every command of kraftside speaks, so that
// scripts and people can rely on it: exit codes, one line for an error, one
// value as text, JSON or YAML, times, names that nobody vouches for, progress.
//
// It knows nothing of Kafka. Nothing in it is safe for concurrent use.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Code is the exit code of a command.
type Code int

// The exit codes. Scripts depend on the numbers.
const (
	// OK: it was done, and nothing is to be said by the exit code.
	OK Code = 0
	// Failed: it could not be done; nobody could be asked, or it was refused.
	Failed Code = 1
	// BadUsage: the command line, or a configuration, cannot be understood.
	BadUsage Code = 2
	// Found: what was looked for is there, such as a difference.
	Found Code = 3
	// NotFound: what was named does not exist.
	NotFound Code = 4
	// Corrupt: the input is damaged. What could be read of it was used.
	Corrupt Code = 5
	// Incomplete: not all that were asked have answered.
	Incomplete Code = 6
)

// Error is an error with an exit code. Without Err it says nothing but the
// code: the answer has been given as output.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives errors.Is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error that ends the command with a code. Its text says what
// failed, where, and what to do, in this order.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// ranks decides which code several errors together have: the one that says
// most about why the answer is not to be trusted. An incomplete answer counts
// more than what was found in it.
var ranks = [...]int{OK: 0, Found: 1, Incomplete: 2, Failed: 3, NotFound: 4, Corrupt: 5, BadUsage: 6}

// ExitCode is the exit code for the error that a command ended with. An error
// that has none is Failed.
func ExitCode(err error) Code {
	if err == nil {
		return OK
	}
	if code := codeIn(err); code != OK {
		return code
	}
	return Failed
}

// codeIn looks for the code in an error and in what it wraps. OK means that
// there is none.
func codeIn(err error) Code {
	switch e := err.(type) {
	case *Error:
		return e.Code
	case interface{ Unwrap() error }:
		return codeIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		worst := OK
		for _, one := range e.Unwrap() {
			if code := codeIn(one); ranks[code] > ranks[worst] {
				worst = code
			}
		}
		return worst
	}
	return OK
}

// Report writes an error the way all commands do: one line, or one for each
// of several that were joined. Names in it cannot act on a terminal.
func Report(w io.Writer, err error) {
	var silent *Error
	if err == nil || errors.As(err, &silent) && silent.Err == nil {
		return
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == joined(several.Unwrap()) {
		for _, one := range several.Unwrap() {
			Report(w, one)
		}
		return
	}
	if e, ok := err.(*Error); ok {
		Report(w, e.Err)
		return
	}
	fmt.Fprintf(w, "kraftside: %s\n", oneLine(err.Error()))
}

// joined is the text of errors.Join, by which it is told from an error that
// has its own way to speak of several.
func joined(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\n")
}

// oneLine puts a text of several lines into one.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return Escape(strings.Join(lines, "; "))
}

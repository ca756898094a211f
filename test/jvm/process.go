//go:build unix

package jvm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// answerTimeout bounds one answer of a Process.
const answerTimeout = time.Minute

// Process is a running Java program that answers each line on its standard input with a line. Its methods are for one goroutine.
type Process struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string // closed when the program's output has ended
	log     *os.File
	ended   bool
}

// StartProcess starts a program of this directory. Its standard error goes to logFile.
func StartProcess(ctx context.Context, version, name, logFile string, options []string, args ...string) (*Process, error) {
	cmd, err := Command(ctx, version, name, options, args...)
	if err != nil {
		return nil, err
	}
	p := &Process{name: name, cmd: cmd, answers: make(chan string, 1)}
	if p.log, err = os.Create(logFile); err != nil {
		return nil, err
	}
	cmd.Stderr = p.log
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, p.log.Close())
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, p.log.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), p.log.Close())
	}
	go func() {
		defer close(p.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.answers <- lines.Text()
		}
	}()
	return p, nil
}

// Ask sends a request, its words separated by blanks, and returns the answer. An answer that begins with "error" is an error.
func (p *Process) Ask(words ...string) (string, error) {
	request := strings.Join(words, " ")
	if _, err := fmt.Fprintln(p.in, request); err != nil {
		return "", p.failed(request, err)
	}
	select {
	case answer, ok := <-p.answers:
		if !ok {
			return "", p.failed(request, io.EOF)
		}
		if text, is := strings.CutPrefix(answer, "error "); is {
			return "", fmt.Errorf("%s: %s: %s", p.name, request, text)
		}
		return answer, nil
	case <-time.After(answerTimeout):
		return "", p.failed(request, fmt.Errorf("no answer within %s", answerTimeout))
	}
}

func (p *Process) failed(request string, err error) error {
	log, logErr := os.ReadFile(p.log.Name())
	return errors.Join(fmt.Errorf("%s: %s: %w", p.name, request, err), logErr, errors.New(tail(log)))
}

// Kill ends the program at once. It is safe to call twice.
func (p *Process) Kill() error {
	if p.ended {
		return nil
	}
	p.ended = true
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	for range p.answers { // until its output ends, as Wait demands
	}
	_ = p.cmd.Wait() // says that the process was killed
	return errors.Join(err, p.log.Close())
}

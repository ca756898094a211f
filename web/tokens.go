package web

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
)

var errNoToken = errors.New("there is no token in it; write one a line")

// parseTokens reads one token a line.
func parseTokens(contents ...[]byte) (all []token, err error) {
	lines := bufio.NewScanner(bytes.NewReader(contents[0]))
	lines.Buffer(nil, len(contents[0])+1)
	for lines.Scan() {
		if t := strings.TrimSpace(lines.Text()); t != "" {
			all = append(all, token{text: t, digest: sha256.Sum256([]byte(t))})
		}
	}
	if len(all) == 0 {
		return nil, errNoToken
	}
	return all, nil
}

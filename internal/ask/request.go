package ask

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/pause"
	"github.com/kraftside/kraftside/web/api"
)

// refusal is an answer that is an error.
type refusal struct {
	server *server
	status int
	body   api.ErrorBody
	token  string // the file that it was asked with
}

// Codes of a sidecar's errors that mean something else than a failure.
const (
	codeNotFound   = "notFound"
	codeBusy       = "busy"
	codeLoading    = "loading"
	codeIncomplete = "incomplete"
	codeBadRequest = "badRequest"
	codeTooLarge   = "tooLarge"
)

// Error says what the server said, and what to do.
func (r *refusal) Error() string {
	text := r.body.Message
	if r.body.Code == "" {
		return fmt.Sprintf("ask %s: it answered with status %d, as no sidecar does; see whether --server is one%s", r.server, r.status, r.hint())
	}
	switch {
	case r.status == http.StatusUnauthorized && r.token != "":
		return fmt.Sprintf("ask %s: refused: the token in %s is none of the sidecar's; take one of its http.token-file", r.server, r.token)
	case r.status == http.StatusUnauthorized:
		text = "refused: it wants a token; give --token-file with one of its http.token-file, or run this on its own host"
	case r.status == http.StatusForbidden:
		text = "refused: it answers only clients on its own host; run this there, as with kubectl exec or kubectl port-forward, " +
			"or set http.token-file there and give --token-file here"
	case r.body.Code == codeNotFound, r.body.Code == codeLoading, r.body.Code == codeBadRequest, r.body.Code == codeTooLarge:
		return fmt.Sprintf("%.1000s", text)
	case r.body.Code == codeIncomplete:
		for _, m := range r.body.Missing[:min(len(r.body.Missing), maxReasons)] {
			text += fmt.Sprintf("; broker %d: %s", m.Broker, m.Error)
		}
		return fmt.Sprintf("%.1000s", text)
	}
	return fmt.Sprintf("ask %s: %.1000s", r.server, text)
}

// maxReasons is of how many sidecars a message says why they did not answer.
const maxReasons = 3

// hint is what a web server that is no sidecar's tells by its status.
func (r *refusal) hint() string {
	switch {
	case r.status == http.StatusBadRequest && r.server.base.Scheme == "http":
		return "; if the sidecar speaks TLS, its URL begins with https://"
	case r.status >= 300 && r.status < 400:
		return "; redirects are not followed"
	}
	return ""
}

// code is the exit code for a refusal.
func (r *refusal) code() cli.Code {
	switch r.body.Code {
	case codeNotFound:
		return cli.NotFound
	case codeLoading, codeIncomplete:
		return cli.Incomplete
	case codeBadRequest, codeTooLarge:
		return cli.BadUsage
	}
	return cli.Failed
}

// busyPause is how long a sidecar is left alone that has too much to answer,
// and busyTries how often it is asked.
const (
	busyPause = time.Second
	busyTries = 5
)

// get asks a server for a path below /v1 and decodes the answer. size is that
// of the answer.
func (c *Client) get(ctx context.Context, s *server, path string, q url.Values, into any) (size int64, err error) {
	return c.post(ctx, s, path, q, nil, into)
}

// post is get with a body to send, unless that is nil.
func (c *Client) post(ctx context.Context, s *server, path string, q url.Values, sent []byte, into any) (size int64, err error) {
	for try := 1; ; try++ {
		body, err := c.once(ctx, s, s.url(path, q), sent)
		var refused *refusal
		if errors.As(err, &refused) && refused.body.Code == codeBusy && try < busyTries && pause.For(ctx, busyPause) == nil {
			continue
		}
		if err != nil {
			return 0, err
		}
		if err := json.Unmarshal(body, into); err != nil {
			return 0, cli.Errorf(cli.Failed, "ask %s: bad answer: %w; see whether --server is a sidecar, and of which version", s, err)
		}
		return int64(len(body)), nil
	}
}

func (c *Client) once(ctx context.Context, s *server, target string, sent []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	method := http.MethodGet
	if sent != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(sent))
	if err != nil {
		return nil, cli.Errorf(cli.BadUsage, "ask %s: %w", s, err)
	}
	// As between sidecars: what is only asked for may be asked again, if a kept
	// connection was ended. Without a value the header is not sent.
	r.Header["Idempotency-Key"] = nil
	if c.config.TokenFile != "" {
		token, err := readToken(c.config.TokenFile)
		if err != nil {
			return nil, cli.Errorf(cli.BadUsage, "--token-file: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(s, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, c.maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unreachable(s, err)
	case int64(len(body)) > c.maxAnswer:
		return nil, cli.Errorf(cli.Failed, "ask %s: the answer is larger than %d bytes", s, c.maxAnswer)
	case response.StatusCode != http.StatusOK:
		return nil, c.refused(s, response.StatusCode, body)
	}
	return body, nil
}

func (c *Client) refused(s *server, status int, body []byte) error {
	r := &refusal{server: s, status: status, token: c.config.TokenFile}
	var parsed api.Error
	if json.Unmarshal(body, &parsed) == nil {
		r.body = parsed.Error
	}
	return &cli.Error{Code: r.code(), Err: r}
}

// unreachable explains why there is no answer.
func (c *Client) unreachable(s *server, err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // which request it was, this says better
	}
	var certificate *tls.CertificateVerificationError
	advice := "see whether a sidecar runs there; --server names another, --metadata-dir and --offsets-dir read files instead"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %v", c.config.Timeout)
	case errors.As(err, &certificate):
		advice = "give the authority that signed it with --ca-file, or the name it is for with --server-name"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		err, advice = errors.New("it does not speak TLS"), "its URL begins with http://"
	}
	return cli.Errorf(cli.Failed, "ask %s: %w; %s", s, err, advice)
}

// maxToken bounds the first line of a token file.
const maxToken = 64 << 10

// readToken reads the first line that is not empty.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxToken)
	for lines.Scan() {
		if token := strings.TrimSpace(lines.Text()); token != "" {
			return token, nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return "", fmt.Errorf("read %s: there is no token in it", path)
}

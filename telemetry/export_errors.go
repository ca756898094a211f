package telemetry

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kraftside/kraftside/internal/cli"
)

// Results of a request to a receiver of OTLP.
const (
	accepted     = "accepted"
	unavailable  = "unavailable"  // cannot be reached, or asks to come again
	timedOut     = "timeout"      // took longer than it may
	unauthorized = "unauthorized" // wants other credentials
	unsupported  = "unsupported"  // does not take this signal here
	refused      = "refused"      // will not take it, however often it is sent
	failed       = "failed"       // anything else
)

// advice says what to do where that does not follow from the error.
var advice = map[string]string{
	unauthorized: "check the headers in OTEL_EXPORTER_OTLP_HEADERS",
	unsupported: "the receiver does not take this signal: set OTEL_LOGS_EXPORTER=none, or OTEL_TRACES_EXPORTER=none, " +
		"or where it goes instead with OTEL_EXPORTER_OTLP_LOGS_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT; check the protocol, too",
}

var (
	httpStatus   = regexp.MustCompile(`failed to send (?:logs )?to \S+: (\d{3}) `)
	rejectedNone = regexp.MustCompile(`OTLP partial success: .*\(0 [a-z ]+ rejected\)`)
)

// resultOf sorts the errors of the exporters, which have types of their own for
// nothing but gRPC.
func resultOf(err error) string {
	var network net.Error
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch s, isStatus := status.FromError(err); {
	case err == nil, rejectedNone.MatchString(text): // with a remark, which is no failure
		return accepted
	case strings.Contains(text, "OTLP partial success"), strings.Contains(text, "too large"):
		return refused
	case isStatus:
		return resultOfCode(s.Code())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return timedOut
	case strings.Contains(text, "retry-able"), errors.As(err, &network), errors.As(err, new(*url.Error)):
		return unavailable
	}
	if m := httpStatus.FindStringSubmatch(text); m != nil {
		return resultOfHTTP(m[1])
	}
	return failed
}

func resultOfCode(code codes.Code) string {
	switch code {
	case codes.DeadlineExceeded:
		return timedOut
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Canceled:
		return unavailable
	case codes.Unauthenticated, codes.PermissionDenied:
		return unauthorized
	case codes.Unimplemented:
		return unsupported
	case codes.InvalidArgument:
		return refused
	}
	return failed
}

func resultOfHTTP(code string) string {
	switch code {
	case "401", "403", "407":
		return unauthorized
	case "404", "405", "415":
		return unsupported
	case "400", "413", "422":
		return refused
	}
	return failed
}

const redacted = "[redacted]"

var userInfo = regexp.MustCompile(`://[^/@\s"]+@`)

// secrets are the values of headers that the environment holds, and what is
// not a header but stands where one should.
func secrets() (out []string) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", ownVariable(signalTraces, "HEADERS"), ownVariable(signalLogs, "HEADERS")} {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			_, value, found := strings.Cut(pair, "=")
			if !found {
				value = pair
			}
			out = append(out, strings.TrimSpace(value))
			if plain, err := url.PathUnescape(value); err == nil {
				out = append(out, strings.TrimSpace(plain))
			}
		}
	}
	return out
}

// maxErrorText is how much of an error is shown: receivers answer with pages.
const maxErrorText = 300

// clean is a text of the exporters or of a receiver, without secrets, as it may
// be logged.
func clean(text string) string {
	for _, s := range secrets() {
		if s != "" {
			text = strings.ReplaceAll(text, s, redacted)
		}
	}
	text = userInfo.ReplaceAllString(text, "://"+redacted+"@")
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + "…"
	}
	return cli.Escape(text)
}

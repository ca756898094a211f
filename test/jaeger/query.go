//go:build unix

package jaeger

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
)

// Trace is a trace as the query API has it.
type Trace struct {
	TraceID   string                                  `json:"traceID"`
	Spans     []Span                                  `json:"spans"`
	Processes map[string]struct{ ServiceName string } `json:"processes"`
}

// Span is a span. Times are in microseconds since 1970.
type Span struct {
	TraceID       string      `json:"traceID"`
	SpanID        string      `json:"spanID"`
	OperationName string      `json:"operationName"`
	References    []Reference `json:"references"`
	StartTime     int64       `json:"startTime"`
	Duration      int64       `json:"duration"`
	Tags          []Tag       `json:"tags"`
	Logs          []struct {
		Timestamp int64 `json:"timestamp"`
		Fields    []Tag `json:"fields"`
	} `json:"logs"`
}

// Reference is CHILD_OF its parent, or FOLLOWS_FROM a span that it links to.
type Reference struct {
	RefType string `json:"refType"`
	TraceID string `json:"traceID"`
	SpanID  string `json:"spanID"`
}

// Tag is an attribute.
type Tag struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// Tag is the value of an attribute, nil if there is none.
func (s *Span) Tag(key string) any {
	for _, t := range s.Tags {
		if t.Key == key {
			return t.Value
		}
	}
	return nil
}

// Traces searches like the search form: by the name of the operation, by tags, and by when the trace began.
func (s *Server) Traces(operation string, tags map[string]string, from, to time.Time) []Trace {
	text, err := json.Marshal(tags)
	require.NoError(s.tb, err)
	q := url.Values{
		"service": {"kraftside"}, "operation": {operation}, "tags": {string(text)}, "limit": {"10000"},
		"start": {strconv.FormatInt(from.UnixMicro(), 10)}, "end": {strconv.FormatInt(to.UnixMicro(), 10)},
	}
	answer, err := http.Get(s.Query + "/api/traces?" + q.Encode())
	require.NoError(s.tb, err)
	defer answer.Body.Close()
	var body struct {
		Data   []Trace `json:"data"`
		Errors any     `json:"errors"`
	}
	require.NoError(s.tb, json.NewDecoder(answer.Body).Decode(&body))
	require.Equal(s.tb, http.StatusOK, answer.StatusCode, "%v", body.Errors)
	return body.Data
}

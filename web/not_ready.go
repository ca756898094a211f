package web

import (
	"net/http"

	"github.com/kraftside/kraftside/web/api"
)

// NotReady answers in the place of a Server while there cannot be one: the
// process is healthy, and /readyz says what has to be done first. Reasons is called
// for each request, on any goroutine, and returns one at least.
func NotReady(reasons func() []api.Reason) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { writeHealthy(w) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeReady(w, reasons()) })
	return mux
}

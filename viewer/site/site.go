// Package site has what the pages that tracerag serves have in common: how scripts and styles are put
// together, how a page is served, and how answers leave. A page has its markup, its own
// scripts and style, and the answers.
package site

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Serve answers until ctx ends, which is no error. Answers that are on their way are
// broken off.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	hs := &http.Server{
		Handler:           inTime(h),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 16,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		// What clients do wrong is not reported, and libraries do not
		// print.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if hs.Shutdown(stop) != nil {
			hs.Close()
		}
	}()
	err := hs.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		<-done
		return nil
	}
	return err
}

// How long clients may take: with the body of a request, and to read an answer that is ready.
var (
	bodyTime  = 10 * time.Second
	writeTime = time.Minute
)

// inTime ends connections whose clients don't send the body that they announced. The server reads it also for
// requests that are refused, so that who has no token could hold connections for ever. A request without a body
// gets no such end: it would be taken for the client's leaving.
func inTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.SetWriteDeadline(time.Time{}) // that of the connection's last answer
		if r.Body != http.NoBody {
			_ = c.SetReadDeadline(time.Now().Add(bodyTime))
		}
		next.ServeHTTP(w, r)
	})
}

// File serves one text.
func File(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Write(body)
	}
}

package redact

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHostileTextTakesNoLongerThanOthers masks texts that are made to take long: lines of
// a hundred kilobytes in which each word may begin a secret, and tens of thousands of
// secrets. Each takes a second or less; what goes over such a line once for each of its
// words takes from a quarter of a minute to hours.
func TestHostileTextTakesNoLongerThanOthers(t *testing.T) {
	texts := map[string]string{}
	for _, piece := range []string{"eyJ", "pw ", "pw=", "pw==", "pw:", `a,pw="",`, `pass("a",`, "Q~", `api_key="`, "cookie:;", "https://", "a@", "SetBasicAuth(", "login password ", "client-key-data: ", "-----BEGIN PRIVATE KEY-----"} {
		texts["a line of "+piece] = strings.Repeat(piece, 100_000/len(piece))
	}
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "password%d := \"Zx9!%016x\"\n", i, uint64(i)*0x9e3779b97f4a7c15)
	}
	texts["20,000 passwords"] = b.String()
	const most = 20 * time.Second // a machine may be busy
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				r := New(Secret{Kind: "k", Value: "Tr0ub4dor"})
				r.Learn(text)
				masked := r.Text(text)
				var s Stream
				for len(masked) > 0 {
					n := min(len(masked), 4096)
					s.Next(r, masked[:n])
					masked = masked[n:]
				}
				s.Rest(r)
			}()
			select {
			case <-done:
			case <-time.After(most):
				t.Fatalf("%d bytes take more than %v", len(text), most)
			}
		})
	}
}

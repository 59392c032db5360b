// Package parallel does many things of one kind on all processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls do once for each i from 0 to n-1, as many at the same time as there are processors, and returns after the
// last one. Where results go to places of their own, by i, they don't depend on the order.
func Do(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// Try is [Do] for what may fail. All are done nevertheless, and of those that fail the error is that of the lowest i, so
// that it is the same one each time.
func Try(n int, do func(i int) error) error {
	failed := make([]error, n)
	Do(n, func(i int) { failed[i] = do(i) })
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

package locate

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel does n things at the same time, as many as there are processors. It returns the error
// of the first that failed.
func parallel(n int, do func(i int) error) error {
	failed := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				failed[i] = do(i)
			}
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

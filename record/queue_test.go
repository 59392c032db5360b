package record

import (
	"bytes"
	"testing"
)

func TestEndsKeepsBothEnds(t *testing.T) {
	for _, size := range []int{0, 1, endsBytes - 1, endsBytes, 2 * endsBytes, 2*endsBytes + 1, 7*endsBytes + 5} {
		for _, step := range []int{1000, endsBytes + 1, 10 * endsBytes} {
			all := bytes.Repeat([]byte("0123456789abcdef\n"), size/17+1)[:size]
			var e Ends
			for i := 0; i < size; i += step {
				e.Write(all[i:min(size, i+step)])
			}
			got, missing := e.Text()
			want := string(all)
			if size > 2*endsBytes {
				want = string(all[:endsBytes]) + string(all[size-endsBytes:])
			}
			if got != want || missing != int64(size-len(want)) {
				t.Errorf("%d bytes by %d: %d are kept and %d missing", size, step, len(got), missing)
			}
		}
	}
}

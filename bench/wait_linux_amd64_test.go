package bench

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"tracerag/fixtures/real"
)

// large are programs that people run for moments, and that take minutes to install.
var large = []real.Program{
	{Name: "opa", Package: "github.com/open-policy-agent/opa", Version: "v1.4.2", Args: []string{"version"}},
	{Name: "caddy", Package: "github.com/caddyserver/caddy/v2/cmd/caddy", Version: "v2.10.0", Args: []string{"version"}},
	{Name: "rclone", Package: "github.com/rclone/rclone", Version: "v1.69.2", Args: []string{"version"}},
}

// BenchmarkWait is what somebody waits for: what tracerag run --quiet takes longer than
// the program alone, once there is a plan and without one; what its last lines add; the most
// memory that it has; and prompt and rank, as a whole. Each round runs all, one after
// another: a figure is the median of what a round's runs differ by. At least ten
// rounds say something.
func BenchmarkWait(b *testing.B) {
	b.Run("tablecat", func(b *testing.B) { wait(b, tablecat(b), true) })
	for _, p := range large {
		b.Run(p.Name, func(b *testing.B) {
			wait(b, run{args: append([]string{real.Install(b, p)}, p.Args...), dir: p.Dir(b)}, false)
		})
	}
}

func wait(b *testing.B, r run, asks bool) {
	self := tracerag(b)
	traces, kept := b.TempDir(), b.TempDir()
	var most int64
	timed := func(cache string, args ...string) time.Duration {
		cmd := r.command(slices.Concat([]string{self, args[0], "--dir", traces}, args[1:])...)
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
		cmd.Stdout = null(b)
		o := finish(b, cmd)
		if o.code != 0 {
			b.Fatalf("%q: exit code %d\n%s", cmd.Args, o.code, o.stderr)
		}
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && args[0] == "run" {
			most = max(most, u.Maxrss<<10)
		}
		return o.wall
	}
	record := func(cache string, flags ...string) time.Duration {
		return timed(cache, slices.Concat([]string{"run", "--recorder=probe"}, flags, []string{"--"}, r.args)...)
	}
	settle(b, r.args[0])
	record(kept, "--quiet")
	r.alone(b, false)
	most = 0
	var alone, added, lines, first, prompt, rank []time.Duration
	for i := range *rounds {
		a := r.alone(b, false).wall
		quiet := record(kept, "--quiet")
		alone, added = append(alone, a), append(added, quiet-a)
		lines = append(lines, record(kept)-quiet)
		if asks {
			prompt = append(prompt, timed(kept, "prompt", "--quiet", "which function draws the border?"))
			rank = append(rank, timed(kept, "rank", "--quiet", "which function draws the border?"))
		}
		if i < 3 { // it takes long, and is another figure: memory is that of the others
			had := most
			first = append(first, record(b.TempDir(), "--quiet")-a)
			most = had
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(median(alone)), "alone-ms")
	b.ReportMetric(milliseconds(median(added)), "added-ms")
	b.ReportMetric(milliseconds(median(lines)), "last-lines-ms")
	b.ReportMetric(milliseconds(median(first)), "first-plan-ms")
	b.ReportMetric(mebibytes(most), "tracerag-MiB")
	if asks {
		b.ReportMetric(milliseconds(median(prompt)), "prompt-ms")
		b.ReportMetric(milliseconds(median(rank)), "rank-ms")
	}
}

// settle waits until the program's file is older than what is known of it must be (see
// package probe).
func settle(b *testing.B, path string) {
	info, err := os.Stat(filepath.Clean(path))
	if err != nil {
		b.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		time.Sleep(3*time.Second - time.Since(time.Unix(0, st.Ctim.Nano())))
	}
}

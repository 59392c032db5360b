package probe

import (
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/target"
)

func find(t *testing.T, name string, include ...string) *target.Target {
	t.Helper()
	tgt, err := target.Find([]string{fixtures.Build(t, name)}, t.TempDir(), include, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

// A plan is made once for a program and a choice of packages. Neither a damaged
// file nor other runs that write it at the same time change what is planned.
func TestPlanCache(t *testing.T) {
	o := Options{CacheDir: filepath.Join(t.TempDir(), "plans")}
	first, err := prepare(find(t, "closures"), o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := prepare(find(t, "closures"), o)
	if err != nil {
		t.Fatal(err)
	}
	if first.cached || !again.cached || !reflect.DeepEqual(first.plan, again.plan) {
		t.Fatalf("cached %v then %v, plans equal: %v; want false, true, true", first.cached, again.cached, reflect.DeepEqual(first.plan, again.plan))
	}
	others := []struct {
		t *target.Target
		o Options
	}{
		{find(t, "recursion"), o},
		{find(t, "closures", "fmt"), o},
		{find(t, "closures"), Options{CacheDir: o.CacheDir, NoInlined: true}},
	}
	for i, other := range others {
		if p, err := prepare(other.t, other.o); err != nil || p.cached {
			t.Errorf("%d: another program, choice or option: cached %v, error %v", i, p.cached, err)
		}
	}

	file := planFile(find(t, "closures"), o)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)/2] ^= 1
	for name, data := range map[string][]byte{"changed": damaged, "short": whole[:len(whole)/2], "empty": nil} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := prepare(find(t, "closures"), o)
		if err != nil || p.cached || !reflect.DeepEqual(p.plan, first.plan) {
			t.Errorf("%s file: cached %v, error %v, plan equal: %v", name, p.cached, err, reflect.DeepEqual(p.plan, first.plan))
		}
	}

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			savePlan(file, first.plan)
			if p := loadPlan(file); p == nil || !reflect.DeepEqual(p, first.plan) {
				t.Error("a plan that others write at the same time is not read whole")
			}
		})
	}
	wg.Wait()
	left, err := filepath.Glob(filepath.Join(o.CacheDir, "new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v %v", left, err)
	}
}

// A directory that cannot be written costs the next run its plan, and nothing else.
func TestPlanCacheThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := prepare(find(t, "closures"), Options{CacheDir: filepath.Join(file, "plans")})
	if err != nil || p.plan == nil || p.cached {
		t.Errorf("plan %v, cached %v, error %v", p.plan != nil, p.cached, err)
	}
}

func TestPlansAreRemovedByAge(t *testing.T) {
	dir := t.TempDir()
	p, err := prepare(find(t, "closures"), Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range planFiles + 10 {
		savePlan(filepath.Join(dir, string(rune('a'+i%26))+string(rune('a'+i/26))+".plan"), p.plan)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != planFiles {
		t.Errorf("%d plans are kept, want %d (%v)", len(files), planFiles, err)
	}
}

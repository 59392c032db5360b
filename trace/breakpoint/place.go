package breakpoint

import (
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"tracerag/trace"
)

// frame is a logical frame with the function's id in the trace.
type frame struct {
	id      trace.FuncID // meaningless unless recorded
	name    string
	line    int // being executed: of the call to the next inner frame
	inlined bool
	kind    frameKind
}

type frameKind uint8

const (
	recorded frameKind = iota
	skipped            // of a package that is not recorded
	hidden             // made by the compiler, or the runtime's part in a call: as if it were not there
)

// frame returns the logical frame of a function.
func (r *recording) frame(name, pkg, file string, start, line int, inlined, wrapper bool) frame {
	f := frame{name: name, line: line, inlined: inlined}
	switch {
	case wrapper, name == "runtime.deferreturn", name == "runtime.goexit", name == "runtime.main", strings.HasPrefix(name, "runtime.doInit"):
		f.kind = hidden
	case !r.t.Records(pkg):
		f.kind = skipped
	default:
		id, ok := r.ids[name]
		if !ok {
			id = r.b.Func(trace.Function{Name: name, Package: pkg, File: file, StartLine: start})
			r.ids[name] = id
		}
		f.id = id
	}
	return f
}

// at returns the logical frames at a pc of a caller, innermost first.
func (r *recording) at(pc uint64) []frame {
	fs, ok := r.frames[pc]
	if !ok {
		fn := r.t.Binary.Func(pc)
		for _, f := range r.t.Binary.Frames(pc) {
			file := f.File
			if !f.Inlined {
				file = fn.File
			}
			fs = append(fs, r.frame(f.Name, f.Package, file, f.StartLine, f.Line, f.Inlined, !f.Inlined && fn.Wrapper))
		}
		r.frames[pc] = fs
	}
	return fs
}

// place puts an activation into the tree: the root that its stack begins with,
// and the recorded frames of the stack, outermost first.
func (r *recording) place(a activation, callers []uint64, g goroutine) (trace.Root, []trace.Frame) {
	// Logical frames, innermost first.
	all := append([]frame(nil), a.frames...)
	for _, pc := range callers {
		all = append(all, r.at(pc)...)
	}
	return origin(all, g), visible(all)
}

// origin tells by the outermost frames where control came from.
func origin(all []frame, g goroutine) trace.Root {
	for i := len(all) - 1; i >= 0; i-- {
		switch f := all[i]; {
		case f.name == "runtime.goexit":
			// Stands below the first function of every goroutine.
		case strings.HasPrefix(f.name, "runtime.doInit"):
			return trace.Root{Kind: trace.RootInit}
		case f.name == "runtime.main":
			if i > 0 && strings.HasPrefix(all[i-1].name, "runtime.doInit") {
				return trace.Root{Kind: trace.RootInit}
			}
			return trace.Root{Kind: trace.RootMain}
		case i == len(all)-1, f.name == "runtime.cgocallback", g.system:
			// The stack does not end as a goroutine's, or the goroutine was
			// made for a thread of C, or it is one of the runtime's own.
			return trace.Root{Kind: trace.RootCallback}
		default:
			return trace.Root{Kind: trace.RootGoroutine, Go: g.stmt}
		}
	}
	return trace.Root{Kind: trace.RootCallback}
}

// visible returns the recorded ones of logical frames, outermost first.
func visible(all []frame) []trace.Frame {
	var out []trace.Frame
	via, line := false, 0
	for i := len(all) - 1; i >= 0; i-- {
		f := all[i]
		switch f.kind {
		case skipped:
			via = true
		case recorded:
			out = append(out, trace.Frame{Func: f.id, CallLine: line, Via: via, Inlined: f.inlined && !via && len(out) > 0})
			via, line = false, f.line
		}
	}
	return out
}

// goroutine is who made a call.
type goroutine struct {
	id     int64 // 0: unknown
	stmt   trace.GoStmt
	system bool // the runtime's own: what it calls are callbacks
}

func (r *recording) goroutine(th proc.Thread, regs proc.Registers) goroutine {
	var id int64
	var pc uint64
	if g, err := proc.GetG(th); err == nil && g != nil && g.ID != 0 {
		id, pc = g.ID, g.GoPC
	} else if id, pc = r.rawGoroutine(th, regs); id == 0 {
		return goroutine{}
	}
	stmt, ok := r.gos[pc]
	if !ok {
		// The pc is the return address of the call that made the goroutine.
		// Wrappers are not source: the statement is in what they wrap.
		if fs := r.t.Binary.Frames(pc - r.slide - 1); pc != 0 && len(fs) > 0 {
			stmt.Func, stmt.File, stmt.Line = fs[0].Name, fs[0].File, fs[0].Line
		}
		r.gos[pc] = stmt
	}
	return goroutine{id: id, stmt: stmt, system: strings.HasPrefix(stmt.Func, "runtime.")}
}

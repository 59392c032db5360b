package plan

// Kind is the way in which a hook is put into the code.
type Kind uint8

const (
	// Check: a function that begins with a stack check. The jump to the stub
	// is where the check branches to the code that calls runtime.morestack,
	// and the stub makes that branch first: a function that is started again on
	// a larger stack is counted once.
	Check Kind = iota + 1
	// Frame: a function that sets up its frame without a check (go:nosplit).
	Frame
	// Leaf: a function without a frame.
	Leaf
	// CallSites: a function that cannot be changed itself. The direct calls of
	// it are led through the stub.
	CallSites
	// Go: a go statement: its call of runtime.newproc is led through the stub.
	Go
	// Block: a basic block that runs when an inlined body begins.
	Block
)

var kindNames = [...]string{"", "check", "frame", "leaf", "callsites", "go", "block"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Entry tells if a hook of this kind says that its function is entered.
func (k Kind) Entry() bool { return k >= Check && k <= CallSites }

// JumpSize is the length of the jump that takes the place of the displaced
// instructions.
const JumpSize = 5

// Hook is one place where the recorder is called. Its ID is its index in
// Plan.Hooks and one.
type Hook struct {
	Kind Kind
	// Func is the index in executable.File.Funcs of the function that is entered;
	// of Go and Block, of the one that has the code.
	Func int
	// Begins are the inlined calls that begin where the hook is, as indices in
	// what executable.File.Inlined returns for Func, callers before callees: of
	// Block those of the block, of an entry hook those that begin whenever the
	// function is entered.
	Begins []int
	// Approximate is set if the number of Begins may differ a little from the
	// number of times that the recorder is called.
	Approximate bool
	// Partial is set if calls may be missed, because the function's address is
	// taken or because code that is left alone calls it. Only CallSites.
	Partial bool
	// MayFault is set if the stub runs an instruction of the function that may
	// dereference a nil pointer. The panic is the ordinary one, but the
	// traceback begins with the caller. Only Leaf and Frame.
	MayFault bool

	// At is the link-time address of the changed code: of the displaced
	// instructions, or, of Go, of the call. CallSites has Sites.
	At uint64
	// Sites are the link-time addresses of the calls and jumps that are led
	// through the stub. Only CallSites.
	Sites []uint64

	Lead   []byte // of Check: the code of the function before At, which can be copied; nil if it cannot
	Code   []byte // the displaced instructions; of CallSites the first byte of the code at each site, of Go that at At
	Before int    // bytes of the displaced instructions that run before the recorder is called
	Ahead  int    // offset of the displaced instruction that runs before the others, 0: none
	Callee uint64 // of CallSites and Go: entry of the function that is called; of a waypoint: its own
}

// Call is a direct call of a function with an entry hook by another one. It is led
// to a stub of its own, by which the recorder knows who calls whom.
type Call struct {
	Host   int    // index in Plan.Hooks of the caller's entry hook
	Callee int    // and of the called function's
	At     uint64 // link-time address of the call
}

// Unhooked is a function of a recorded package without a hook.
type Unhooked struct {
	Func int    // index in executable.File.Funcs
	Why  string // a short reason for users: "assembly, and not called directly"
}

// Missed is an inlined call of a recorded package without a hook.
type Missed struct {
	Func int    // the host: index in executable.File.Funcs
	Call int    // index in what executable.File.Inlined returns for the host
	Why  string // a short reason
}

// Plan is what is to be changed in a program so that the recorder sees its calls.
type Plan struct {
	Hooks    []Hook      // by function, of each the entry hook first, then those inside
	Unhooked []Unhooked  // by Func
	Missed   []Missed    // by Func and Call
	Calls    []Call      // by Host and At
	Marks    []BlockMark // by At within a function; the first is that of faults
	// Waypoints are functions that are not recorded, hooked so that walks past
	// many frames of them are short. Their kinds are Check and Frame.
	Waypoints []Hook // by Func
}

// Inner returns for each hook how many hooks and direct calls inside the function that
// it enters follow it. A Block has in R13D its place among these, from 1 on.
func (p *Plan) Inner() []uint32 {
	inner := make([]uint32, len(p.Hooks))
	for i := range p.Hooks {
		if p.Hooks[i].Kind.Entry() {
			inner[i] = p.Inside(i)
		}
	}
	for i := range p.Calls {
		inner[p.Calls[i].Host]++
	}
	return inner
}

// Inside counts the hooks inside the function with this entry hook.
func (p *Plan) Inside(host int) (n uint32) {
	for _, h := range p.Hooks[host+1:] {
		if h.Func != p.Hooks[host].Func {
			break
		}
		n++
	}
	return n
}

// LedTo tells if the calls of the function that the hook enters may be led to stubs of their
// own. Functions that call nothing have cheaper ones.
func (h *Hook) LedTo() bool {
	return h.Kind == Check && h.Lead != nil || h.Kind == Frame
}

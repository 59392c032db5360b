// Package patch plans the changes to a program's machine code by which the fast
// recorder sees every call of it. It computes on bytes only: its callers put the changes
// into a process, and package payload is the code that records.
//
//	x86     decodes one instruction
//	flow    takes a function apart and finds how control flows through it
//	lines   tells from the blocks that ran which source lines ran
//	plan    the plan: what is to change; how it is kept in a file
//	patch   makes a plan of a program's file (this package)
//	stubs   turns a plan into bytes for one process
//
// A plan holds for every run of the program. [Make] asks for each function of the
// recorded packages where it can be hooked ([plan.Hook]), which inlined calls begin in it,
// and, where it is long, which basic blocks get a block mark ([plan.BlockMark]). After a
// run a [Watch] reads the block marks. The documentation of package stubs shows the
// changed code.
//
// # Functions that cannot be changed
//
// An assembly function, and a function of which five bytes cannot be moved, is
// hooked at its calls: every direct call of it that the compiler made, and every tail
// call, is led through a stub. That misses calls by function value or through an
// interface, and calls from assembly ([plan.Hook.Partial] if there may be any). A function
// that is called in no other way has no hook ([plan.Plan.Unhooked]).
//
// # Inlined calls
//
// An inlined call has no entry. The program's tables say which instructions are of
// its body; the block that dominates them runs once for each call, and a hook there
// counts it. Code that panics is left out of that: the compiler shares it between
// bodies. So are the moves that the register allocator adds, which bear the line of
// what they are for and may be in another block, and loops that are all of the
// body's are counted before them. Where the block has no room or needs the flags
// throughout, one that runs equally often takes its place; where nothing of the
// body is left there is nothing to count. A body that begins before the host
// branches or calls anything needs no hook: it is counted by the host's own
// ([plan.Hook.Begins]).
//
// Compared with builds without inlining, on runs of four programs (esbuild, hugo,
// shfmt, yq), 95 to 99.8 % of the calls of source functions were seen and 0 to
// 0.4 % too many. Those that were missed had mostly been optimised away with
// everything in them, as all calls of a function that does nothing are.
//
// # Waypoints
//
// Functions that are not recorded have no hook, but for some that call themselves,
// perhaps by way of others ([plan.Plan.Waypoints]): see waypoints.go.
//
// # Lines
//
// In long functions block marks tell which basic blocks ran. A block mark may be where no
// hook may, in the runtime, too, because its stub calls nobody and leaves the registers
// as they were. Besides displaced instructions, a call or a branch that is led through
// the stub serves; nothing has to move then. When the block has run, most block marks give
// it its own code back, if the program may write its code: what the mark changed must be
// within eight aligned bytes, and in a function that checks the stack at its entry, since
// that takes 56 bytes of it. See marks.go for the blocks that need none.
//
// # What is never done
//
// A function is decoded from its first byte to its last, and left alone if there
// is anything that is not understood. Displaced are whole instructions, none of
// which but the first is a branch's target, also by way of a switch statement's
// table. Calls are never displaced, so that every return address stays the
// program's own and stack traces, the garbage collector and panics find what they
// expect. Neither is anything displaced that may fault while a frame is set up:
// the runtime does not know the stubs' addresses. In a function without a frame
// it then finds the return address on top of the stack, and takes the fault for one
// of the caller: a nil dereference panics and is recovered as always, only the
// function's own line is not in the traceback ([plan.Hook.MayFault]).
//
// A thread that is interrupted in a stub is at an unknown address, where the
// runtime does not preempt it. At any other address of the program all registers
// and the stack are what they were in the original code at that address. For that
// reason no jump is put into the padding between functions, though it is tempting
// for functions whose first movable instructions have two bytes: the runtime's
// tables do not cover the padding, and a profiling or preemption signal that hits
// a thread there ends the program.
package patch

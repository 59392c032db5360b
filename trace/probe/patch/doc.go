// Package patch plans and writes the changes to a program's machine code by which
// the fast recorder sees every call of it. It computes on bytes only: putting the
// changes into a process, and the code that records, are its callers'.
//
// A [Plan] is made from a program's file and holds for every run of it. [Plan.Emit]
// turns it into bytes for one process, when it is known where the program and the
// recorder lie there.
//
// # A hook
//
// Where a function is to be hooked, its first movable instructions (5 bytes or
// more) give way to a jump. It leads to a stub, which calls the recorder, runs the
// displaced instructions, and jumps back behind them:
//
//	function:              stub:
//	  cmp rsp, [r14+16]      jbe morestack
//	  jmp stub               mov r13d, ID
//	  ...                    call recorder
//	                         push rbp
//	                         mov rbp, rsp
//	                         jmp back
//
// What the recorder may use there is what the compiler's calling convention
// leaves undefined at a function's entry: R12, R13, R15 and the flags. R14 is the
// goroutine. Nothing has been pushed since the call, so that [rsp] is the return
// address into the stub when the recorder is entered, and [rsp+8] the hooked
// function's. The stack below RSP belongs to nobody (Go's amd64 code keeps nothing
// there); [StackNeed] bytes of it are sure to be there.
//
// The kinds of hooks and their stubs:
//
//	Check, Frame, Leaf  mov r13d, ID; call Enter; displaced code; jmp back
//	CallSites           mov r13d, ID; call Enter; jmp function
//	Go                  mov r13d, ID|Inside; call Go; jmp runtime.newproc
//	waypoints           mov r13d, function; call Way; displaced code; jmp back
//	Block               push N; call Block or Bare, which pops N; displaced code; jmp back
//
// N is the block's place among the hooks in its function, whose entry hook has ID and
// the others the numbers that follow. Some of the displaced code may run before the
// recorder is called.
//
// # Direct calls
//
// A direct call of a hooked function by another ([Call]) is led to a stub of its own,
// which takes the place of the function's as far as to where that jumps back. So the
// recorder need not find out who calls what, only in which context:
//
//	  hook and entry of the function
//	stub:
//	  cmp rsp, [r14+16]
//	  jbe morestack
//	  mov r13d, N
//	  call Call
//	  push rbp
//	  mov rbp, rsp
//	  jmp back
//
// N continues the numbers of the hooks in the calling function. The return address is
// that of the call, as ever, and a function that starts again on a larger stack does so at its
// own entry, where its hook counts the call.
//
// # Functions that cannot be changed
//
// An assembly function, and a function of which five bytes cannot be moved, is
// hooked at its calls: every direct call of it that the compiler made, and every
// tail call, is led through a stub. That misses calls by function value or through
// an interface, and calls from assembly ([Hook.Partial] if there may be any). What
// is called in no such way has no hook ([Plan.Unhooked]).
//
// # Inlined calls
//
// An inlined call has no entry. The program's tables say which instructions are of
// its body; the block that dominates them runs once for each call, and a hook there
// counts it. Code that panics is left out of that: the compiler shares it between
// bodies. So are the moves that the register allocator adds, which bear the line of
// what they are for and may stand in another block, and loops that are all of the
// body's are counted before them. Where the block has no room or needs the flags
// throughout, one that runs equally often takes its place; where nothing of the
// body is left there is nothing to count. A body that begins before the host
// branches or calls anything needs no hook: it is counted by the host's own
// ([Hook.Begins]).
//
// Compared with builds without inlining, on runs of four programs (esbuild, hugo,
// shfmt, yq), 95 to 99.8 % of the calls of source functions were seen and 0 to
// 0.4 % too many. Those that were missed had mostly been optimised away with
// everything in them, as all calls of a function that does nothing are.
//
// # Waypoints
//
// Functions that are not recorded have no hook, but for some that call themselves,
// perhaps by way of others ([Plan.Waypoints]): see waypoints.go.
//
// # Lines
//
// In long functions a plan also marks which basic blocks run ([Mark]): a byte is set
// by a stub that calls nobody, uses eight bytes of stack at most, and leaves the
// registers and, where they matter, the flags as they were. So a mark may stand where no
// hook may, in the runtime, too.
// Besides displaced instructions, a call or a branch that is led through the stub
// serves; nothing has to move then. When the byte is set, most marks give the block its
// own code back, if the program may write it ([Entries.Writable]): what the mark changed
// must be within eight aligned bytes, and in a function that checks the stack at its
// entry, since that takes 56 bytes of it. See markstub.go. [Watch.Lines] tells from the bytes which lines ran:
// see ran.go for blocks without a mark, and lines.go for what an instruction says of
// its line.
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
// function's own line is not in the traceback ([Hook.MayFault]).
//
// A thread that is interrupted in a stub is at an unknown address, where the
// runtime does not preempt it. At any other address of the program all registers
// and the stack are what they were in the original code at that address. For that
// reason no jump is put into the padding between functions, though it is tempting
// for functions whose first movable instructions have two bytes: the runtime's
// tables do not cover the padding, and a profiling or preemption signal that hits
// a thread there ends the program.
package patch

// Package stubs turns a plan into bytes for one process, when it is known where the
// program and the recorder are in its memory: the stubs, and the patches by which the
// program's code leads to them. See [Emit].
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
// A direct call of a hooked function by another ([plan.Call]) is led to a stub of its own,
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
// that of the call, and a function that starts again on a larger stack does so at its
// own entry, where its hook counts the call.
//
// # Block marks
//
// The stub of a block mark sets a byte, once. It calls nobody, uses eight bytes of stack
// at most, and leaves the registers and, where they matter, the flags as they were:
// see markstub.go.
package stubs

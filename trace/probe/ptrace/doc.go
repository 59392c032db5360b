// Package ptrace holds a process still, changes it from the inside, and releases it
// again so that it notices nothing: it has a little more memory mapped, and
// some of its code reads differently. It works on linux/amd64; elsewhere the
// package is empty.
//
// # Holding
//
// A process is held by ptrace. [Start] runs a program and stops it where the
// kernel hands over to it, before its first instruction: in the program itself or
// in its dynamic loader, with the program already mapped. [Attach] stops every
// thread of a process that runs. ptrace obeys one thread of the tracer only, so
// each [Process] has a thread for it, and its methods may be called from any
// goroutine.
//
// [Process.FollowExecs] holds every program that a process and its descendants start, each
// before its first instruction. Nobody uses it yet: it is the first part of recording the
// programs that a target starts.
//
// While a process is held, signals that come for it wait in the kernel's queue,
// because its signal mask says so, and reach it when it is detached. SIGKILL, which
// cannot be masked, ends it at once; SIGSTOP is remembered and sent again.
//
// # System calls
//
// What a process maps and unmaps it must do itself. So a stopped thread's
// registers are set to a system call, its instruction pointer to a syscall
// instruction that the process has anyway (the kernel's vDSO has one), it runs
// for this one instruction, and gets its registers back. A thread that was
// stopped within a system call of its own goes on with that call: the kernel
// decides by the registers, after we have restored them, whether to restart it.
//
// If we are killed during that, a process that we had started is killed as well. One
// that was attached to goes on: its system calls are made from code behind which the
// thread's own registers and signal mask are restored (see refuge).
//
// The stops on both sides of the call are those of PTRACE_SYSCALL. Single steps
// and breakpoints would do as well, but the kernel reports these by a SIGTRAP
// that it forces on the thread; where the program ignores or blocks SIGTRAP, it
// forgets that it did.
//
// # Memory
//
// Memory is read and written through /proc/PID/mem, which may write to pages that
// the process itself may not: code is written without any page having to be
// writable and executable. Shared memory is an unnamed file of memory, mapped on
// both sides; it is sparse, does not appear in core dumps, and takes no file
// descriptor of the process.
//
// # What goes wrong
//
// A process may be out of reach: ptrace is forbidden, the program would lose its
// privileges, it is no 64-bit program, memory is refused. These have errors of
// their own (see [ErrPtrace] and the others), so that the caller can record by
// other means. A program that was started and cannot be prepared is best
// abandoned: it has not run, and can be started again in another way.
package ptrace

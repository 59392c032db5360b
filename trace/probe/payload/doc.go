// Package payload is the fast recorder's part inside the target: its machine
// code, and the shared memory that it keeps the calling context tree in.
//
// # What lies in the shared memory
//
//	header     next free byte of the arena, next cell, what was dropped
//	inner      by hook, how many hooks are inside its function
//	tables     slots of 32 bytes: from (parent, call site, hook) to a node; a near
//	           one, where calls that are made together are neighbours, and a far one for
//	           what finds no room there
//	nodes      16 bytes a cell
//	orders     4 bytes a cell: the node's number, which is that of its first call
//	counters   8 bytes a cell, a row for each P and one for calls without a P
//	arena      for each goroutine its state and shadow stack; the tracer does not read
//	           it, and where it can be it is memory of the target alone
//
// The target writes; the tracer reads whenever it likes, also while the target
// runs and after it was killed. Only what is used is backed by memory: all
// sizes are upper bounds.
//
// A node is a call of a hooked function in one context. Its parent is the
// caller's node, its site the return address of the call in the caller's code,
// so that a call made by an inlined body differs from one made by the
// function around it. A call of a function that is already on the path has a
// node of its own, but calls made inside it belong to the ancestor
// (Node.Target): the tree is bounded by the program, not by its recursion.
//
// A node's cell is its place in these tables. Behind it are cells for the blocks
// of its function. The entry of the shadow stack that tells the host of a block
// so tells the block's counter, too, and nothing is searched. A counter counts down:
// taking one from zero sets the carry flag, by which a block's first call in a context
// is noticed, and given its number, for one instruction.
//
// Behind the blocks are cells for the direct calls that a function makes of others with
// a hook. Their counters have 32 bits, and beside them is the node that the call
// leads to, once it was found or made as for any other call: that has a cell of its own
// elsewhere, and its counter has the calls that came in other ways, and 1<<32 for each time that the
// smaller one went below zero.
//
// # How the caller is found
//
// Nothing hooks returns. Each goroutine has a shadow stack of the depths,
// nodes and return addresses of its hooked calls. At an entry the calls that
// have returned are taken off: those that are not above us on the stack, those
// whose return address is no longer in its place, and those that the chain of
// frame pointers passes over. One of the last two tests alone is not enough:
// a later call can have the same return address in the same place.
//
// Between a call and its caller may be any number of frames of functions without a
// hook, and each call walks past them. Where a recursion makes thousands of them and
// makes a call at each level, that would be millions of steps. Nothing that was seen
// before can be relied on instead: the callers of these frames may have returned and
// made others, which look the same from below, without a sign of it. So functions
// by which such a recursion goes are waypoints. They are not recorded, but once
// a walk in a goroutine was long they push entries of their own, from which on upwards
// nothing can have changed as long as they have not returned.
//
// # Counting
//
// Every P has its own counters. The recorder's code is no place at which a
// goroutine can be preempted, so a plain decrement is exact, and costs a
// fraction of an atomic one.
package payload

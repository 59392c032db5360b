// Package flow takes functions of a compiled Go program apart, instruction by
// instruction, and finds how control flows through them.
//
// A [Body] is the code of one function, from its first byte to its last: its
// instructions, and which of them control reaches by a branch or by the table of a
// switch statement. [Body.Disassemble] fails if anything in the function is not
// understood.
//
// A [Graph] is the flow of control in a body. Its nodes are basic blocks, cut behind
// calls, too, since a call may not come back. Of each node it tells which one dominates
// it (control reaches the node only through it), which one postdominates it (control that
// reaches the node goes on to it), the innermost loop around it, and which arithmetic
// flags matter before it. Nodes from which all ways lead to a panic are cold: they are
// left out of the answers, because the compiler shares such code between statements.
//
// Both reuse their memory from one function to the next: a program has many.
package flow

// Package lines tells which source lines of a function ran, from what is known of its
// basic blocks.
//
// It goes in two steps. Block marks tell of some blocks whether they ran; [Spread] finds
// the [Fate] of others that follows from these, by the flow of control: a block that
// dominates one that ran has run. [Judge] goes from blocks to lines. The compiler moves
// instructions between blocks, and adds some, so that not every instruction with a line
// says that the line ran: each has a [Weight]. Where the evidence is not enough, a line's
// fate is unknown.
package lines

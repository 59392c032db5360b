// The recorder that runs inside the target: position-independent code that is
// copied into it. Every patched function calls it before its own first
// instruction, every patched block of an inlined body somewhere in that block.
//
// It finds the caller's node in the calling context tree, finds or makes the
// node of this call below it, and counts. See the package documentation of
// trace/probe/payload for the data that it works on.
//
// What it must keep: every register but R12, R13, R15 and the flags. Vector
// registers are not touched. It never calls, never allocates, takes no lock,
// makes no system call. It may be interrupted at each instruction by a signal,
// whose handler never runs patched code.
//
// Numbers of the form 0x7e57.... are holes that payload.Assemble fills.

#include "textflag.h"

// Fields of the target's runtime, 32-bit displacements.
#define G_STATE   0x7e570001 // g: the word that we use
#define G_GOID    0x7e570002
#define G_GOPC    0x7e570003
#define G_M       0x7e570004
#define M_P       0x7e570005
#define P_ID      0x7e570006
#define G_HI      8          // g.stack.hi, since ever

// Other numbers of 32 bits.
#define FARMASK   $0x7e570007 // (slots of the far table - 1) * SLOT
#define ROWS      $0x7e570009 // rows of counters that belong to a P
#define ROWBYTES  $0x7e57000a
#define MAXCELLS  $0x7e57000b
#define FIRSTCELL $0x7e57000c // those before are the overflow's

// Addresses.
#define HEADER    $0x7e5700007e570001
#define TABLE     $0x7e5700007e570002 // the near table
#define FAR       $0x7e5700007e57000b
#define FAREND    $0x7e5700007e570003 // which is behind the near table, too
#define NODES     $0x7e5700007e570004
#define COUNTS    $0x7e5700007e570005
#define SHAREDROW $0x7e5700007e570006 // the row of counters that belongs to no P
#define OVERFLOW  $0x7e5700007e570007 // slot of the node that stands for all that had no room
#define ORDERS    $0x7e5700007e57000c
#define INNER     $0x7e5700007e57000d

// Marks before the places where stubs enter that are not those of all functions.
#define LEAFMARK  $0x7e5700007e57000a // functions that call nothing
#define BLOCKMARK $0x7e5700007e570008 // blocks where BP is the host's
#define BAREMARK  $0x7e5700007e57000e // blocks in hosts without a frame
#define WAYMARK   $0x7e5700007e57000f // waypoints
#define CALLMARK  $0x7e5700007e570010 // direct calls
#define ENDMARK   $0x7e5700007e570009

// The header.
#define H_NEXT    0  // next free byte of the arena
#define H_END     8
#define H_CELL    16 // next free cell
#define H_DROPPED 24 // calls that were not counted or not pushed for want of room
#define H_STATES  32 // goroutine states made
#define H_FULL    40 // nodes that were not made because there was no room; those below them are not counted
#define H_ORDER   48 // next number in the order of first calls
#define H_WALKED  56 // frames passed in long walks

// A slot of the table.
#define SLOT      32
#define S_KEY     0  // hook, and above it the parent's name; 0: free
#define S_SITE    8
#define S_CELL    12 // 0: being made
#define S_NODE    16 // name of the node whose children are this one's: itself, or the ancestor of a recursive call

// A node.
#define N_PARENT  0
#define N_HOOK    4
#define N_SITE    8
#define N_NODE    12

// The counter of a direct call.
#define C_CALLS   0 // going down, and from 0 to 1<<32 less 1: see borrow
#define C_CALLEE  4 // name of the node; 0: none was called on this P

// A goroutine's state, and the entries of its shadow stack. What a call needs is
// in one line of the processor's caches.
#define T_GOID    0
#define T_TOP     8
#define T_LIMIT   16
#define T_P       24 // the P that it ran on at its last call
#define T_ROW     32 // and that P's counters
#define T_TABLE   40 // the near table
#define T_BASE    48
#define T_DEPTH   56 // E_DEPTH and E_NODE of the last entry that was pushed or found to be
#define T_NODE    60 // a host's. Where T_DEPTH is that of a host it is the top one. 0: none
#define T_G       64 // the g whose state it is, for whoever takes the recorder away again
#define T_FULL    72 // the shadow stack's end, once it could not grow
#define T_DEEP    80 // 1 once a walk over frames was long: then there are waypoints
#define T_HEADER  96
#define T_SIZE    256 // at the beginning
#define E_DEPTH   0 // of the place below the return address, where BP is saved, from stack.hi: negative
#define E_NODE    4 // name
#define E_RETURN  8
#define ENTRY     16

// A waypoint has two entries, whose depth is one less than its own: an odd number,
// by which they are told from others and are never taken for a caller before that
// is looked at. The upper one has the name of the node that the waypoint is below,
// and the waypoint's return address; the lower one has, in place of the name, the
// site of calls that are made from there.
#define WAYSITE   (E_NODE-ENTRY)
#define LONGWALK  $128 // frames
#define WAYBIT    $63  // of R13, while a waypoint's place is looked for
#define CALLBIT   $62  // of R13, while the node is looked for that a direct call leads to

// From SP, once the recorder has saved its registers:
#define RETURN    32 // the return address of the hooked function
#define SAVEDBP   24 // the place below it
#define BAREBP    32 // the same in a block; what the stub pushed is on the way
#define BLOCK     32 // that: the number of the block

#define UNPUSHED  $30 // bit of a hook's number: it is not a function's
#define ROOTBIT   $0x80000000
#define UNKNOWN   $1         // a call site that is not known; 0 would be one that is not yet written
#define VIABIT    0x20000000 // bit of a hook's number: functions that are not hooked stand between
#define NEARPROBES 8
#define FARPROBES  512

// The assembler wants pushes and pops to pair in the order of the text, which
// code with cold paths of its own cannot do; so they are bytes.
#define PUSHAX   BYTE $0x50
#define POPAX    BYTE $0x58
#define PUSHCX   BYTE $0x51
#define POPCX    BYTE $0x59
#define PUSHDX   BYTE $0x52
#define POPDX    BYTE $0x5a
#define PUSHBX   BYTE $0x53
#define POPBX    BYTE $0x5b
#define PUSHSI   BYTE $0x56
#define POPSI    BYTE $0x5e
#define PUSHDI   BYTE $0x57
#define POPDI    BYTE $0x5f
#define PUSHR8  BYTE $0x41; BYTE $0x50
#define POPR8   BYTE $0x41; BYTE $0x58
#define PUSHR9  BYTE $0x41; BYTE $0x51
#define POPR9   BYTE $0x41; BYTE $0x59
#define PUSHR10  BYTE $0x41; BYTE $0x52
#define POPR10   BYTE $0x41; BYTE $0x5a
#define PUSHR12  BYTE $0x41; BYTE $0x54
#define POPR12   BYTE $0x41; BYTE $0x5c
#define RET8     BYTE $0xc2; BYTE $8; BYTE $0
#define PUSHR13  BYTE $0x41; BYTE $0x55
#define POPR13   BYTE $0x41; BYTE $0x5d
#define PUSHR15  BYTE $0x41; BYTE $0x57
#define POPR15   BYTE $0x41; BYTE $0x5f

// A node has a number of its own, its cell, by which counters and nodes are
// found. The blocks of a function have the cells behind that of each node of
// it, in the order of their hooks, so that a block finds its counter by its host's.
//
// A node's name is 8 times its cell: the place of its counter in a row. Its children
// stand in the near table from there on, within WINDOW: two slots of 32 bytes a cell, so
// that the table is half full at most, wherever nodes are. Nodes that were first called one after the other
// stand near each other there, and mostly they are called so again: a tenth of
// the pages has nine of ten calls then, compared with a hash over the whole table.
#define NAMESHIFT 3
#define NAMEBITS  $NAMESHIFT
#define WINDOW    $0x3fe0 // 512 slots

// For the far table a cell is multiplied by this.
#define SCATTER   $-1640531535

// SLOTOF makes, of the parent's name DI, the hook R13 and the site DX, the slot R15
// where the search begins.
#define SLOTOF \
	LEAL (DX)(R13*1), R15; \
	SHLL $5, R15;          \
	ANDL WINDOW, R15;      \
	LEAQ (R15)(DI*8), R15; \
	ADDQ T_TABLE(R12), R15

// MISSES compares the slot R15 with what is looked for, and goes
// to label if it is another. A site is not 0, so if it is
// the same then the slot was written, with the cell beside it.
#define MISSES(label) \
	CMPL DI, (S_KEY+4)(R15); \
	JNE  label;              \
	CMPL R13, S_KEY(R15);    \
	JNE  label;              \
	CMPL DX, S_SITE(R15);    \
	JNE  label

// PLACE makes DX the place of the entry AX on the stack.
#define PLACE \
	MOVLQSX E_DEPTH(AX), DX; \
	ADDQ G_HI(R14), DX;      \
	INCQ DX;                 \
	ANDQ $~7, DX

// DROP takes the entry AX off, or the upper one of a waypoint's, and goes to label
// if that was all.
#define DROP(label) \
	MOVL E_DEPTH(AX), DX; \
	SUBQ $ENTRY, AX;      \
	TESTB $1, DX;         \
	JEQ  label

// func recorder()
//
// In: R13 hook, R14 g, (SP) return to the stub, 8(SP) return address of the
// hooked function, BP as the caller left it.
TEXT ·recorder(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ G_STATE(R14), R12
	TESTQ R12, R12
	JZ   newstate
	MOVQ G_GOID(R14), R15
	CMPQ R15, T_GOID(R12)
	JNE  bind
bound:
	PUSHAX
	PUSHDX
	PUSHDI
	MOVQ T_TOP(R12), AX

	// Which entry of the shadow stack is the caller's? Nothing tells us of
	// returns, so the entries of calls that have returned are still there. The
	// caller is the one whose BP this is, if its return address is in its place.
	MOVLQSX E_DEPTH(AX), DX
	ADDQ G_HI(R14), DX
	CMPQ BP, DX
	JNE  search
framed:
	MOVQ 8(DX), DI
	CMPQ DI, E_RETURN(AX)
	JNE  search
direct:
	MOVQ RETURN(SP), DX         // DX: call site, of which the low half counts
sited:
	MOVL E_NODE(AX), DI
	SLOTOF
	MISSES(missed)
	MOVL S_CELL(R15), DX        // DX: the node's cell
	MOVL S_NODE(R15), R15       // R15: the name of the node where calls made here belong
found:
	// A plain decrement is exact: this code is no place where a goroutine can
	// be preempted, so nobody else counts in this P's row meanwhile. Counters go
	// down, see block.
	MOVQ G_M(R14), DI
	MOVQ M_P(DI), DI
	CMPQ DI, T_P(R12)
	JNE  otherp
	MOVQ T_ROW(R12), DI
	DECQ (DI)(DX*8)
counted:
	ADDQ $ENTRY, AX
	CMPQ AX, T_LIMIT(R12)
	JCC  grow
push:
	LEAQ SAVEDBP(SP), DX
	SUBQ G_HI(R14), DX
	MOVL DX, E_DEPTH(AX)
	MOVL R15, E_NODE(AX)
	MOVL DX, T_DEPTH(R12)
	MOVL R15, T_NODE(R12)
	MOVQ RETURN(SP), DX
	MOVQ DX, E_RETURN(AX)
	MOVQ AX, T_TOP(R12)
done:
	POPDI
	POPDX
	POPAX
	RET

	// Off with the entries that are not above us: their calls have returned.
search:
	LEAQ SAVEDBP(SP), DX
	SUBQ G_HI(R14), DX
	CMPL E_DEPTH(AX), DX
	JGT  above
gone:
	SUBQ $ENTRY, AX
	CMPL E_DEPTH(AX), DX
	JLE  gone
	// Mostly that is all.
	MOVLQSX E_DEPTH(AX), DX
	ADDQ G_HI(R14), DX
	CMPQ BP, DX
	JEQ  framed
above:
	MOVQ AX, T_TOP(R12)
	PLACE
	MOVQ 8(DX), DI
	CMPQ DI, E_RETURN(AX)
	JNE  moved              // its return address is not in its place any more
	CMPQ BP, DX
	JEQ  ahead

	// Not the direct caller. Where the frame pointers lead past its frame that
	// call has returned; where they lead to it, functions that are not hooked
	// stand between, and the outermost of them tells the call site.
	CMPQ AX, T_BASE(R12)
	JE   ahead
	PUSHBX
	PUSHSI
	// Where there was no room for more entries there are calls without one, any
	// number of them. Each of them would go through all those before it.
	LEAQ ENTRY(AX), BX
	CMPQ BX, T_FULL(R12)
	JEQ  lost
	MOVQ BP, BX
	XORL SI, SI             // SI: the frame before
	XORL DI, DI             // DI: frames
frame:
	CMPQ BX, DX
	JE   reached
	JHI  past
	CMPQ BX, SP
	JCS  lost
	CMPQ BX, SI
	JLS  lost               // a chain that does not lead upwards is none
	MOVQ BX, SI
	MOVQ (BX), BX
	INCL DI
	JMP  frame
reached:
	CMPL DI, LONGWALK
	JCC  long
walked:
	TESTQ SI, SI
	JEQ  atonce
	MOVQ 8(SI), DX
	POPSI
	POPBX
through:
	TESTB $1, E_DEPTH(AX)
	JEQ  nowaypoint
	MOVL WAYSITE(AX), DX    // what stands above the waypoint does not change while it is there
nowaypoint:
	TESTQ R13, R13
	JMI  waypoint
	ORL  $VIABIT, R13
	JMP  sited
long:
	MOVQ $1, T_DEEP(R12)
	MOVQ HEADER, R15
	LOCK
	ADDQ DI, H_WALKED(R15)
	JMP  walked
past:
	CMPQ BX, G_HI(R14)
	JHI  lost
off:
	DROP(one)
	SUBQ $ENTRY, AX
one:
	MOVQ AX, T_TOP(R12)
	CMPQ AX, T_BASE(R12)
	JE   atonce
	PLACE
	MOVQ 8(DX), R15
	CMPQ R15, E_RETURN(AX)
	JNE  off
	JMP  frame              // the walk goes on: what it has passed is below this one, too
atonce:
	POPSI
	POPBX
ahead:
	TESTB $1, E_DEPTH(AX)
	JNE  through
	TESTQ R13, R13
	JPL  direct
	CMPQ AX, T_BASE(R12)
	JEQ  done               // calls below a root are not looked for in vain
	MOVQ RETURN(SP), DX
	JMP  waypoint
lost:
	// The chain left the stack, as in a callback from C: below this entry.
	POPSI
	POPBX
	TESTQ R13, R13
	JMI  done
	MOVL UNKNOWN, DX
	ORL  $VIABIT, R13
	JMP  sited
moved:
	CMPQ AX, T_BASE(R12)    // the entry at the base stands for the root
	JE   ahead
	DROP(above)
	SUBQ $ENTRY, AX
	JMP  above

	// The goroutine runs on another P than at its last call, or on none: then
	// the row is shared, and counting takes a lock.
otherp:
	TESTQ DI, DI
	JZ   nop
	PUSHBX
	MOVL P_ID(DI), BX
	CMPL BX, ROWS
	JCC  nopbx
	MOVQ DI, T_P(R12)
	MOVL ROWBYTES, DI
	IMULQ DI, BX
	MOVQ COUNTS, DI
	ADDQ BX, DI
	MOVQ DI, T_ROW(R12)
	POPBX
	DECQ (DI)(DX*8)
	JMP  counted
nopbx:
	POPBX
nop:
	MOVQ SHAREDROW, DI
	LOCK
	DECQ (DI)(DX*8)
	JMP  counted

	// The slot is another's, or it is being made.
missed:
	CMPL DI, $(1<<NAMESHIFT)
	JEQ  nowhere
	SHLQ $32, DI
	ORQ  R13, DI            // DI: key
keyed:
	CMPQ DI, (S_KEY+SLOT)(R15) // the next one, mostly
	JNE  probe
	CMPL DX, (S_SITE+SLOT)(R15)
	JNE  probe
	ADDQ $SLOT, R15
	JMP  made
probe:
	PUSHBX
	PUSHSI
	MOVL $(NEARPROBES+FARPROBES), SI
again:
	MOVQ S_KEY(R15), BX
	TESTQ BX, BX
	JZ   claim
	CMPQ BX, DI
	JNE  next
making:
	CMPL S_CELL(R15), $0
	JE   pause
	CMPL DX, S_SITE(R15)
	JE   have
next:
	ADDQ $SLOT, R15
	DECL SI
	JZ   full
	CMPL SI, $FARPROBES
	JEQ  far
	MOVQ FAREND, BX
	CMPQ R15, BX
	JCS  again
	MOVQ FAR, R15
	JMP  again
far:
	// So many are here that this one goes elsewhere, where there is no order but
	// room for all.
	MOVQ DI, R15
	SHRQ $(32+NAMESHIFT), R15
	IMUL3L SCATTER, R15, R15
	MOVL DI, BX
	ADDL DX, BX
	SHLL $5, BX
	ADDL BX, R15
	ANDL FARMASK, R15
	MOVQ FAR, BX
	ADDQ BX, R15
	JMP  again
nowhere:
	// Its caller had no room: neither has this, and no slot is taken for it.
	MOVQ OVERFLOW, R15
	JMP  made
full:
	MOVQ OVERFLOW, R15
have:
	POPSI
	POPBX
made:
	MOVL S_CELL(R15), DX
	MOVL S_NODE(R15), R15
	TESTL R13, R13
	JPL  found
	JMP  rooted             // the key has the root's bit: a goroutine is being bound
pause:
	PAUSE
	JMP  making

claim:
	PUSHAX
	XORL AX, AX
	LOCK
	CMPXCHGQ DI, S_KEY(R15)
	POPAX
	JNE  again              // somebody else took it
	PUSHR8
	PUSHR9
	PUSHR10
	XORL R8, R8             // R8: where calls made here belong, if not here
	MOVQ NODES, R9
	MOVQ DI, BX
	SHRQ $(32+NAMESHIFT), BX        // BX: the parent
	PUSHBX
	MOVL $1, SI             // SI: cells
	BTL  UNPUSHED, DI
	JCS  alloc
	TESTL DI, DI
	JMI  alloc
ancestor:
	// A function that is already on the path takes the calls of its inner
	// activations: recursion does not make the tree grow.
	TESTL BX, BX
	JZ   unfolded
	SHLQ $4, BX
	ADDQ R9, BX
	MOVL N_HOOK(BX), R10
	XORL DI, R10
	ANDL $~VIABIT, R10
	JZ   fold
	MOVL N_PARENT(BX), BX
	JMP  ancestor
fold:
	MOVQ BX, R8
	SUBQ R9, R8
	SHRQ $4, R8
	JMP  alloc              // the blocks are counted there, too
unfolded:
	MOVQ INNER, BX
	MOVL DI, R10
	ANDL $(VIABIT-1), R10
	ADDL (BX)(R10*4), SI
alloc:
	MOVQ HEADER, BX
	MOVL SI, R10
	LOCK
	XADDQ SI, H_CELL(BX)
	ADDQ SI, R10
	CMPQ R10, MAXCELLS
	JHI  nonode
	TESTL R8, R8
	JNZ  folded
	MOVL SI, R8
folded:
	MOVL $1, R10
	LOCK
	XADDQ R10, H_ORDER(BX)
	MOVQ ORDERS, BX
	MOVL R10, (BX)(SI*4)
	MOVL SI, BX
	SHLQ $4, BX
	ADDQ R9, BX
	MOVL DX, N_SITE(BX)
	MOVL R8, N_NODE(BX)
	POPR9
	MOVQ DI, R10
	SHLQ $32, R10
	ORQ  R10, R9
	MOVQ R9, N_PARENT(BX)   // and N_HOOK: publishes the node to those who read along
	SHLL NAMEBITS, R8
	MOVL R8, S_NODE(R15)
publish:
	POPR10
	POPR9
	POPR8
	SHLQ $32, SI
	MOVL DX, BX
	ORQ  BX, SI
	MOVQ SI, S_SITE(R15)    // and S_CELL: publishes the slot
	JMP  have
nonode:
	LOCK
	INCQ H_FULL(BX)
	POPBX
	MOVL $1, SI             // the overflow's cell
	MOVL $(1<<NAMESHIFT), S_NODE(R15)
	JMP  publish

	// The shadow stack is full: one of twice the size.
grow:
	PUSHSI
	PUSHBX
	PUSHR15
	MOVQ T_LIMIT(R12), DX
	SUBQ T_BASE(R12), DX
	MOVQ HEADER, R15
	MOVQ H_NEXT(R15), AX
room:
	LEAQ 63(AX)(DX*2), BX
	ANDQ $~63, BX
	CMPQ BX, H_END(R15)
	JHI  nogrow             // what is left is for others
	LOCK
	CMPXCHGQ BX, H_NEXT(R15)
	JNE  room
	PUSHCX
	PUSHDI
	MOVQ AX, DI
	MOVQ T_BASE(R12), SI
	MOVQ DI, T_BASE(R12)
	MOVQ BX, T_LIMIT(R12)
	MOVQ DX, CX
	SHRQ $3, CX
	REP
	MOVSQ
	MOVQ DI, AX             // the first free entry
	POPDI
	POPCX
	POPR15
	POPBX
	POPSI
	TESTQ R13, R13
	JPL  push
	POPR15
	SUBQ R15, AX
	MOVQ AX, T_TOP(R12)
	JMP  waysearch
nogrow:
	TESTQ R13, R13
	JMI  noway
	LOCK
	INCQ H_DROPPED(R15)
	MOVQ T_LIMIT(R12), DX
	MOVQ DX, T_FULL(R12)
	MOVL $0, T_DEPTH(R12)
	POPR15
	POPBX
	POPSI
	JMP  done
noway:
	POPR15
	POPBX
	POPSI
	POPR15
	JMP  done

	// The first call that we see of this g.
newstate:
	PUSHAX
	MOVQ HEADER, R15
	MOVQ H_NEXT(R15), AX
stateroom:
	LEAQ T_SIZE(AX), R12
	CMPQ R12, H_END(R15)
	JHI  nostate
	LOCK
	CMPXCHGQ R12, H_NEXT(R15)
	JNE  stateroom
	LOCK
	INCQ H_STATES(R15)
	MOVQ R12, T_LIMIT(AX)
	MOVQ AX, R12
	LEAQ T_HEADER(R12), AX
	MOVQ AX, T_BASE(R12)
	MOVQ $-1, T_P(R12)      // no P, and not the absence of one either
	MOVQ TABLE, AX
	MOVQ AX, T_TABLE(R12)
	MOVQ R14, T_G(R12)
	MOVQ R12, G_STATE(R14)
	POPAX
	// The first call that we see of this goroutine: the runtime uses a g again.
bind:
	PUSHAX
	PUSHDX
	PUSHDI
	PUSHR13
	MOVQ G_GOID(R14), AX
	MOVQ AX, T_GOID(R12)
	MOVQ T_BASE(R12), AX
	MOVQ AX, T_TOP(R12)
	MOVL $-16, E_DEPTH(AX)
	MOVQ $0, E_RETURN(AX)
	MOVQ $0, T_DEEP(R12)
	MOVL $0, T_DEPTH(R12)
	MOVQ G_GOPC(R14), DX
	MOVL DX, DX
	MOVL ROOTBIT, R13
	XORL DI, DI
	SLOTOF
	JMP  missed
rooted:
	BTQ  CALLBIT, R13
	JCS  called
	MOVQ SHAREDROW, R13
	LOCK
	DECQ (R13)(DX*8)
	MOVQ T_BASE(R12), AX
	MOVL R15, E_NODE(AX)
	POPR13
	POPDI
	POPDX
	POPAX
	JMP  bound
nostate:
	LOCK
	INCQ H_DROPPED(R15)
	POPAX
	RET

	// Functions that call nothing: nobody looks for their entry on the shadow
	// stack, so they get none. In: as for functions.
	MOVQ LEAFMARK, AX
	PCALIGN $64
	MOVQ G_STATE(R14), R12
	TESTQ R12, R12
	JZ   newstate
	MOVQ G_GOID(R14), R15
	CMPQ R15, T_GOID(R12)
	JNE  bind
	PUSHAX
	PUSHDX
	PUSHDI
	MOVQ T_TOP(R12), AX
	MOVLQSX E_DEPTH(AX), DX
	ADDQ G_HI(R14), DX
	CMPQ BP, DX
	JNE  leafsearch
leafcaller:
	MOVQ 8(DX), DI
	CMPQ DI, E_RETURN(AX)
	JNE  search
	MOVQ RETURN(SP), DX
	MOVL E_NODE(AX), DI
	SLOTOF
	MISSES(missed)
	MOVL S_CELL(R15), DX
	MOVQ G_M(R14), DI
	MOVQ M_P(DI), DI
	CMPQ DI, T_P(R12)
	JNE  leafp
	MOVQ T_ROW(R12), DI
	DECQ (DI)(DX*8)
	JMP  done
leafp:
	MOVL S_NODE(R15), R15
	JMP  otherp
leafsearch:
	LEAQ SAVEDBP(SP), DX
	SUBQ G_HI(R14), DX
	CMPL E_DEPTH(AX), DX
	JGT  search
leafgone:
	SUBQ $ENTRY, AX
	CMPL E_DEPTH(AX), DX
	JLE  leafgone
	MOVQ AX, T_TOP(R12)     // the next call need not look so far
	MOVLQSX E_DEPTH(AX), DX
	ADDQ G_HI(R14), DX
	CMPQ BP, DX
	JEQ  leafcaller
	JMP  above

	// Blocks of inlined bodies. In: R14 g; (SP) return to the stub, then the number of
	// the hook, counted from its host's, which is taken off in the end, and above it the
	// host's stack. So little is left to the stubs because there are so many: each has
	// to come from memory to the processor before it can run.
	//
	// The host is on the shadow stack, if there was room for it, and nothing else
	// can be where it is: all that was there had returned when the host was entered.
	MOVQ BLOCKMARK, AX
	PCALIGN $64
	PUSHR12
	PUSHR13
	PUSHR15
	MOVL BLOCK(SP), R13
	MOVQ G_STATE(R14), R12
	TESTQ R12, R12
	JZ   nohost             // its host's entry would have made one
	MOVQ BP, R15
	SUBQ G_HI(R14), R15     // R15: depth of the host
	CMPL T_DEPTH(R12), R15
	JNE  hostsearch
hosted:
	MOVL T_NODE(R12), R15
	LEAQ (R15)(R13*8), R13  // R13: offset of the counter in its row
	MOVQ G_M(R14), R15
	MOVQ M_P(R15), R15
	CMPQ R15, T_P(R12)
	JNE  blockp
	MOVQ T_ROW(R12), R15
	// It borrows if the counter was 0: then this call may be the first.
	SUBQ $1, (R15)(R13*1)
	JCS  first
	POPR15
	POPR13
	POPR12
	RET8

	// Off with the entries of what the host has called.
hostsearch:
	PUSHAX
	MOVQ R15, AX            // AX: depth of the host
	MOVQ T_TOP(R12), R15
	CMPL E_DEPTH(R15), AX
	JGT  nohostax           // there was no room for it
	JEQ  hostfound
hostgone:
	CMPQ R15, T_BASE(R12)
	JEQ  nohostax
	SUBQ $ENTRY, R15
	CMPL E_DEPTH(R15), AX
	JLT  hostgone
	JNE  nohostax
hostfound:
	MOVQ R15, T_TOP(R12)    // the next block need not look so far
	MOVL AX, T_DEPTH(R12)
	MOVL E_NODE(R15), AX
	MOVL AX, T_NODE(R12)
	POPAX
	JMP  hosted
nohostax:
	POPAX
nohost:
	MOVQ HEADER, R15
	LOCK
	INCQ H_DROPPED(R15)
	JMP  counted1

	// Another P, or none.
blockp:
	TESTQ R15, R15
	JZ   blocknop
	PUSHBX
	MOVL P_ID(R15), BX
	CMPL BX, ROWS
	JCC  blocknopbx
	MOVQ R15, T_P(R12)
	MOVL ROWBYTES, R15
	IMULQ R15, BX
	MOVQ COUNTS, R15
	ADDQ BX, R15
	MOVQ R15, T_ROW(R12)
	POPBX
	SUBQ $1, (R15)(R13*1)
	JCS  first
	JMP  counted1
blocknopbx:
	POPBX
blocknop:
	MOVQ SHAREDROW, R15
	LOCK
	SUBQ $1, (R15)(R13*1)
	JCS  first
	JMP  counted1

	// The first call that this row has of a block. The node is made by whoever
	// is the first of all.
first:
	SHRQ $3, R13            // R13: cell
	CMPL R13, FIRSTCELL
	JCS  crowded
	MOVQ ORDERS, R15
	CMPL (R15)(R13*4), $0
	JNE  counted1
	PUSHAX
	PUSHBX
	PUSHDX
	XORL AX, AX
	MOVL $-1, DX
	LOCK
	CMPXCHGL DX, (R15)(R13*4)
	JNE  notfirst
	MOVQ HEADER, R12
	MOVL $1, DX
	LOCK
	XADDQ DX, H_ORDER(R12)
	MOVL DX, (R15)(R13*4)
	MOVQ G_STATE(R14), R12
	MOVL T_NODE(R12), AX    // the host's, since it was found
	SHRL NAMEBITS, AX       // AX: the host's cell
	MOVQ NODES, R12
	MOVL AX, BX
	SHLQ $4, BX
	MOVL N_HOOK(R12)(BX*1), BX
	ANDL $~VIABIT, BX
	ADDL R13, BX
	SUBL AX, BX             // the host's hook, and from there the block's
	BTSL UNPUSHED, BX
	SHLQ $32, BX
	ORQ  AX, BX
	MOVL R13, DX
	SHLQ $4, DX
	MOVL R13, N_NODE(R12)(DX*1)
	MOVQ BX, N_PARENT(R12)(DX*1)
notfirst:
	POPDX
	POPBX
	POPAX
counted1:
	POPR15
	POPR13
	POPR12
	RET8

	// Its host is in the overflow, as are others whose direct calls have the same
	// cells. A direct call would take the upper half of this counter for a node. So the
	// counter becomes 0 again, and the call is counted in the overflow's own. Nobody
	// can have seen it meanwhile: only the row without a P is shared, and that is of no
	// direct call.
crowded:
	LOCK
	INCQ (R15)(R13*8)
	LOCK
	DECQ 8(R15)             // the overflow's cell is 1
	JMP  counted1

	// The same in a host without a frame: its BP is its caller's, and the return
	// address is above what the stub has saved.
	MOVQ BAREMARK, AX
	PCALIGN $64
	PUSHR12
	PUSHR13
	PUSHR15
	MOVL BLOCK(SP), R13
	MOVQ G_STATE(R14), R12
	TESTQ R12, R12
	JZ   nohost
	LEAQ BAREBP(SP), R15
	SUBQ G_HI(R14), R15
	CMPL T_DEPTH(R12), R15
	JEQ  hosted
	JMP  hostsearch

	// Waypoints: functions that call themselves, perhaps by way of others, and that
	// are not recorded. Of those any number of frames may be between a call and its
	// caller, and every call would go past all of them. So once a goroutine had a
	// long walk each waypoint gets an entry that remembers where a walk ended.
	//
	// In: as for functions, but R13 the low half of the waypoint's address. It need
	// not get an entry, but whatever was in its place on the stack must lose its own.
	MOVQ WAYMARK, AX
	PCALIGN $64
	MOVQ G_STATE(R14), R12
	TESTQ R12, R12
	JZ   noentry
	CMPB T_DEEP(R12), $0
	JEQ  noentry
	MOVQ G_GOID(R14), R15
	CMPQ R15, T_GOID(R12)
	JNE  noentry            // what is on the shadow stack is another goroutine's
	BTSQ WAYBIT, R13
	PUSHAX
	PUSHDX
	PUSHDI
	MOVQ T_TOP(R12), AX
waysearch:
	LEAQ SAVEDBP(SP), DX
	SUBQ G_HI(R14), DX
waygone:
	CMPL E_DEPTH(AX), DX
	JGT  above
	SUBQ $ENTRY, AX
	JMP  waygone
noentry:
	RET

	// AX is the entry that it is below, DX the site. Its return address is to tell
	// that it is there, and so must be that of a direct call: an indirect one may call
	// in its place a function that has no hook.
waypoint:
	MOVQ RETURN(SP), R15
	TESTL $0xff8, R15
	JEQ  done               // the instruction may begin on another page
	CMPB -5(R15), $0xe8
	JNE  done
	MOVL -4(R15), DI
	ADDL R15, DI
	CMPL DI, R13
	JNE  done
	MOVL E_NODE(AX), DI
	ADDQ $ENTRY, AX
	LEAQ ENTRY(AX), R15
	CMPQ R15, T_LIMIT(R12)
	JCC  waygrow
	MOVL DX, E_NODE(AX)
	LEAQ (SAVEDBP-1)(SP), DX
	SUBQ G_HI(R14), DX
	MOVL DX, E_DEPTH(AX)
	MOVL DX, E_DEPTH(R15)
	MOVL DI, E_NODE(R15)
	MOVQ RETURN(SP), DX
	MOVQ DX, E_RETURN(R15)
	MOVQ R15, T_TOP(R12)
	MOVL $0, T_DEPTH(R12)
	JMP  done
waygrow:
	MOVQ T_LIMIT(R12), R15
	SUBQ T_TOP(R12), R15
	PUSHR15                 // how far the top is from the end, where grow leaves AX
	JMP  grow

	// Direct calls of functions that push an entry, by functions that have one. Who
	// called is known, and so is what is called, so that nothing is searched. In: R13
	// the number of the call among the hooks of its function, BP that function's, R14
	// g, (SP) return to the stub, 8(SP) that of the call. Before the stub stand 4 bytes
	// with the called function's hook, and 4 with the distance from the stub to its entry.
	//
	// A call has a cell behind that of its function's node, as a block has. In place of
	// a counter of 64 bits there are, in one line of the processor's caches, one of 32
	// and the name of the node that the call leads to.
	MOVQ CALLMARK, AX
	PCALIGN $64
	MOVQ G_STATE(R14), R12
	TESTQ R12, R12
	JZ   strange
	PUSHAX
	MOVQ T_TOP(R12), AX
	MOVQ BP, R15
	SUBQ G_HI(R14), R15     // R15: depth of the caller
	CMPL T_DEPTH(R12), R15
	JNE  callersearch
	MOVL T_NODE(R12), R15
caller:
	LEAQ (R15)(R13*8), R15
	MOVQ G_M(R14), R13
	MOVQ M_P(R13), R13
	CMPQ R13, T_P(R12)
	JNE  strangeax
	ADDQ T_ROW(R12), R15    // R15: the call's counter
	MOVL C_CALLEE(R15), R13
	TESTL R13, R13
	JZ   newcall
	ADDQ $ENTRY, AX
	CMPQ AX, T_LIMIT(R12)
	JCC  strangeax
	SUBL $1, C_CALLS(R15)
	JCS  borrow
borrowed:
	MOVL R13, E_NODE(AX)
	MOVL R13, T_NODE(R12)
	LEAQ 8(SP), R15
	SUBQ G_HI(R14), R15
	MOVL R15, E_DEPTH(AX)
	MOVL R15, T_DEPTH(R12)
	MOVQ 16(SP), R15
	MOVQ R15, E_RETURN(AX)
	MOVQ AX, T_TOP(R12)
	POPAX
	RET

	// Off with the entries of what the caller has called before.
callersearch:
	CMPL E_DEPTH(AX), R15
	JGE  callertop
callergone:
	CMPQ AX, T_BASE(R12)
	JEQ  strangeax
	SUBQ $ENTRY, AX
	CMPL E_DEPTH(AX), R15
	JLT  callergone
callertop:
	JNE  strangeax          // there was no room for it
	MOVL E_NODE(AX), R15
	JMP  caller

	// The caller has no entry, none can be pushed at once, or the goroutine is on
	// another P than before: as with any other call, from the function's entry on.
strangeax:
	POPAX
strange:
	MOVQ 8(SP), R15
	MOVLQSX -4(R15), R12
	ADDQ R15, R12           // R12: the stub
	MOVLQSX -4(R12), R15
	ADDQ R12, R15
	LEAQ 8(SP), SP
	JMP  R15

	// The first call on this P: the node is found or made as for any other call,
	// which is counted there, in the node's own cell.
newcall:
	CMPL E_NODE(AX), $(1<<NAMESHIFT)
	JEQ  strangeax          // its caller is in the overflow
	PUSHDX
	PUSHDI
	MOVQ RETURN(SP), DX
	MOVLQSX -4(DX), DI
	ADDQ DX, DI             // DI: the stub
	MOVL -8(DI), R13
	PUSHR15
	MOVL E_NODE(AX), DI
	SLOTOF
	SHLQ $32, DI
	ORQ  R13, DI
	ORL  ROOTBIT, R13
	BTSQ CALLBIT, R13
	JMP  keyed
called:
	POPR13
	CMPL DX, $1
	JEQ  found              // there was no room for it
	MOVL R15, C_CALLEE(R13)
	SUBQ T_ROW(R12), R13
	MOVQ NODES, DI
	MOVL DX, N_NODE(DI)(R13*2)
	JMP  found

	// Its 32 bits are used up, or were 0: those above are in the node's own counter.
borrow:
	PUSHDX
	SUBQ T_ROW(R12), R15
	MOVQ NODES, DX
	MOVL N_NODE(DX)(R15*2), R15
	SHLQ $3, R15
	ADDQ T_ROW(R12), R15
	MOVQ $(1<<32), DX
	SUBQ DX, (R15)
	POPDX
	JMP  borrowed
	MOVQ ENDMARK, AX

// func start() uintptr
TEXT ·start(SB), NOSPLIT, $0-8
	LEAQ ·recorder(SB), AX
	MOVQ AX, ret+0(FP)
	RET

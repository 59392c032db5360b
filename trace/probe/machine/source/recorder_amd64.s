// The recorder that runs inside the target: position-independent code that is
// copied into it. Every patched function calls it before its own first
// instruction, every patched block of an inlined body somewhere in that block.
//
// It finds the caller's node in the calling context tree, finds or makes the
// node of this call below it, and counts. See the package documentation of
// trace/probe/machine for the data that it works on.
//
// What it must keep: every register but R12, R13, R15 and the flags. Vector
// registers are not touched. It never calls, never allocates, takes no lock,
// makes no system call. It may be interrupted at each instruction by a signal,
// whose handler never runs patched code.
//
// Numbers of the form 0x7e57.... are holes that machine.Assemble fills.

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
#define MASK      $0x7e570008 // (slots of the near table - 1) * SLOT
#define ROWS      $0x7e570009 // rows of counters that belong to a P
#define ROWBYTES  $0x7e57000a
#define MAXNODES  $0x7e57000b

// Addresses.
#define HEADER    $0x7e5700007e570001
#define TABLE     $0x7e5700007e570002 // the near table
#define FAR       $0x7e5700007e57000b
#define FAREND    $0x7e5700007e570003 // which is behind the near table, too
#define NODES     $0x7e5700007e570004
#define COUNTS    $0x7e5700007e570005
#define SHAREDROW $0x7e5700007e570006 // the row of counters that belongs to no P
#define OVERFLOW  $0x7e5700007e570007 // slot of the node that stands for all that had no room

// Marks the place where a block's stub enters.
#define BLOCKMARK $0x7e5700007e570008
#define LEAFMARK  $0x7e5700007e57000a // and the one of a function that calls nothing
#define ENDMARK   $0x7e5700007e570009

// The header.
#define H_NEXT    0  // next free byte of the arena
#define H_END     8
#define H_NODE    16 // next node's number
#define H_DROPPED 24 // calls that were not counted or not pushed for want of room
#define H_STATES  32 // goroutine states made
#define H_FULL    40 // nodes that were not made for want of room

// A slot of the table.
#define SLOT      32
#define S_KEY     0  // parent<<32 | hook; 0: free
#define S_SITE    8
#define S_ID      12 // 0: being made
#define S_NODE    16 // the node whose children are this one's: itself, or the ancestor of a recursive call

// A node.
#define N_PARENT  0
#define N_HOOK    4
#define N_SITE    8
#define N_NODE    12

// A goroutine's state, and the entries of its shadow stack.
#define T_GOID    0
#define T_TOP     8
#define T_LIMIT   16
#define T_BASE    24
#define T_P       32 // the P that it ran on at its last call
#define T_ROW     40 // and that P's counters
#define T_G       48 // the g whose state it is, for whoever takes the recorder away again
#define T_FULL    56 // the shadow stack's end, once it could not grow
#define T_HEADER  64
#define T_SIZE    256 // at the beginning
#define E_DEPTH   0 // of SP in the recorder, from stack.hi: negative
#define E_NODE    4
#define E_RETURN  8
#define ENTRY     16

#define HOST      56 // of the host's stack pointer from SP, the same in a block
#define RETURN    32 // of the return address from SP, after the recorder has saved its registers

#define UNPUSHED  $30 // bit of a hook's number: no hooked function is called below it
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
#define PUSHR13  BYTE $0x41; BYTE $0x55
#define POPR13   BYTE $0x41; BYTE $0x5d
#define PUSHR15  BYTE $0x41; BYTE $0x57
#define POPR15   BYTE $0x41; BYTE $0x5f

// NAME is odd, so that its multiples are as good as the numbers, and as a hash
// better. A node goes by its number in counters and nodes, and by its name, the
// number times NAME, in keys and on shadow stacks: then a slot is found without a
// multiplication, which would be in the way of every call within a call.
#define NAME      $-1640531535
#define UNNAME    $244002641 // the inverse of NAME, modulo 1<<32

// HASH makes, of the parent's name DI, the hook R13 and the site DX, the key DI
// and R15, where in the TABLE, which is then R13, the search begins.
#define HASH \
	MOVL DI, R15; \
	SHLQ $32, DI; \
	ORQ  R13, DI; \
	ADDL DX, R13; \
	SHLL $5, R13; \
	ADDL R13, R15; \
	ANDL MASK, R15; \
	MOVQ TABLE, R13

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
	MOVQ G_HI(R14), R15
	MOVQ T_TOP(R12), AX

	// Which entry of the shadow stack is the caller's? Nothing tells us of
	// returns, so the entries of calls that have returned are still there.
	MOVLQSX E_DEPTH(AX), DX
	ADDQ R15, DX
	CMPQ DX, SP
	JLS  gone               // not above us: that call has returned
	PCALIGN $16
above:
	MOVQ RETURN(DX), DI
	CMPQ DI, E_RETURN(AX)
	JNE  moved              // its return address is not in its place any more
	LEAQ (RETURN-8)(DX), DI // where it saved BP, so
	CMPQ BP, DI
	JNE  walk               // it is not the direct caller
direct:
	MOVQ RETURN(SP), DX         // DX: call site, of which the low half counts
sited:
	MOVL E_NODE(AX), DI
	HASH
	CMPQ DI, S_KEY(R13)(R15*1)
	JNE  missed
	CMPL DX, S_SITE(R13)(R15*1) // is not 0, so it was written, with the number beside it
	JNE  missed
	MOVL S_ID(R13)(R15*1), DX   // DX: the node's number
	MOVL S_NODE(R13)(R15*1), R15 // R15: the name of the node where calls made here belong
found:
	// A plain increment is exact: this code is no place where a goroutine can
	// be preempted, so nobody else counts in this P's row meanwhile.
	MOVQ G_M(R14), R13
	MOVQ M_P(R13), R13
	CMPQ R13, T_P(R12)
	JNE  otherp
	MOVQ T_ROW(R12), R13
	INCQ (R13)(DX*8)
counted:
	ADDQ $ENTRY, AX
	CMPQ AX, T_LIMIT(R12)
	JCC  grow
push:
	MOVQ SP, DX
	SUBQ G_HI(R14), DX
	MOVL DX, E_DEPTH(AX)
	MOVL R15, E_NODE(AX)
	MOVQ RETURN(SP), DX
	MOVQ DX, E_RETURN(AX)
	MOVQ AX, T_TOP(R12)
done:
	POPDI
	POPDX
	POPAX
	RET

gone:
	SUBQ $ENTRY, AX
caller:
	MOVLQSX E_DEPTH(AX), DX
	ADDQ R15, DX
	CMPQ DX, SP
	JLS  gone
	JMP  above

moved:
	CMPQ AX, T_BASE(R12)    // the entry at the base stands for the root
	JE   direct
	SUBQ $ENTRY, AX
	JMP  caller

	// Not the direct caller. Where the frame pointers lead past its frame that
	// call has returned; where they lead to it, functions that are not hooked
	// stand between, and the outermost of them tells the call site.
walk:
	CMPQ AX, T_BASE(R12)
	JE   direct
	PUSHBX
	PUSHSI
	// Where there was no room for more entries there are calls without one, any
	// number of them. Each of them would go through all those before it.
	LEAQ ENTRY(AX), BX
	CMPQ BX, T_FULL(R12)
	JEQ  lost
	MOVQ BP, BX
	XORL SI, SI
frame:
	CMPQ BX, DI
	JE   reached
	JHI  past
	CMPQ BX, SP
	JCS  lost
	CMPQ BX, SI
	JLS  lost               // a chain that does not lead upwards is none
	MOVQ BX, SI
	MOVQ (BX), BX
	JMP  frame
reached:
	MOVQ 8(SI), DX
	POPSI
	POPBX
	ORL  $VIABIT, R13
	JMP  sited
past:
	CMPQ BX, R15
	JHI  lost
	POPSI
	POPBX
	SUBQ $ENTRY, AX
	JMP  caller
lost:
	// The chain left the stack, as in a callback from C: below this entry.
	POPSI
	POPBX
	MOVL UNKNOWN, DX
	ORL  $VIABIT, R13
	JMP  sited

	// The goroutine runs on another P than at its last call, or on none: then
	// the row is shared, and counting takes a lock.
otherp:
	TESTQ R13, R13
	JZ   nop
	PUSHBX
	MOVL P_ID(R13), BX
	CMPL BX, ROWS
	JCC  nopbx
	MOVQ R13, T_P(R12)
	IMUL3Q ROWBYTES, BX, BX
	MOVQ COUNTS, R13
	ADDQ BX, R13
	MOVQ R13, T_ROW(R12)
	POPBX
	INCQ (R13)(DX*8)
	JMP  unpushed
nopbx:
	POPBX
nop:
	MOVQ SHAREDROW, R13
	LOCK
	INCQ (R13)(DX*8)
unpushed:
	BTL  UNPUSHED, DI
	JCC  counted
	JMP  done

	// The slot is another's, or it is being made.
missed:
	ADDQ R13, R15           // R15: slot
	CMPQ DI, (S_KEY+SLOT)(R15) // the next one, mostly
	JNE  probe
	CMPL DX, (S_SITE+SLOT)(R15)
	JNE  probe
	MOVL (S_ID+SLOT)(R15), R13
	TESTL R13, R13
	JZ   probe
	MOVL R13, DX
	MOVL (S_NODE+SLOT)(R15), R15
	JMP  known
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
	CMPL S_ID(R15), $0
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
	// The near table is small, so that it stays in the processor's caches. What
	// finds no room there goes into the far one.
	MOVQ DI, R15
	SHRQ $32, R15
	MOVL DI, BX
	ADDL DX, BX
	SHLL $5, BX
	ADDL BX, R15
	ANDL FARMASK, R15
	MOVQ FAR, BX
	ADDQ BX, R15
	JMP  again
full:
	MOVQ OVERFLOW, R15
have:
	POPSI
	POPBX
	MOVL S_ID(R15), DX
	MOVL S_NODE(R15), R15
known:
	// A key that has the root's bit is that of a goroutine being bound.
	BTL  $31, DI
	JCS  rooted
	BTL  UNPUSHED, DI
	JCC  found
	JMP  blockfound
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
	MOVQ HEADER, BX
	MOVL $1, SI
	LOCK
	XADDQ SI, H_NODE(BX)
	CMPQ SI, MAXNODES
	JCC  nonode
	PUSHR8
	PUSHR9
	PUSHR10
	MOVL SI, R8             // R8: where calls made here belong
	MOVQ NODES, R9
	MOVQ DI, BX
	SHRQ $32, BX
	IMUL3L UNNAME, BX, BX   // BX: the parent's number
	PUSHBX
	BTL  UNPUSHED, DI
	JCS  unfolded
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
unfolded:
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
	IMUL3L NAME, R8, R8
	MOVL R8, S_NODE(R15)
	POPR10
	POPR9
	POPR8
	SHLQ $32, SI
	MOVL DX, BX
	ORQ  BX, SI
	MOVQ SI, S_SITE(R15)    // and S_ID: publishes the slot
	JMP  have
nonode:
	LOCK
	INCQ H_FULL(BX)
	MOVL NAME, S_NODE(R15)
	MOVQ $1, SI
	SHLQ $32, SI
	MOVL DX, BX
	ORQ  BX, SI
	MOVQ SI, S_SITE(R15)
	JMP  have

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
	LEAQ (AX)(DX*2), BX
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
	JMP  push
nogrow:
	LOCK
	INCQ H_DROPPED(R15)
	MOVQ T_LIMIT(R12), DX
	MOVQ DX, T_FULL(R12)
	POPR15
	POPBX
	POPSI
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
	MOVL $-(RETURN+8), E_DEPTH(AX)
	MOVQ $0, E_RETURN(AX)
	MOVQ G_GOPC(R14), DX
	MOVL DX, DX
	MOVL ROOTBIT, R13
	XORL DI, DI
	HASH
	JMP  missed
rooted:
	MOVQ SHAREDROW, R13
	LOCK
	INCQ (R13)(DX*8)
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
	MOVQ G_STATE(R14), R12
	TESTQ R12, R12
	JZ   newstate
	MOVQ G_GOID(R14), R15
	CMPQ R15, T_GOID(R12)
	JNE  bind
	PUSHAX
	PUSHDX
	PUSHDI
	MOVQ G_HI(R14), R15
	MOVQ T_TOP(R12), AX
	MOVLQSX E_DEPTH(AX), DX
	ADDQ R15, DX
	CMPQ DX, SP
	JLS  leafgone
leafabove:
	MOVQ RETURN(DX), DI
	CMPQ DI, E_RETURN(AX)
	JNE  moved
	LEAQ (RETURN-8)(DX), DI
	CMPQ BP, DI
	JNE  walk
	MOVQ RETURN(SP), DX
	MOVL E_NODE(AX), DI
	HASH
	CMPQ DI, S_KEY(R13)(R15*1)
	JNE  missed
	CMPL DX, S_SITE(R13)(R15*1)
	JNE  missed
	MOVL S_ID(R13)(R15*1), DX
	MOVL S_NODE(R13)(R15*1), R15
	MOVQ G_M(R14), R13
	MOVQ M_P(R13), R13
	CMPQ R13, T_P(R12)
	JNE  otherp
	MOVQ T_ROW(R12), R13
	INCQ (R13)(DX*8)
	MOVQ AX, T_TOP(R12)     // the next call need not look so far
	JMP  done
leafgone:
	SUBQ $ENTRY, AX
	MOVLQSX E_DEPTH(AX), DX
	ADDQ R15, DX
	CMPQ DX, SP
	JLS  leafgone
	JMP  leafabove

	// Blocks of inlined bodies. In: R13 hook, R14 g; (SP) return to the stub,
	// then R15, R13, R12 of the function that the block is in, and above them
	// its stack.
	MOVQ BLOCKMARK, AX
	MOVQ G_STATE(R14), R12
	TESTQ R12, R12
	JZ   nohost             // its host's entry would have made one
	MOVQ G_GOID(R14), R15
	CMPQ R15, T_GOID(R12)
	JNE  nohost
	PUSHAX
	PUSHDX
	PUSHDI
	MOVQ G_HI(R14), R15
	MOVQ T_TOP(R12), AX
	JMP  host
hostgone:
	SUBQ $ENTRY, AX
host:
	MOVLQSX E_DEPTH(AX), DX
	ADDQ R15, DX
	LEAQ (HOST-RETURN)(SP), DI // the depth that the host's entry has if it has no frame
	CMPQ DX, DI
	JCS  hostgone
	JEQ  hosted
	MOVQ RETURN(DX), DI
	CMPQ DI, E_RETURN(AX)
	JNE  hostmoved
	LEAQ (RETURN-8)(DX), DI
	CMPQ BP, DI
	JNE  hostwalk
hosted:
	MOVQ AX, T_TOP(R12)     // the next block need not look so far
	XORL DX, DX
	MOVL E_NODE(AX), DI
	HASH
	CMPQ DI, S_KEY(R13)(R15*1)
	JNE  missed
	MOVQ S_SITE(R13)(R15*1), DX // both halves at once, as they were written
	SHRQ $32, DX
	JZ   blockmissed        // not yet
blockfound:
	MOVQ G_M(R14), R13
	MOVQ M_P(R13), R13
	CMPQ R13, T_P(R12)
	JNE  otherp
	MOVQ T_ROW(R12), R13
	INCQ (R13)(DX*8)
	JMP  done
blockmissed:
	XORL DX, DX
	JMP  missed
hostmoved:
	CMPQ AX, T_BASE(R12)
	JE   hosted
	SUBQ $ENTRY, AX
	JMP  host
	// The host is not on the shadow stack (there was no room for it): below
	// what is.
hostwalk:
	CMPQ AX, T_BASE(R12)
	JE   hosted
	PUSHBX
	PUSHSI
	LEAQ ENTRY(AX), BX
	CMPQ BX, T_FULL(R12)
	JEQ  hostreached
	MOVQ BP, BX
	XORL SI, SI
hostframe:
	CMPQ BX, DI
	JE   hostreached
	JHI  hostpast
	CMPQ BX, SP
	JCS  hostreached
	CMPQ BX, SI
	JLS  hostreached
	MOVQ BX, SI
	MOVQ (BX), BX
	JMP  hostframe
hostpast:
	CMPQ BX, R15
	JHI  hostreached
	POPSI
	POPBX
	JMP  hostgone
hostreached:
	POPSI
	POPBX
	JMP  hosted
nohost:
	MOVQ HEADER, R15
	LOCK
	INCQ H_DROPPED(R15)
	RET
	MOVQ ENDMARK, AX

// func start() uintptr
TEXT ·start(SB), NOSPLIT, $0-8
	LEAQ ·recorder(SB), AX
	MOVQ AX, ret+0(FP)
	RET

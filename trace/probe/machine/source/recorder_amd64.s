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
#define TEXTLOW   $0x7e570007 // low half of the address of the text
#define MASK      $0x7e570008 // (slots-1) * SLOT
#define ROWS      $0x7e570009 // rows of counters that belong to a P
#define ROWBYTES  $0x7e57000a
#define MAXNODES  $0x7e57000b

// Addresses.
#define HEADER    $0x7e5700007e570001
#define TABLE     $0x7e5700007e570002
#define TABLEEND  $0x7e5700007e570003
#define NODES     $0x7e5700007e570004
#define COUNTS    $0x7e5700007e570005
#define SHAREDROW $0x7e5700007e570006 // the row of counters that belongs to no P
#define OVERFLOW  $0x7e5700007e570007 // slot of the node that stands for all that had no room

// Marks the place where a block's stub enters.
#define BLOCKMARK $0x7e5700007e570008
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
#define T_HEADER  32
#define T_SIZE    256 // at the beginning
#define E_DEPTH   0 // of the return address, from stack.hi: negative
#define E_NODE    4
#define E_RETURN  8
#define ENTRY     16

#define UNPUSHED  $30 // bit of a hook's number: counted only, nothing is called below it
#define ROOTBIT   $0x80000000
#define VIABIT    $0x80000000
#define MAXPROBES $512

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
#define PUSHR13  BYTE $0x41; BYTE $0x55
#define POPR13   BYTE $0x41; BYTE $0x5d
#define PUSHR15  BYTE $0x41; BYTE $0x57
#define POPR15   BYTE $0x41; BYTE $0x5f

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
	PUSHCX
	PUSHDX
	PUSHDI
	MOVQ G_HI(R14), R15
	LEAQ 40(SP), CX
	SUBQ R15, CX            // CX: depth of our return address
	MOVQ T_TOP(R12), AX

	// Which entry of the shadow stack is the caller's? Nothing tells us of
	// returns, so the entries of calls that have returned are still there.
	PCALIGN $16
caller:
	MOVLQSX E_DEPTH(AX), DX
	CMPQ DX, CX
	JLE  gone               // not above us: that call has returned
	MOVQ (R15)(DX*1), DI
	CMPQ DI, E_RETURN(AX)
	JNE  moved              // its return address is not in its place any more
	LEAQ -8(R15)(DX*1), DI  // where it saved BP, so
	CMPQ BP, DI
	JNE  walk               // it is not the direct caller
direct:
	MOVQ 40(SP), DX
	SUBL TEXTLOW, DX           // DX: call site
sited:
	MOVL E_NODE(AX), DI
	SHLQ $32, DI
	ORQ  R13, DI            // DI: key
hash:
	MOVQ DX, R15
	SHLQ $13, R15
	ADDQ DI, R15
	MOVQ $0x9e3779b97f4a7c15, R13
	IMULQ R13, R15
	SHRQ $32, R15
	ANDL MASK, R15
	MOVQ TABLE, R13
	ADDQ R13, R15           // R15: slot
	CMPQ DI, S_KEY(R15)
	JNE  probe
	MOVQ S_SITE(R15), R13   // both halves at once, as they were written
	CMPL R13, DX
	JNE  probe
	SHRQ $32, R13           // R13: the node's own number
	JZ   probe
found:
	MOVL S_NODE(R15), R15   // R15: where calls made here belong
	// A plain increment is exact: this code is no place where a goroutine can
	// be preempted, so nobody else counts in this P's row meanwhile.
	MOVQ G_M(R14), DX
	MOVQ M_P(DX), DX
	TESTQ DX, DX
	JZ   nop
	MOVL P_ID(DX), DX
	CMPL DX, ROWS
	JCC  nop
	IMUL3Q ROWBYTES, DX, DX
	LEAQ (DX)(R13*8), DX
	MOVQ COUNTS, R13
	INCQ (R13)(DX*1)
counted:
	BTL  UNPUSHED, DI
	JCS  done
	ADDQ $ENTRY, AX
	CMPQ AX, T_LIMIT(R12)
	JCC  grow
push:
	MOVL CX, E_DEPTH(AX)
	MOVL R15, E_NODE(AX)
	MOVQ 40(SP), DX
	MOVQ DX, E_RETURN(AX)
	MOVQ AX, T_TOP(R12)
done:
	POPDI
	POPDX
	POPCX
	POPAX
	RET

gone:
	CMPQ AX, T_BASE(R12)    // only on a stack whose upper end the runtime guessed
	JE   direct
	SUBQ $ENTRY, AX
	JMP  caller

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
	SUBL TEXTLOW, DX
	ORL  VIABIT, DX
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
	MOVQ 40(SP), DX
	SUBL TEXTLOW, DX
	ORL  VIABIT, DX
	JMP  sited

nop:
	MOVQ SHAREDROW, DX
	LOCK
	INCQ (DX)(R13*8)
	JMP  counted

	// The slot is another's, or it is being made.
probe:
	PUSHBX
	PUSHSI
	MOVL MAXPROBES, SI
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
	MOVQ TABLEEND, BX
	CMPQ R15, BX
	JCS  inside
	MOVQ TABLE, R15
inside:
	DECL SI
	JNZ  again
full:
	MOVQ OVERFLOW, R15
have:
	POPSI
	POPBX
	MOVL S_ID(R15), R13
	// A key that has the root's bit is that of a goroutine being bound.
	BTL  $31, DI
	JCS  rooted
	JMP  found
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
	MOVL SI, R8             // R8: where calls made here belong
	MOVQ NODES, R9
	MOVQ DI, BX
	SHRQ $32, BX
	BTL  UNPUSHED, DI
	JCS  unfolded
above:
	// A function that is already on the path takes the calls of its inner
	// activations: recursion does not make the tree grow.
	TESTL BX, BX
	JZ   unfolded
	SHLQ $4, BX
	ADDQ R9, BX
	CMPL DI, N_HOOK(BX)
	JE   fold
	MOVL N_PARENT(BX), BX
	JMP  above
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
	MOVQ DI, R9
	ROLQ $32, R9
	MOVQ R9, N_PARENT(BX)   // and N_HOOK: publishes the node to those who read along
	MOVL R8, S_NODE(R15)
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
	MOVL $1, S_NODE(R15)
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
	LEAQ (DX)(DX*1), SI
	MOVQ SI, BX
	MOVQ HEADER, R15
	LOCK
	XADDQ SI, H_NEXT(R15)
	ADDQ SI, BX
	CMPQ BX, H_END(R15)
	JHI  nogrow
	PUSHCX
	PUSHDI
	MOVQ SI, DI
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
	POPR15
	POPBX
	POPSI
	JMP  done

	// The first call that we see of this g.
newstate:
	PUSHAX
	MOVL $T_SIZE, AX
	MOVQ HEADER, R15
	LOCK
	XADDQ AX, H_NEXT(R15)
	LEAQ T_SIZE(AX), R12
	CMPQ R12, H_END(R15)
	JHI  nostate
	LOCK
	INCQ H_STATES(R15)
	MOVQ R12, T_LIMIT(AX)
	MOVQ AX, R12
	LEAQ T_HEADER(R12), AX
	MOVQ AX, T_BASE(R12)
	MOVQ R12, G_STATE(R14)
	POPAX
	// The first call that we see of this goroutine: the runtime uses a g again.
bind:
	PUSHAX
	PUSHCX
	PUSHDX
	PUSHDI
	PUSHR13
	MOVQ G_GOID(R14), AX
	MOVQ AX, T_GOID(R12)
	MOVQ T_BASE(R12), AX
	MOVQ AX, T_TOP(R12)
	MOVL $-8, E_DEPTH(AX)
	MOVQ $0, E_RETURN(AX)
	MOVQ G_GOPC(R14), DX
	TESTQ DX, DX
	JZ   nogopc
	SUBL TEXTLOW, DX
nogopc:
	MOVL DX, DX
	MOVL ROOTBIT, DI
	MOVQ DX, R15
	SHLQ $13, R15
	ADDQ DI, R15
	MOVQ $0x9e3779b97f4a7c15, R13
	IMULQ R13, R15
	SHRQ $32, R15
	ANDL MASK, R15
	MOVQ TABLE, R13
	ADDQ R13, R15
	JMP  probe
rooted:
	MOVQ SHAREDROW, DX
	LOCK
	INCQ (DX)(R13*8)
	MOVL S_NODE(R15), DX
	MOVQ T_BASE(R12), AX
	MOVL DX, E_NODE(AX)
	POPR13
	POPDI
	POPDX
	POPCX
	POPAX
	JMP  bound
nostate:
	LOCK
	INCQ H_DROPPED(R15)
	POPAX
	RET

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
	PUSHCX
	PUSHDX
	PUSHDI
	MOVQ G_HI(R14), R15
	LEAQ 64(SP), CX
	SUBQ R15, CX            // CX: depth of the host's stack pointer
	MOVQ T_TOP(R12), AX
	PCALIGN $16
host:
	MOVLQSX E_DEPTH(AX), DX
	CMPQ DX, CX
	JLT  hostgone
	JEQ  hosted             // a host without a frame
	MOVQ (R15)(DX*1), DI
	CMPQ DI, E_RETURN(AX)
	JNE  hostmoved
	LEAQ -8(R15)(DX*1), DI
	CMPQ BP, DI
	JNE  hostwalk
hosted:
	MOVQ AX, T_TOP(R12)     // the next block need not look so far
	XORL DX, DX
	JMP  sited
hostgone:
	CMPQ AX, T_BASE(R12)
	JE   hosted
	SUBQ $ENTRY, AX
	JMP  host
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

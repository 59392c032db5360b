// What the tests need to run the recorder's code in their own process. None of it
// is part of that code.

#include "textflag.h"

// Fields of Registers.
#define R_AX   0
#define R_BX   8
#define R_CX   16
#define R_DX   24
#define R_SI   32
#define R_DI   40
#define R_BP   48
#define R_SP   56
#define R_R8   64
#define R_R9   72
#define R_R10  80
#define R_R11  88
#define R_R12  96
#define R_R13  104
#define R_R14  112
#define R_R15  120
#define R_X    128
#define R_OURS 352 // our own SP and BP meanwhile

// func Call(entry uintptr, r *Registers)
//
// A signal that comes meanwhile is handled as always: the runtime finds its own g
// in thread-local storage, and never preempts assembly.
TEXT ·Call(SB), NOSPLIT, $0-16
	MOVQ r+8(FP), BX
	MOVQ SP, R_OURS(BX)
	MOVQ BP, (R_OURS+8)(BX)
	MOVQ entry+0(FP), R12   // which the recorder does not read
	MOVQ BX, X15            // nor these two
	MOVOU (R_X+16*0)(BX), X0
	MOVOU (R_X+16*1)(BX), X1
	MOVOU (R_X+16*2)(BX), X2
	MOVOU (R_X+16*3)(BX), X3
	MOVOU (R_X+16*4)(BX), X4
	MOVOU (R_X+16*5)(BX), X5
	MOVOU (R_X+16*6)(BX), X6
	MOVOU (R_X+16*7)(BX), X7
	MOVOU (R_X+16*8)(BX), X8
	MOVOU (R_X+16*9)(BX), X9
	MOVOU (R_X+16*10)(BX), X10
	MOVOU (R_X+16*11)(BX), X11
	MOVOU (R_X+16*12)(BX), X12
	MOVOU (R_X+16*13)(BX), X13
	MOVQ R_AX(BX), AX
	MOVQ R_CX(BX), CX
	MOVQ R_DX(BX), DX
	MOVQ R_SI(BX), SI
	MOVQ R_DI(BX), DI
	MOVQ R_BP(BX), BP
	MOVQ R_R8(BX), R8
	MOVQ R_R9(BX), R9
	MOVQ R_R10(BX), R10
	MOVQ R_R11(BX), R11
	MOVQ R_R13(BX), R13
	MOVQ R_R14(BX), R14
	MOVQ R_R15(BX), R15
	MOVQ R_SP(BX), SP
	MOVQ R_BX(BX), BX
	CALL R12
	MOVQ BX, X14
	MOVQ X15, BX
	MOVQ SP, R_SP(BX)
	MOVQ R_OURS(BX), SP
	MOVQ AX, R_AX(BX)
	MOVQ X14, AX
	MOVQ AX, R_BX(BX)
	MOVQ CX, R_CX(BX)
	MOVQ DX, R_DX(BX)
	MOVQ SI, R_SI(BX)
	MOVQ DI, R_DI(BX)
	MOVQ BP, R_BP(BX)
	MOVQ R8, R_R8(BX)
	MOVQ R9, R_R9(BX)
	MOVQ R10, R_R10(BX)
	MOVQ R11, R_R11(BX)
	MOVQ R12, R_R12(BX)
	MOVQ R13, R_R13(BX)
	MOVQ R14, R_R14(BX)
	MOVQ R15, R_R15(BX)
	MOVOU X0, (R_X+16*0)(BX)
	MOVOU X1, (R_X+16*1)(BX)
	MOVOU X2, (R_X+16*2)(BX)
	MOVOU X3, (R_X+16*3)(BX)
	MOVOU X4, (R_X+16*4)(BX)
	MOVOU X5, (R_X+16*5)(BX)
	MOVOU X6, (R_X+16*6)(BX)
	MOVOU X7, (R_X+16*7)(BX)
	MOVOU X8, (R_X+16*8)(BX)
	MOVOU X9, (R_X+16*9)(BX)
	MOVOU X10, (R_X+16*10)(BX)
	MOVOU X11, (R_X+16*11)(BX)
	MOVOU X12, (R_X+16*12)(BX)
	MOVOU X13, (R_X+16*13)(BX)
	MOVQ (R_OURS+8)(BX), BP
	RET

// func Repeat(entry uintptr, r *Registers, n int)
//
// Calls entry n times with SP, BP, R13 and R14 of r.
TEXT ·Repeat(SB), NOSPLIT, $0-24
	MOVQ r+8(FP), DI
	MOVQ SP, R_OURS(DI)
	MOVQ BP, (R_OURS+8)(DI)
	MOVQ entry+0(FP), CX
	MOVQ n+16(FP), BX
	MOVQ R_R13(DI), SI
	MOVQ R_R14(DI), R14
	MOVQ R_BP(DI), BP
	JMP  test
again:
	MOVQ R_SP(DI), SP
	MOVL SI, R13
	CALL CX
	DECQ BX
test:
	TESTQ BX, BX
	JNZ  again
	MOVQ R_OURS(DI), SP
	MOVQ (R_OURS+8)(DI), BP
	RET

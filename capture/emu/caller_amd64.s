#include "textflag.h"

// func callerPC() uintptr
//
// A frame begins with the frame pointer of the caller, then the return
// address. BP is the frame of here; the next is that of the operation, whose
// return address is in the kernel.
TEXT ·callerPC(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ (BP), AX
	MOVQ 8(AX), AX
	MOVQ AX, ret+0(FP)
	RET

// Package arith is the arithmetic of PTX instructions: for an instruction's
// name and modifiers, the pure function that gives one lane's result from its
// operands. Where the PTX ISA or the hardware is exact, so are the functions,
// to the bit; the approximations (ex2.approx, sin.approx, …) keep the ISA's
// error bounds and its results for special values.
//
// It knows neither registers, predicates, memory nor lanes, and nothing of
// the syntax tree: what reads an instruction once (Lookup) and calls the
// function for each lane is the interpreter. Instructions that move, address,
// branch or communicate are not here; of atom and red there is what they
// compute (Atomic).
//
// Section names in comments are those of NVIDIA's PTX ISA. Where that leaves
// a result open (division by zero, the payload of a NaN) or the hardware
// differs from it, an H100 decides: testdata holds what it gave.
package arith

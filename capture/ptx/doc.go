// Package ptx reads PTX, the assembly language of NVIDIA GPUs: a lexer and a
// parser that lose no byte, a resolver of names, and edits of the source by
// its tokens.
//
// Parse gives the tree of a file, Resolve what its names stand for,
// Module.Source the file again. The package knows the syntax and the scopes of
// PTX (PTX ISA, "Syntax", "State Spaces, Types, and Variables", "Directives"),
// but not what instructions do, nor which exist: it is no assembler, and a file
// that it accepts may be one that ptxas refuses.
//
// Input is not trusted: any bytes end in a tree or in errors with file, line
// and column, in time and memory linear in their number.
package ptx

package ptx

// TokenKind is what a token is.
type TokenKind uint8

// The kinds of tokens (PTX ISA, "Syntax").
const (
	TokenEOF       TokenKind = iota // the end; its Lead is what follows the last token
	TokenIdent                      // add, %r1, $L__BB0_1, _
	TokenDirective                  // .reg, and the modifiers of instructions: .u32, .shared::cta
	TokenInt                        // 5, 0x1F, 0b101, 017, 5U
	TokenFloat                      // 1.5, 1e3, 0f3F800000, 0d3FF0000000000000
	TokenString                     // "nounroll", with its quotes
	TokenPunct                      // punctuation and operators
)

// Token is a token with the white space and comments before it. The tokens of
// a module are its source: Lead and Text of each, one after the other.
type Token struct {
	Kind TokenKind
	Text string
	Lead string
	Pos  Pos // of Text
}

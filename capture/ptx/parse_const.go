package ptx

import (
	"math"
	"strconv"
)

// constant is the value of a constant expression: .s64, .u64 or .f64.
type constant struct {
	float    bool
	unsigned bool
	bits     uint64 // of an integer: two's complement
	value    float64
	single   bool   // written as 0f…
	bits32   uint32 // of that
}

func signed(v int64) constant { return constant{bits: uint64(v)} }

func truth(v bool) constant {
	if v {
		return signed(1)
	}
	return signed(0)
}

// constant reads a constant expression (PTX ISA, "Constant Expressions").
func (p *parser) constant() constant {
	if !p.enter() {
		p.leave()
		return constant{}
	}
	defer p.leave()
	c := p.binary(1)
	at := p.t.Pos
	if !p.accept("?") {
		return c
	}
	a := p.constant()
	p.expect(":", " of ?:")
	b := p.constant()
	switch {
	case c.float:
		p.failf(at, "the condition of ?: is not an integer")
	case a.float != b.float:
		p.failf(at, "the alternatives of ?: are an integer and a floating-point number")
	}
	if !a.float {
		a.unsigned = a.unsigned || b.unsigned
		b.unsigned = a.unsigned
	}
	if c.bits != 0 {
		return a
	}
	return b
}

// precedence returns how tightly a binary operator binds, from 1; 0 if it is
// none.
func precedence(op string) int {
	switch op {
	case "||":
		return 1
	case "&&":
		return 2
	case "|":
		return 3
	case "^":
		return 4
	case "&":
		return 5
	case "==", "!=":
		return 6
	case "<", ">", "<=", ">=":
		return 7
	case "<<", ">>":
		return 8
	case "+", "-":
		return 9
	case "*", "/", "%":
		return 10
	}
	return 0
}

// multiplicative is the precedence of what is added to an address.
const multiplicative = 10

// binary reads an expression of operators that bind at least as tightly as
// least; all of them are left-associative.
func (p *parser) binary(least int) constant {
	x := p.unary()
	for p.t.Kind == TokenPunct {
		prec := precedence(p.t.Text)
		if prec < least || prec == 0 {
			break
		}
		op, at := p.t.Text, p.t.Pos
		p.next()
		y := p.binary(prec + 1)
		x = p.apply(op, at, x, y)
	}
	return x
}

func (p *parser) unary() constant {
	if p.t.Kind == TokenPunct {
		switch op, at := p.t.Text, p.t.Pos; op {
		case "+", "-", "!", "~", "(":
			if !p.enter() {
				p.leave()
				return constant{}
			}
			defer p.leave()
			p.next()
			if op == "(" {
				return p.parenthesis(at)
			}
			return p.negate(op, at, p.unary())
		}
	}
	return p.literal()
}

// parenthesis reads what follows a ( : an expression, or the type of a cast.
func (p *parser) parenthesis(at Pos) constant {
	for _, unsigned := range []bool{true, false} {
		typ := "s64"
		if unsigned {
			typ = "u64"
		}
		if !p.acceptDirective(typ) {
			continue
		}
		p.expect(")", " after the type of a cast")
		x := p.unary()
		if x.float {
			p.failf(at, "a floating-point number cannot be cast")
		}
		x.unsigned = unsigned
		return x
	}
	x := p.constant()
	p.expect(")", " at the end of the expression")
	return x
}

func (p *parser) negate(op string, at Pos, x constant) constant {
	if x.float && (op == "!" || op == "~") {
		p.failf(at, "%s needs an integer", op)
		return constant{}
	}
	switch op {
	case "-":
		x.bits, x.value, x.bits32 = -x.bits, -x.value, x.bits32^1<<31
	case "!":
		return truth(x.bits == 0)
	case "~":
		x.bits, x.unsigned = ^x.bits, true
	}
	return x
}

// literal reads a number or WARP_SZ.
func (p *parser) literal() constant {
	var c constant
	switch text := p.t.Text; {
	case p.t.Kind == TokenInt:
		v, ok := parseInt(text)
		if !ok {
			p.failf(p.t.Pos, "expected an integer of 64 bits, found %s", p.found())
			return c
		}
		c = constant{bits: v, unsigned: v > math.MaxInt64 || text[len(text)-1] == 'U'}
	case p.t.Kind == TokenFloat:
		c = parseFloat(text)
	case p.t.Kind == TokenIdent && text == "WARP_SZ":
		c = signed(32)
	default:
		p.want("a constant")
	}
	p.next()
	return c
}

// parseFloat returns the value of a floating-point literal, which the lexer
// found to be well formed.
func parseFloat(text string) constant {
	if len(text) > 2 && text[0] == '0' {
		switch text[1] | 0x20 {
		case 'f':
			bits, _ := strconv.ParseUint(text[2:], 16, 32)
			return constant{float: true, single: true, bits32: uint32(bits), value: float64(math.Float32frombits(uint32(bits)))}
		case 'd':
			bits, _ := strconv.ParseUint(text[2:], 16, 64)
			return constant{float: true, value: math.Float64frombits(bits)}
		}
	}
	// What is out of range is the infinity or the zero that ParseFloat gives.
	v, _ := strconv.ParseFloat(text, 64)
	return constant{float: true, value: v}
}

// apply evaluates a binary operator (PTX ISA, "Summary of Constant Expression
// Evaluation Rules").
func (p *parser) apply(op string, at Pos, x, y constant) constant {
	if x.float || y.float {
		return p.applyFloat(op, at, x, y)
	}
	u := x.unsigned || y.unsigned
	a, b := x.bits, y.bits
	switch op {
	case "+":
		return constant{bits: a + b, unsigned: u}
	case "-":
		return constant{bits: a - b, unsigned: u}
	case "*":
		return constant{bits: a * b, unsigned: u}
	case "/", "%":
		if b == 0 {
			p.failf(at, "division by zero")
			return constant{}
		}
		switch {
		case op == "%":
			return constant{bits: a % b}
		case u:
			return constant{bits: a / b, unsigned: true}
		default:
			return signed(int64(a) / int64(b))
		}
	case "<<":
		return constant{bits: a << b, unsigned: x.unsigned}
	case ">>":
		if x.unsigned {
			return constant{bits: a >> b, unsigned: true}
		}
		return signed(int64(a) >> b)
	case "&":
		return constant{bits: a & b, unsigned: u}
	case "^":
		return constant{bits: a ^ b, unsigned: u}
	case "|":
		return constant{bits: a | b, unsigned: u}
	case "&&":
		return truth(a != 0 && b != 0)
	case "||":
		return truth(a != 0 || b != 0)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	}
	if u {
		return truth(ordered(op, a, b))
	}
	return truth(ordered(op, int64(a), int64(b)))
}

func ordered[T int64 | uint64 | float64](op string, a, b T) bool {
	switch op {
	case "<":
		return a < b
	case ">":
		return a > b
	case "<=":
		return a <= b
	default:
		return a >= b
	}
}

func (p *parser) applyFloat(op string, at Pos, x, y constant) constant {
	if !x.float || !y.float {
		p.failf(at, "%s has an integer on one side and a floating-point number on the other", op)
		return constant{}
	}
	a, b := x.value, y.value
	float := func(v float64) constant { return constant{float: true, value: v} }
	switch op {
	case "+":
		return float(a + b)
	case "-":
		return float(a - b)
	case "*":
		return float(a * b)
	case "/":
		return float(a / b)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "<", ">", "<=", ">=":
		return truth(ordered(op, a, b))
	}
	p.failf(at, "%s needs integers", op)
	return constant{}
}

// float64Bits and float32Bits return a floating-point constant in the width of
// a type.
func (c constant) float64Bits() uint64 { return math.Float64bits(c.value) }

func (c constant) float32Bits() uint64 {
	if c.single {
		return uint64(c.bits32)
	}
	return uint64(math.Float32bits(float32(c.value)))
}

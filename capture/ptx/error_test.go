package ptx

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// head begins a module: what follows is on line 4.
const head = ".version 8.0\n.target sm_90\n.address_size 64\n"

// body is a kernel with some declarations: s is on line 6.
func body(s string) string {
	return head + ".entry k(.param .u64 p) {\n.reg .b32 %r<4>; .reg .pred q; .reg .b64 d; .reg .v2 .f32 v; .shared .b32 s;\n" + s + "\n}\n"
}

// TestErrors: what is wrong with a source, as the user reads it. The messages
// lack the name of the file.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want []string
	}{
		{"", []string{"1:1: expected .version at the begin of the module, found end of file"}},
		{"\x7fELF\x02\x01\x01", []string{"1:1: a compiled binary, not PTX: extract the PTX with cuobjdump -ptx"}},
		{"Fatbin ptx code:", []string{"1:1: expected .version at the begin of the module, found \"Fatbin\""}},
		{".reg .b32 x;", []string{"1:1: expected .version at the begin of the module, found \".reg\""}},
		{".version 8\n", []string{"1:10: expected a version such as 8.0, found \"8\""}},
		{".version 8.0\n.address_size 64", []string{"2:1: expected .target after .version, found \".address_size\""}},
		{"\xff\xfe", []string{"1:1: unexpected byte 0xff", "1:2: unexpected byte 0xfe"}},
		{"#include <x>\n" + head, []string{"1:1: preprocessor line: run the file through cpp -P first"}},
		{head + "/* no end", []string{"4:1: this comment does not end: expected */, found end of file"}},
		{head + ".entry k() { .pragma \"x\n; }", []string{"4:22: this string does not end: expected \", found end of line"}},
		{head + ".global .u32 x = 0x;", []string{"4:18: expected a number, found \"0x\""}},
		{head + ".global .u32 x = 09;", []string{"4:18: expected a number, found \"09\""}},
		{head + ".global .u32 x = 0f123;", []string{"4:18: expected a number, found \"0f123\""}},
		{head + ".global .u32 x = 18446744073709551616;", []string{"4:18: expected an integer of 64 bits, found \"18446744073709551616\""}},
		{head + ".global .u32 x = 12abc;", []string{"4:18: expected a number, found \"12abc\""}},
		{head + ".address_size 48", []string{"4:1: the address size is 32 or 64, not 48"}},
		{head + ".version 8.0", []string{"4:1: a second .version"}},
		{head + ".target", []string{"4:8: expected a target such as sm_90a, found end of file"}},
		{head + "foo", []string{"4:1: expected a directive such as .entry, .func or .global, found \"foo\""}},
		{head + ".foo", []string{"4:1: expected a directive such as .entry, .func or .global, found \".foo\""}},
		{head + ".reg .b32 x;", []string{"4:1: .reg variables are declared in functions"}},
		{head + ".visible foo;", []string{"4:10: expected a function or a variable after .visible, found \"foo\""}},
		{head + ".entry", []string{"4:7: expected the name of a function, found end of file"}},
		{head + ".entry k {", []string{"4:11: expected } for the { of line 4, found end of file"}},
		{head + ".entry k( .param .u32 a, ) {}", []string{"4:26: expected .param or .reg, found \")\""}},
		{head + ".entry k(.u32 a) {}", []string{"4:10: expected .param or .reg, found \".u32\""}},
		{head + ".entry k() .maxntid {}", []string{"4:21: expected a number after .maxntid, found \"{\""}},
		{head + ".entry k() .foo {}", []string{"4:12: expected a directive such as .maxntid, or {, found \".foo\""}},
		{head + ".entry k() .maxntid 99999999999 {}", []string{"4:21: expected a number after .maxntid, at most 2147483647, found \"99999999999\""}},
		{head + ".func f(.param .b32 x<4>);", []string{"4:9: a parameter is one name, not a range"}},
		{head + ".global x;", []string{"4:9: expected a type such as .u32, found \"x\""}},
		{head + ".global .u32 .u64 x;", []string{"4:14: expected a type or a name, found \".u64\""}},
		{head + ".global .align 3 .u32 x;", []string{"4:16: an alignment is a power of two, not 3"}},
		{head + ".global .u32 x", []string{"4:15: expected ; after the declaration, found end of file"}},
		{head + ".global .u32 x[][];", []string{"4:17: only the first dimension of an array may be left out"}},
		{head + ".global .u32 x[-1];", []string{"4:15: the size of an array is an integer, 0 or more"}},
		{head + ".global .u32 x[1.5];", []string{"4:15: the size of an array is an integer, 0 or more"}},
		{head + ".global .u32 x[65536][65536];", []string{"4:14: x has more than 4294967296 bytes"}},
		{head + ".global .u32 x[0xFFFFFFFFFFFFFFFF];", []string{"4:14: x has more than 4294967296 bytes"}},
		{head + ".global .u32 x[2] = {1, 2, 3};", []string{"4:28: x has more initial values than elements"}},
		{head + ".global .u32 x[2] = 1;", []string{"4:21: expected { before the initial values of an array, found \"1\""}},
		{head + ".global .u32 x[2] = {{1}};", []string{"4:22: expected a value, found \"{\""}},
		{head + ".global .u32 x = {};", []string{"4:19: expected a value, found \"}\""}},
		{head + ".global .u32 x[2] = {1 2};", []string{"4:24: expected } at the end of the initial values, found \"2\""}},
		{head + ".global .u32 x = 1.5;", []string{"4:18: a floating-point number cannot be an initial value of type .u32"}},
		{head + ".shared .u32 x = 1;", []string{"4:16: x cannot have initial values: only .global and .const variables can"}},
		{head + ".extern .global .u32 x = 1;", []string{"4:24: x is declared .extern: its initial values are where it is defined"}},
		{head + ".global .u32 x<4> = 1;", []string{"4:19: a range of names cannot have initial values"}},
		{head + ".global .u32 x[4] = {a+1.5};", []string{"4:23: a displacement is in bytes: an integer"}},
		{head + ".global .u32 x = 0(y);", []string{"4:19: the mask of a symbol is not 0"}},
		{head + ".global .u32 x = y;", []string{"4:14: y is not declared here"}},
		{head + ".global .u8 x[2][70000] = {{1},{2}};", []string{"4:33: ranges and short rows of initialisers stand for too many names and values: write them out"}},
		{head + ".global .u8 x<70000>;", []string{"4:13: ranges and short rows of initialisers stand for too many names and values: write them out"}},
		{head + ".global .u8 x[2][0] = {{1}};", []string{"4:24: x has more initial values than elements"}},
		{head + ".global .u64 x = 1 / 0;", []string{"4:20: division by zero"}},
		{head + ".global .u64 x = 1 + 1.5;", []string{"4:20: + has an integer on one side and a floating-point number on the other"}},
		{head + ".global .u64 x = ~1.5;", []string{"4:18: ~ needs an integer"}},
		{head + ".global .u64 x = (.s64)1.5;", []string{"4:18: a floating-point number cannot be cast"}},
		{head + ".global .u64 x = 1.5 & 2.5;", []string{"4:22: & needs integers"}},
		{head + ".global .u64 x = 1.5 ? 1 : 2;", []string{"4:22: the condition of ?: is not an integer"}},
		{head + ".global .u64 x = 1 ? 1 : 2.5;", []string{"4:20: the alternatives of ?: are an integer and a floating-point number"}},
		{head + ".global .u64 x = 1 ? 2;", []string{"4:23: expected : of ?:, found \";\""}},
		{head + ".global .u64 x = (1;", []string{"4:20: expected ) at the end of the expression, found \";\""}},
		{head + ".global .u64 x = " + strings.Repeat("(", 300) + ";", []string{"4:118: nested more than 200 deep"}},
		{head + ".global .u64 x = " + strings.Repeat("-", 300) + "1;", []string{"4:217: nested more than 200 deep"}},
		{head + ".section .debug { .b8 1", []string{"4:24: expected } at the end of the section, found end of file"}},
		{head + ".file x", []string{"4:7: expected the index of a file, found \"x\""}},
		{head + ".pragma nounroll;", []string{"4:9: expected a string after .pragma, found \"nounroll\""}},
		{head + ".alias a;", []string{"4:9: expected , after the name of the alias, found \";\""}},
		{head + ".alias a, b;", []string{"4:1: b is not a function that is declared here"}},
		{head + ".global .attribute(.managed .u32 x;", []string{"4:35: expected ) after the attributes, found \";\""}},
		{head + ".global .u32 x; .global .u32 x;", []string{"4:30: x is declared twice: it is a .global variable"}},
		{head + ".func x() {} .func x() {}", []string{"4:20: x is declared twice: it is a function"}},
		{head + ".global .u32 x; .func x();", []string{"4:23: x is declared twice: it is a .global variable"}},
		{head + ".entry x(); .func x() {}", []string{"4:19: x is declared twice: it is a kernel"}},
		{body("mov.b32 %r1 %r2;"), []string{"6:13: expected ; after the instruction, found \"%r2\""}},
		{body("mov.b32 %r1,;"), []string{"6:13: expected an operand, found \";\""}},
		{body("mov.b32 %r1, %r2\nret;"), []string{"6:17: expected ; after the instruction, found \"ret\""}},
		{body("mov.b32 %r1, %r4;"), []string{"6:14: %r4 is not declared here"}},
		{body("mov.b32 %r1, [%r1;"), []string{"6:18: expected ] at the end of the address, found \";\""}},
		{body("mov.b32 %r1, {%r1, %r2;"), []string{"6:23: expected } at the end of the vector, found \";\""}},
		{body("mov.b32 %r1, %r2;\n}"), []string{"8:1: expected a directive such as .entry, .func or .global, found \"}\""}},
		{body("{"), []string{"8:1: expected } for the { of line 4, found end of file"}},
		{body("@ bra x;"), []string{"6:3: bra is not declared here"}},
		{body("@%r1 bra x; x:"), []string{"6:2: the guard %r1 is a register of type .b32, not a predicate"}},
		{body("@s ret;"), []string{"6:2: the guard s is a .shared variable, not a predicate"}},
		{body("bra x;"), []string{"6:5: x is not declared here"}},
		{body("bra %r1;"), []string{"6:5: %r1 is a register of type .b32, not a label"}},
		{body("{ x: } bra x;"), []string{"6:12: x is not declared here"}},
		{body("x: x: ret;"), []string{"6:4: x is declared twice in this scope"}},
		{body(".reg .b32 %r3;"), []string{"6:11: %r3 is declared twice in this scope"}},
		{body(".reg .b32 %r<2>;"), []string{"6:11: a name of %r<2> is declared twice in this scope"}},
		{body(".reg .b32 a<0>;"), []string{"6:13: the range a<0> is empty"}},
		{body(".reg .b32 a<1048577>;"), []string{"6:13: expected a number of registers, at most 1048576, found \"1048577\""}},
		{body(".reg .b32 a<1048576>;"), []string{"6:13: the function declares more than 1048576 registers"}},
		{body(".reg .b32 a[4];"), []string{"6:11: registers have no arrays: a range is written as a<4>"}},
		{body("call f;"), []string{"6:6: f is not declared here"}},
		{body("call s;"), []string{"6:6: s is a .shared variable, not a function or a register"}},
		{body("call (%r1), %r1, (x);"), []string{"6:19: x is not declared here"}},
		{body("brx.idx %r1, s;"), []string{"6:14: s is a .shared variable, not the label of a list or prototype"}},
		{body("ts: .branchtargets a; "), []string{"6:20: a is not declared here"}},
		{body(".branchtargets a;"), []string{"6:1: expected a label before .branchtargets, found none"}},
		{body("ts: .branchtargets ts;"), []string{"6:20: ts is the label of a list or prototype, not a label"}},
		{body("fs: .calltargets s;"), []string{"6:18: s is a .shared variable, not a function"}},
		{body("p: .callprototype x;"), []string{"6:19: expected _, found \"x\""}},
		{body("mov.b32 %r1, %r2+4;"), []string{"6:14: %r2 is a register: something can be added to it in an address only"}},
		{body("mov.b32 %r1, %r2.x;"), []string{"6:14: %r2 has no component .x"}},
		{body("mov.b32 %r1, v.b0;"), []string{"6:14: v has no component .b0"}},
		{body("mov.b32 %r1, %tid.q;"), []string{"6:14: %tid has no component .q"}},
		{body("mov.b32 %r1, %laneid.x;"), []string{"6:14: %laneid has no component .x"}},
		{body("mov.b32 %r1, s[4];"), []string{"6:15: an element of an array is written as [s+bytes]"}},
		{body("mov.b32 %r1, [1.5];"), []string{"6:15: an address is an integer"}},
		{body("mov.b32 %r1, [s+1.5];"), []string{"6:16: a displacement is in bytes: an integer"}},
		{body("mov.b32 %r1, -%r2;"), []string{"6:15: expected a constant, found \"%r2\""}},
		{body("mov.b32 %r1, \"x\";"), []string{"6:14: expected an operand, found \"\\\"x\\\"\""}},
		{body("mov.b32 %r1, p|1;"), []string{"6:16: expected a name after |, found \"1\""}},
		{body("mov.b32 %r1, [s, 1];"), []string{"6:18: expected coordinates in braces, or a sampler, found \"1\""}},
		{body("add %r1, x, y; sub y, x;"), []string{"6:10: x is not declared here", "6:13: y is not declared here", "6:20: y is not declared here", "6:23: x is not declared here"}},
		{body(".loc 1 2"), []string{"7:1: expected a column, found \"}\""}},
		{body(".loc 1 2 3, function_name 4"), []string{"6:27: expected the label of a name in .debug_str, found \"4\""}},
		{body(".loc 1 2 3, function_name x, y"), []string{"6:30: expected inlined_at, found \"y\""}},
		{body(".foo;"), []string{"6:1: expected a directive such as .reg or .shared, found \".foo\""}},
		{body("5;"), []string{"6:1: expected an instruction, a label or a directive, found \"5\""}},
		{body("mov.b32 5 6; add 1 2; sub %r1, %r2; mul , ;"), []string{"6:11: expected ; after the instruction, found \"6\"", "6:20: expected ; after the instruction, found \"2\"", "6:41: expected an operand, found \",\""}},
		{body(strings.Repeat("x ,;", 12)), []string{"6:3: expected an operand, found \",\"", "6:7: expected an operand, found \",\"", "6:11: expected an operand, found \",\"", "6:15: expected an operand, found \",\"", "6:19: expected an operand, found \",\"", "6:23: expected an operand, found \",\"", "6:27: expected an operand, found \",\"", "6:31: expected an operand, found \",\"", "6:35: expected an operand, found \",\"", "6:39: expected an operand, found \",\""}},
		{body("mov {a b}, c; ret"), []string{"6:8: expected } at the end of the vector, found \"b\"", "6:18: expected ; after the instruction, found \"}\""}},
		{body(strings.Repeat("{", 300)), []string{"6:201: nested more than 200 deep", "8:1: expected } for the { of line 6, found end of file"}},
		{body(".reg .b32 x"), []string{"6:12: expected ; after the declaration, found \"}\""}},
		{body(".visible ret;"), []string{"6:10: expected a directive such as .reg or .shared, found \"ret\""}},
		{head + "foo bar\n.entry k() { x y z; }\n.func f() .bar { }\n.global .u32 x;", []string{"4:1: expected a directive such as .entry, .func or .global, found \"foo\"", "5:18: expected ; after the instruction, found \"z\"", "6:11: expected a directive such as .maxntid, or {, found \".bar\""}},
		{body(".global .u32 x = %r1;"), []string{"6:14: %r1 is a register of type .b32: it has no address for an initial value"}},
	} {
		t.Run("", func(t *testing.T) {
			m, err := Parse("f.ptx", []byte(tt.src))
			if err == nil {
				err = Resolve(m)
			}
			want := "f.ptx:" + strings.Join(tt.want, "\nf.ptx:")
			if got := fmt.Sprint(err); got != want {
				t.Errorf("%q:\n%s\nwant\n%s", tt.src, got, want)
			}
		})
	}
}

// TestSyntaxError: the first error of a file can be taken out of the list.
func TestSyntaxError(t *testing.T) {
	_, err := Parse("dir/f.ptx", []byte(head+".global .u32 x = 1 / 0;\n.entry 5;"))
	var first *SyntaxError
	if !errors.As(err, &first) || first.File != "dir/f.ptx" || first.Pos != (Pos{Offset: len(head) + 19, Line: 4, Col: 20}) || first.Msg != "division by zero" {
		t.Errorf("%+v", first)
	}
	var all Errors
	if !errors.As(err, &all) || len(all) != 2 {
		t.Errorf("%v", err)
	}
}

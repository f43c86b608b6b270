package ptx

import (
	"strings"
	"testing"
)

// FuzzParse parses and resolves anything. What comes out prints as it came in,
// and is not much larger.
func FuzzParse(f *testing.F) {
	files(f, "testdata", func(_ string, src []byte) {
		if len(src) < 1<<14 {
			f.Add(src)
		}
	})
	for _, s := range []string{
		"mov.b64 {%r1, %r2}, d;", "{ .reg .b32 %r<2>; x: bra x; }", ".reg .b32 a0<20>, a1<5>;", "call (s), f, (1, p);",
		"ts: .branchtargets N<4>;", "p: .callprototype (.param .b32 _) _ (.param .b8 _[4]);", "tex [a, b, {v.x}];",
		".loc 1 2 3, function_name x+1, inlined_at 1 2 3", "@!q mov.b32 %r1|q, -(1 ? 2 : 0x3U) << 4;",
		strings.Repeat("{", 210), strings.Repeat("-", 210) + "1", ".shared .b8 a[1 << 31][2], b<65536>;",
	} {
		f.Add([]byte(body(s)))
	}
	for _, s := range []string{
		".global .u8 x[2][3] = {{1}, {generic(x)+8, 0xFF(x), 1.5}};", ".global .v4 .f32 x[] = {{1}, .5};", ".alias a, b; .func b() {}",
		".section .x { { .b8 1 } }", ".global .u8 x[70000][2] = {{1},{2},{3}};", ".global .samplerref s = { a = b };",
	} {
		f.Add([]byte(head + s))
	}
	f.Fuzz(func(t *testing.T, src []byte) { check(t, src) })
}

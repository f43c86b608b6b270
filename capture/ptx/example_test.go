package ptx_test

import (
	"fmt"

	"btrace/capture/ptx"
)

// Every barrier of a kernel gets a comment: the rest of the source stays as it
// is.
func Example() {
	src := `.version 8.0
.target sm_90
.visible .entry k() {
	.reg .pred %p<2>;   // two
	bar.sync 0;
	@%p1 bar.arrive 1, 64;
	ret;
}`
	m, err := ptx.Parse("k.ptx", []byte(src))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ptx.Resolve(m); err != nil {
		fmt.Println(err)
		return
	}
	edits := ptx.NewEdits(m)
	for _, f := range m.Entries() {
		for _, s := range f.Body.Statements {
			if i, ok := s.(*ptx.Instruction); ok && i.Op == "bar" {
				first, _ := i.Span()
				edits.InsertBefore(first, fmt.Sprintf("/* %s */ ", i.Mods[0]))
			}
		}
	}
	out, err := edits.Source()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(out))
	// Output:
	// .version 8.0
	// .target sm_90
	// .visible .entry k() {
	// 	.reg .pred %p<2>;   // two
	// 	/* sync */ bar.sync 0;
	// 	/* arrive */ @%p1 bar.arrive 1, 64;
	// 	ret;
	// }
}

func ExampleParse_errors() {
	_, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_90
.entry k() {
	mov.b32 %r1, %r2
	add.u32 %r1, %r2 %r3;
}`))
	fmt.Println(err)
	// Output:
	// k.ptx:4:18: expected ; after the instruction, found "add"
	// k.ptx:5:19: expected ; after the instruction, found "%r3"
}

package ptx

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// large is a module of about a megabyte, as nvcc writes them: the kernel of a
// file of testdata, many times under other names.
func large(b *testing.B) []byte {
	b.Helper()
	src, err := os.ReadFile("testdata/syntax/nvcc.ptx")
	if err != nil {
		b.Fatal(err)
	}
	at, end := bytes.Index(src, []byte(".visible .entry")), bytes.Index(src, []byte("\t// .globl	_ZN3foo"))
	out := bytes.Clone(src[:at])
	for i := range 300 {
		out = append(out, bytes.ReplaceAll(src[at:end], []byte("_Z6kernelPfi"), fmt.Appendf(nil, "kernel%d", i))...)
	}
	return out
}

func BenchmarkParse(b *testing.B) {
	src := large(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("f.ptx", src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	src := large(b)
	m := parsed(b, "f.ptx", src)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Resolve(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSource(b *testing.B) {
	src := large(b)
	m := parsed(b, "f.ptx", src)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		m.Source()
	}
}

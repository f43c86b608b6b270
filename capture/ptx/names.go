package ptx

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Readable is the name that a symbol has in C++ or Rust: kernel(float*, int)
// for _Z6kernelPfi. Other names are what they are.
func Readable(name string) string { return demangle.Filter(name) }

// Short is Readable without template arguments, parameters and namespaces:
// kernel.
func Short(name string) string {
	s := demangle.Filter(name, demangle.NoParams, demangle.NoTemplateParams, demangle.NoEnclosingParams, demangle.NoClones)
	return s[strings.LastIndexByte(s, ':')+1:]
}

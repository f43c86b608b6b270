package sanitizer

import "embed"

// Source is the native library and its patches, in the folder native: to be
// built with the toolkit at hand, beside capture/cupti/native, of which it uses
// a part.
//
//go:embed native/Makefile native/*.cc native/*.cu native/*.h
var Source embed.FS

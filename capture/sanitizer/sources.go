package sanitizer

import "embed"

// Sources is the native part, in folder native. Its Makefile also needs
// channel.cc and channel.h of capture/cupti/native, in the folder that its
// variable CHANNEL names.
//
//go:embed native/Makefile native/*.cc native/*.cu native/*.h
var Sources embed.FS

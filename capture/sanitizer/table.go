package sanitizer

import "encoding/binary"

// The table of a module, as the library reads it. Little endian, without
// padding; a text is a u32 length and that many bytes:
//
//	u32 number of the first site of a place that is not in the table
//	u32 functions, and of each:
//	    text name, as in the cubin
//	    u32 1 if it is a kernel
//	    u32 places, and of each:
//	        u64 offset of the instruction in the function
//	        u32 number of its first site
type tableFunction struct {
	name   string
	kernel bool
	places []tablePlace
}

type tablePlace struct {
	pc   uint64
	site uint32
}

func appendTable(b []byte, generic uint32, fs []tableFunction) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, generic)
	b = le.AppendUint32(b, uint32(len(fs)))
	for _, f := range fs {
		b = le.AppendUint32(b, uint32(len(f.name)))
		b = append(b, f.name...)
		kernel := uint32(0)
		if f.kernel {
			kernel = 1
		}
		b = le.AppendUint32(b, kernel)
		b = le.AppendUint32(b, uint32(len(f.places)))
		for _, p := range f.places {
			b = le.AppendUint64(b, p.pc)
			b = le.AppendUint32(b, p.site)
		}
	}
	return b
}

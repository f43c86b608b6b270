package cubin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// ELF opens the ELF file that a cubin is. ptxas before CUDA 13 writes its own
// version (128 for 12.8) where the header has the version of ELF, which the
// header names in its first bytes, too: that one is taken.
func ELF(image []byte) (*elf.File, error) {
	const versionAt, headerBytes = 20, 64
	if len(image) >= headerBytes && image[elf.EI_DATA] == byte(elf.ELFDATA2LSB) {
		if v := uint32(image[elf.EI_VERSION]); v != binary.LittleEndian.Uint32(image[versionAt:]) {
			mended := bytes.Clone(image)
			binary.LittleEndian.PutUint32(mended[versionAt:], v)
			image = mended
		}
	}
	return elf.NewFile(bytes.NewReader(image))
}

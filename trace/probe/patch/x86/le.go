package x86

import "encoding/binary"

var le = binary.LittleEndian

package stubs

import "encoding/binary"

var le = binary.LittleEndian

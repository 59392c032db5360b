package plan

import "encoding/binary"

var le = binary.LittleEndian

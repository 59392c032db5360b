package patch

import "encoding/binary"

var le = binary.LittleEndian

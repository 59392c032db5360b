package breakpoint

import "runtime"

const hostArch = runtime.GOARCH

package patch

import (
	"strings"

	"tracerag/trace/executable"
)

// delicate returns why functions of a package are never hooked, "" if they may
// be. The recorder needs an ordinary goroutine in R14. The runtime and what it is
// built on run without one as well: at start-up, on a signal stack, on the
// system stack, inside the scheduler. So do timer functions of package time, and
// the code between fork and exec in package syscall.
func delicate(pkg string) string {
	if strings.HasPrefix(pkg, "runtime/") || strings.HasPrefix(pkg, "internal/runtime/") {
		return partOfRuntime
	}
	switch pkg {
	case "runtime",
		"internal/abi", "internal/asan", "internal/bytealg", "internal/byteorder", "internal/chacha8rand",
		"internal/coverage/rtcov", "internal/cpu", "internal/goarch", "internal/godebugs", "internal/goexperiment",
		"internal/goos", "internal/msan", "internal/profilerecord", "internal/race", "internal/strconv",
		"internal/stringslite", "internal/trace/tracev2", "math/bits", "sync/atomic", "unsafe":
		return partOfRuntime
	case "syscall":
		return "package syscall runs between fork and exec, too"
	case "time":
		return "package time runs in the scheduler, too"
	}
	if pkg == "crypto/internal/fips140" || strings.HasPrefix(pkg, "crypto/internal/fips140/") {
		return "cryptography that checks its own code (FIPS 140)"
	}
	return ""
}

const partOfRuntime = "part of the runtime"

// refuse returns why a function of a recorded package cannot be hooked at all,
// "" if nothing speaks against it yet.
func refuse(fn *executable.Func) string {
	if why := delicate(fn.Package); why != "" {
		return why
	}
	// The runtime has functions with names of other packages: "os.runtime_args".
	file := fn.File
	if _, below, ok := strings.Cut(file, "/src/"); ok && !strings.Contains(below, "/src/") {
		file = below
	}
	if strings.HasPrefix(file, "internal/runtime/") || strings.HasPrefix(file, "runtime/") && strings.Count(file, "/") == 1 {
		return partOfRuntime
	}
	return ""
}

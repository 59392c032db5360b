// Package other is a second library that writes over functions, by a system call of
// its own.
package other

import (
	"os"
	"reflect"
	"syscall"
	"unsafe"
)

//go:noinline
func Name() string { return "other" }

// Replace writes a jump to a closure over a function.
func Replace(old, new func() string) (undo func()) {
	at := reflect.ValueOf(old).Pointer()
	jump := []byte{0x48, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x22} // mov rdx, closure; jmp [rdx]
	*(*uintptr)(unsafe.Pointer(&jump[2])) = *(*uintptr)(unsafe.Pointer(&new))
	code := unsafe.Slice((*byte)(unsafe.Pointer(at)), len(jump))
	before := append([]byte(nil), code...)
	write(at, code, jump)
	keep = append(keep, new)
	return func() { write(at, code, before) }
}

var keep []func() string // the garbage collector does not look into code

func write(at uintptr, code, b []byte) {
	page := uintptr(os.Getpagesize())
	first := at &^ (page - 1)
	length := at + uintptr(len(b)) - first
	syscall.Syscall(syscall.SYS_MPROTECT, first, length, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC)
	copy(code, b)
	syscall.Syscall(syscall.SYS_MPROTECT, first, length, syscall.PROT_READ|syscall.PROT_EXEC)
}

package code

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dirReader reads directories, with one buffer for all. Package os asks for each file by its
// whole path, and for each directory whether it can be waited for: that takes twice as long.
type dirReader struct{ buffer []byte }

// read lists a directory. Of Go files, and of what the file system does not tell the kind of, it
// asks for size and time.
func (r *dirReader) read(dir string) (list []dirEntry, err error) {
	fd, err := again(func() (int, error) { return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	if r.buffer == nil {
		r.buffer = make([]byte, 32<<10)
	}
	for {
		n, err := again(func() (int, error) { return unix.Getdents(fd, r.buffer) })
		if err != nil {
			return nil, &fs.PathError{Op: "readdirent", Path: dir, Err: err}
		}
		if n <= 0 {
			break
		}
		list = appendEntries(list, r.buffer[:n])
	}
	kept := list[:0]
	for _, e := range list {
		if e.kind == fs.ModeIrregular || e.isGo() && e.kind == 0 {
			var st unix.Stat_t
			_, err := again(func() (int, error) { return 0, unix.Fstatat(fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) })
			if err == unix.ENOENT {
				continue // deleted since
			}
			e.err = err
			if err == nil {
				e.kind, e.size, e.time = modeType(st.Mode), st.Size, later(time.Unix(st.Mtim.Unix()), time.Unix(st.Ctim.Unix()))
			}
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// Where the parts of a struct linux_dirent64 are.
const (
	direntLength = unsafe.Offsetof(unix.Dirent{}.Reclen)
	direntType   = unsafe.Offsetof(unix.Dirent{}.Type)
	direntName   = unsafe.Offsetof(unix.Dirent{}.Name)
)

func appendEntries(list []dirEntry, records []byte) []dirEntry {
	for len(records) > int(direntName) {
		length := int(binary.NativeEndian.Uint16(records[direntLength:]))
		if length <= int(direntName) || length > len(records) {
			break
		}
		name, _, _ := bytes.Cut(records[direntName:length], []byte{0})
		e := dirEntry{kind: fs.ModeIrregular} // some file systems do not say
		switch records[direntType] {
		case unix.DT_REG:
			e.kind = 0
		case unix.DT_DIR:
			e.kind = fs.ModeDir
		case unix.DT_LNK:
			e.kind = fs.ModeSymlink
		case unix.DT_FIFO, unix.DT_SOCK, unix.DT_CHR, unix.DT_BLK:
			e.kind = fs.ModeDevice // or another thing that is not read
		}
		if s := string(name); s != "." && s != ".." {
			e.name = s
			list = append(list, e)
		}
		records = records[length:]
	}
	return list
}

func modeType(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	}
	return fs.ModeDevice
}

// again calls do until no signal interrupts it.
func again(do func() (int, error)) (int, error) {
	for {
		n, err := do()
		if err != unix.EINTR {
			return n, err
		}
	}
}

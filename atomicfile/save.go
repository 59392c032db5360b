package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Save makes path appear with all of data in it, or leaves it as it was. Of a process that is
// killed meanwhile nothing is left where files need no name while they are written.
func Save(path string, data []byte) error {
	f, err := unnamed(filepath.Dir(path))
	if err != nil {
		return saveNamed(path, data)
	}
	if err := writeAll(f, data); err != nil {
		return errors.Join(err, f.Close())
	}
	err = name(f, path)
	if closeErr := f.Close(); err == nil {
		return closeErr
	}
	return saveNamed(path, data)
}

// saveNamed is Save by way of a file with another name.
func saveNamed(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".saving-*") // mode 0600
	if err != nil {
		return err
	}
	if err = errors.Join(writeAll(f, data), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// writeAll writes data to the disk.
func writeAll(f *os.File, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync() // or a crash may leave the name without the data
}

// Try writes data into a file of dir, and removes it: an error says why [Save] would fail.
func Try(dir string, data []byte) error {
	if f, err := unnamed(dir); err == nil {
		return errors.Join(writeAll(f, data), f.Close())
	}
	f, err := os.CreateTemp(dir, ".saving-*")
	if err != nil {
		return err
	}
	return errors.Join(writeAll(f, data), f.Close(), os.Remove(f.Name()))
}

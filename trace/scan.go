package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxUnpacked bounds what is unpacked of a file. It is a bound of time: what is
// passed over takes no memory.
const maxUnpacked = 16 << 30

// maxEntry bounds a sample or another entry of a table that is no text: the path of
// the deepest node has half a megabyte.
const maxEntry = 16 << 20

// input is a file that can be read from its start more than once.
type input struct {
	r    io.ReadSeeker
	size int64
}

// newInput takes a file as it is. Another reader's content is kept, as far as
// a trace may have memory at all.
func newInput(r io.Reader, l Limit) (*input, error) {
	s, ok := r.(io.ReadSeeker)
	if ok {
		if size, err := s.Seek(0, io.SeekEnd); err == nil {
			return &input{s, size}, nil
		}
	}
	most := l.budget(math.MaxInt64).left
	data, err := io.ReadAll(io.LimitReader(r, most/2+1)) // of which ReadAll may have two copies
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most/2 {
		return nil, &LimitError{Size: int64(len(data)), Allowed: most, Ceiling: true}
	}
	return &input{bytes.NewReader(data), int64(len(data))}, nil
}

// open returns the unpacked content from its start.
func (in *input) open() (*bufio.Reader, error) {
	if _, err := in.r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if in.size == 0 {
		return nil, errors.New("the file is empty")
	}
	packed := bufio.NewReaderSize(in.r, 64<<10)
	if magic, _ := packed.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return packed, nil
	}
	zr, err := gzip.NewReader(packed)
	if err != nil {
		return nil, unpackError(err)
	}
	return bufio.NewReaderSize(&unpacking{zr, 0}, 64<<10), nil
}

// unpacking explains the errors of gzip.
type unpacking struct {
	r    io.Reader
	size int64
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.size += int64(n); u.size > maxUnpacked {
		return 0, fmt.Errorf("it unpacks to more than %s", byteSize(maxUnpacked))
	}
	if err != nil && err != io.EOF {
		err = unpackError(err)
	}
	return n, err
}

func unpackError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the file is truncated: its compressed data end too early")
	}
	return fmt.Errorf("not a readable gzip file: %w", err)
}

// fields reads the fields of a message one by one. A field that the caller does not
// want is passed over, whatever its size.
type fields struct {
	r    *bufio.Reader
	b    *budget
	data []byte // room that is used again
	had  int64  // the room that b has been charged for
}

// field is one field. Those of bytes have a length, and are read by fields.bytes or
// passed over by fields.skip before the next one.
type field struct {
	number protowire.Number
	typ    protowire.Type
	value  uint64 // of a number
	length uint64 // of bytes
}

var errNoProfile = errors.New("not a pprof profile")

// next returns io.EOF after the last field.
func (f *fields) next() (field, error) {
	tag, err := f.varint()
	if err != nil {
		return field{}, err // io.EOF: no byte of another field came
	}
	var d field
	d.number, d.typ = protowire.DecodeTag(tag)
	if d.number < protowire.MinValidNumber {
		return d, fmt.Errorf("%w: no field has the number of one in it", errNoProfile)
	}
	switch d.typ {
	case protowire.VarintType:
		d.value, err = f.varint()
	case protowire.BytesType:
		d.length, err = f.varint()
	case protowire.Fixed32Type:
		_, err = f.r.Discard(4)
	case protowire.Fixed64Type:
		_, err = f.r.Discard(8)
	default:
		return d, fmt.Errorf("%w: no field is of the type %d", errNoProfile, d.typ)
	}
	return d, inField(err)
}

// varint is binary.ReadUvarint, which takes an interface and a call for each byte.
func (f *fields) varint() (uint64, error) {
	ahead, _ := f.r.Peek(10)
	v, n := protowire.ConsumeVarint(ahead)
	if n >= 0 {
		f.r.Discard(n)
		return v, nil
	}
	if len(ahead) == 10 {
		return 0, fmt.Errorf("%w: a number in it is too long", errNoProfile)
	}
	_, err := f.r.Peek(len(ahead) + 1) // says why it ends
	if err == io.EOF && len(ahead) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return 0, inField(err)
}

// inField explains an end amid a field; other errors explain themselves.
func inField(err error) error {
	if err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: it ends too early", errNoProfile)
	}
	return err
}

// bytes returns the content of a field, until the next call.
func (f *fields) bytes(d field) ([]byte, error) {
	// Before it is read, not after: what it becomes has to fit beside it.
	if most := f.b.left / (2 + stringMemory); d.number == profileStrings && int64(d.length) > most {
		return nil, f.b.take(2+stringMemory, int64(d.length))
	}
	if d.number != profileStrings && d.number != profileComment && d.length > maxEntry {
		return nil, fmt.Errorf("%w: an entry of it has %d bytes", errNoProfile, d.length)
	}
	if int64(d.length) < 0 {
		return nil, fmt.Errorf("%w: a field in it is too long", errNoProfile)
	}
	n := int64(d.length)
	if n > f.had {
		if err := f.b.take(2, n-f.had); err != nil {
			return nil, err
		}
		f.had = n
	}
	// What is announced need not come: room grows with what does.
	f.data = f.data[:0]
	for have := int64(0); have < n; have = int64(len(f.data)) {
		chunk := min(n-have, max(64<<10, have))
		if int64(cap(f.data)) < have+chunk {
			f.data = append(make([]byte, 0, have+chunk), f.data...)
		}
		f.data = f.data[:have+chunk]
		if _, err := io.ReadFull(f.r, f.data[have:]); err != nil {
			return nil, early(err)
		}
	}
	return f.data, nil
}

func (f *fields) skip(d field) error {
	for left := d.length; left > 0; {
		n, err := f.r.Discard(int(min(left, 1<<30)))
		if left -= uint64(n); err != nil {
			return early(err)
		}
	}
	return nil
}

// early is the error of a content that ends before its length.
func early(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return inField(err)
}

// each calls f for the fields of a message that is in memory. Those of other types
// than numbers and bytes are passed over.
func each(message []byte, f func(number protowire.Number, typ protowire.Type, v uint64, data []byte) error) error {
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("%w: %w", errNoProfile, protowire.ParseError(n))
		}
		message = message[n:]
		var v uint64
		var data []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, typ, message)
		}
		if n < 0 {
			return fmt.Errorf("%w: %w", errNoProfile, protowire.ParseError(n))
		}
		message = message[n:]
		if typ == protowire.VarintType || typ == protowire.BytesType {
			if err := f(number, typ, v, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers calls f for the numbers of a repeated field, packed or not.
func numbers(typ protowire.Type, v uint64, data []byte, f func(uint64) error) error {
	if typ == protowire.VarintType {
		return f(v)
	}
	for len(data) > 0 {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return fmt.Errorf("%w: %w", errNoProfile, protowire.ParseError(n))
		}
		if err := f(v); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

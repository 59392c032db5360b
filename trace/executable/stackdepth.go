package executable

// StackDepth returns how far below the return address the stack pointer is
// at pc, in bytes: 0 at a function's entry and in a function without a frame,
// and also where the binary does not say.
func (f *File) StackDepth(pc uint64) int64 {
	i := f.Index(pc)
	if i < 0 {
		return 0
	}
	fn := &f.Funcs[i]
	return int64(max(0, f.tab.valueAt(f.tab.record(i).spTab(), fn.End-fn.Entry, pc-fn.Entry)))
}

// spTab is the offset of the table of stack depths.
func (r record) spTab() uint32 { return le.Uint32(r[16:]) }

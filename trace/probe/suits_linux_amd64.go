package probe

import "tracerag/trace/target"

// Supported reports whether the probe works on this system.
func Supported() bool { return true }

// Suits returns nil if [Record] would record the target here, else the error that
// it would return. It does everything that is done before a target runs, and ends it
// before its first instruction.
func Suits(t *target.Target, o Options) error {
	p, err := prepare(t, o)
	if err != nil {
		return err
	}
	r, err := start(t, p, o)
	if err != nil {
		return err
	}
	r.proc.Abandon()
	r.close()
	return nil
}

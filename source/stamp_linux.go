package source

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// settled is how long a file must not have been changed, so that its next change has
// another time for certain.
const settled = 2 * time.Second

// stampOf returns what differs after a file was changed or replaced: nobody can choose the
// time of the last change (ctime). It is not ok if that was just now.
func stampOf(info os.FileInfo) (stamp string, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	changed := time.Unix(0, max(st.Mtim.Nano(), st.Ctim.Nano()))
	return fmt.Sprint(st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()), time.Since(changed) > settled
}

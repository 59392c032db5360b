package session

import (
	"bytes"
	"crypto/sha256"
	"sync"
)

// harmless are texts in which the rules for secrets find nothing, by their SHA-256: those of
// sources, which are the same from command to command. Nothing of a text that has a secret
// is kept. Another build of tracerag, which may have other rules, has a file of its own.
type harmless struct {
	kept kept

	mu      sync.Mutex
	all     map[[sha256.Size]byte]bool // nil: not read yet
	order   [][sha256.Size]byte
	changed bool
}

const (
	harmlessName = "harmless.words"
	// harmlessMagic begins the file. The SHA-256 of the rest follows, and then those of the
	// texts, the latest last.
	harmlessMagic = "tracerag harmless texts 1\n"
	// mostHarmless is how many texts are kept, the latest ones.
	mostHarmless = 16 << 10
	// leastHarmless is the size of a text from which on it is worth looking up.
	leastHarmless = 1 << 10
)

func (h *harmless) has(text string) bool {
	if h == nil || len(text) < leastHarmless {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.order = decodeHarmless(h.kept.Load(harmlessName))
		h.all = make(map[[sha256.Size]byte]bool, len(h.order))
		for _, sum := range h.order {
			h.all[sum] = true
		}
	}
	return h.all[sha256.Sum256([]byte(text))]
}

// add notes a text, after has was asked about it.
func (h *harmless) add(text string) {
	if h == nil || len(text) < leastHarmless {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if sum := sha256.Sum256([]byte(text)); !h.all[sum] {
		h.all[sum], h.changed = true, true
		h.order = append(h.order, sum)
	}
}

// save keeps what was added. Of two commands at the same time one may lose what the other
// has added: then it is looked through again.
func (h *harmless) save() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed {
		h.order = h.order[max(0, len(h.order)-mostHarmless):]
		h.kept.Save(harmlessName, encodeHarmless(h.order))
		h.changed = false
	}
}

func encodeHarmless(order [][sha256.Size]byte) []byte {
	b := append([]byte(harmlessMagic), make([]byte, sha256.Size)...)
	for _, sum := range order {
		b = append(b, sum[:]...)
	}
	sum := sha256.Sum256(b[len(harmlessMagic)+sha256.Size:])
	copy(b[len(harmlessMagic):], sum[:])
	return b
}

// decodeHarmless reads what encodeHarmless wrote; nothing if it is damaged.
func decodeHarmless(b []byte) (order [][sha256.Size]byte) {
	rest, ok := bytes.CutPrefix(b, []byte(harmlessMagic))
	if !ok || len(rest)%sha256.Size != 0 || len(rest) == 0 {
		return nil
	}
	sum := [sha256.Size]byte(rest)
	if rest = rest[sha256.Size:]; sha256.Sum256(rest) != sum {
		return nil
	}
	for ; len(rest) > 0; rest = rest[sha256.Size:] {
		order = append(order, [sha256.Size]byte(rest))
	}
	return order
}

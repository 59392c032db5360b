package redact

import (
	"hash/maphash"
	"sync"
)

// clean are texts in which the rules find nothing. A prompt shows the redactor each source
// before it masks any, and masks a call tree as often as it tries another cut of it; the rules
// take longer than all else that is done to these texts.
type clean struct {
	mu    sync.Mutex
	texts map[uint64]bool // by hash
}

// mostClean bounds the memory of a long-lived process to some 2 MB.
const mostClean = 1 << 16

var cleanSeed = maphash.MakeSeed()

// find is [ruleSet.find] for a text that may come again.
func (c *clean) find(set *ruleSet, text string) []span {
	h := maphash.String(cleanSeed, text)
	c.mu.Lock()
	known := c.texts[h]
	c.mu.Unlock()
	if known {
		return nil
	}
	found := set.find(text)
	if len(found) == 0 {
		c.mu.Lock()
		if c.texts == nil || len(c.texts) >= mostClean {
			c.texts = map[uint64]bool{}
		}
		c.texts[h] = true
		c.mu.Unlock()
	}
	return found
}

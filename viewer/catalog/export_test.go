package catalog

import "time"

// SetPatience says how long an answer may take.
func (s *Server) SetPatience(d time.Duration) { s.patience = d }

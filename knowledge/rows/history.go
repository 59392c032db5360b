package rows

import (
	"time"

	"tracerag/knowledge"
)

// SelectHistory is the query of the last $2 commits of the repository $1.
const SelectHistory = "SELECT id, name, time, subject FROM revision WHERE repository = $1 ORDER BY time DESC, name LIMIT $2"

// ReadHistory reads commits, by [SelectHistory], and then the files of them (revision, path).
func ReadHistory(commits Query, files func(revisions []int64) Query) ([]knowledge.Commit, error) {
	at := map[int64]int{}
	var ids []int64
	list, err := All(commits, func(scan Scan) (c knowledge.Commit, err error) {
		var id, seconds int64
		err = scan(&id, &c.ID, &seconds, &c.Subject)
		c.Time = time.Unix(seconds, 0).UTC()
		at[id], ids = len(ids), append(ids, id)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	return list, files(ids).Each(func(scan Scan) error {
		var id int64
		var path string
		if err := scan(&id, &path); err != nil {
			return err
		}
		c := &list[at[id]]
		c.Files = append(c.Files, path)
		return nil
	})
}

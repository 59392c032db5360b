package rows

import "time"

// Scan copies the columns of a row into variables.
type Scan func(to ...any) error

// Query is a query of a database with its arguments. It is sent when its rows are read. What reads them
// here says which columns it reads, and in which order.
type Query func(do func(scan Scan) error) error

// Each calls do for every row. The first error ends the reading.
func (q Query) Each(do func(scan Scan) error) error { return q(do) }

// All returns what read makes of each row.
func All[T any](q Query, read func(scan Scan) (T, error)) ([]T, error) {
	var list []T
	err := q.Each(func(scan Scan) error {
		x, err := read(scan)
		if err == nil {
			list = append(list, x)
		}
		return err
	})
	return list, err
}

// Values returns the first column of all rows.
func Values[T any](q Query) ([]T, error) {
	return All(q, func(scan Scan) (x T, err error) {
		err = scan(&x)
		return x, err
	})
}

// Value returns the first column of the first row; known is false without a row.
func Value[T any](q Query) (x T, known bool, err error) {
	list, err := Values[T](q)
	if err != nil || len(list) == 0 {
		return x, false, err
	}
	return list[0], true, nil
}

// Nanos is a time as a row has it: 0 for none.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// instant is the time of a row.
func instant(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

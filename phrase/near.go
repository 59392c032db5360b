package phrase

// Distance counts the letters to insert, delete, replace, or swap with their
// neighbour that make b of a.
func Distance(a, b string) int {
	var two, one []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		two, one, row = one, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := one[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(one[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

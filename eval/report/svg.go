package report

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The chart's measures, in pixels.
const (
	chartLeft   = 56
	chartTop    = 44
	chartHeight = 300
	stepWidth   = 92 // between two variants
	chartBottom = 52
	legendWidth = 260
	legendLine  = 22
)

// style is how a line is drawn. Markers and dashes alone tell lines apart: color
// only helps.
type style struct{ color, dash, marker string }

// The averages are drawn as in the paper, black, with a line and with dots. The
// colors are those of M. Okabe and K. Ito for readers who see fewer colors, without
// the yellow, which white paper swallows.
var (
	averageStyles = []style{{"#000000", "", "disc"}, {"#000000", "2 4", "ring"}}
	modelStyles   = []style{
		{"#0072B2", "8 3", "square"},
		{"#D55E00", "12 3 2 3", "triangle"},
		{"#009E73", "5 5", "diamond"},
		{"#CC79A7", "14 4", "cross"},
		{"#56B4E9", "3 3", "plus"},
		{"#E69F00", "10 3 2 3 2 3", "wedge"},
	}
)

// WriteSVG writes the figure as a line chart, on white, without scripts and fonts of
// its own. Equal figures give equal bytes. Bars at the average over all models are its
// confidence intervals.
func (f *Figure) WriteSVG(w io.Writer) error {
	b := bufio.NewWriter(w)
	plot := stepWidth * len(f.Variants)
	width := chartLeft + plot + legendWidth
	height := max(chartTop+chartHeight+chartBottom, chartTop+legendLine*(len(f.Lines)+2))
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escape(f.Title), escape(f.description()))
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(b, `<text x="%d" y="24" font-size="15">%s</text>`+"\n", chartLeft, escape(f.Title))
	f.axes(b, plot)
	for i := len(f.Lines) - 1; i >= 0; i-- { // the averages on top
		f.line(b, i)
	}
	f.legend(b, chartLeft+plot+16)
	b.WriteString("</svg>\n")
	return b.Flush()
}

func (f *Figure) x(i int) float64 { return chartLeft + stepWidth*(float64(i)+0.5) }

func (f *Figure) y(score float64) float64 {
	return chartTop + chartHeight*(1-min(max(score, 0), paperPoints)/paperPoints)
}

func (f *Figure) axes(w io.Writer, plot int) {
	right, bottom := chartLeft+plot, chartTop+chartHeight
	for tick := 0.0; tick <= paperPoints; tick += 0.5 {
		y := f.y(tick)
		fmt.Fprintf(w, `<path d="M%d %sH%d" stroke="#dddddd"/><path d="M%d %[2]sH%[1]d" stroke="#000000"/>`+"\n",
			chartLeft, pixels(y), right, chartLeft-5)
		fmt.Fprintf(w, `<text x="%d" y="%.1f" text-anchor="end">%.1f</text>`+"\n", chartLeft-9, y+4, tick)
	}
	fmt.Fprintf(w, `<path d="M%d %dV%dH%d" fill="none" stroke="#000000"/>`+"\n", chartLeft, chartTop, bottom, right)
	for i, v := range f.Variants {
		fmt.Fprintf(w, `<path d="M%s %dv5" stroke="#000000"/><text x="%[1]s" y="%[3]d" text-anchor="middle">%[4]s</text>`+"\n", pixels(f.x(i)), bottom, bottom+19, escape(short(v, 13)))
	}
	fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="middle">variant of the prompt</text>`+"\n", chartLeft+plot/2, bottom+42)
	fmt.Fprintf(w, `<text transform="translate(15 %d) rotate(-90)" text-anchor="middle">average score</text>`+"\n", chartTop+chartHeight/2)
}

// style of a line. Beyond six models they come again with other dashes.
func (f *Figure) style(i int) style {
	if i < len(averageStyles) {
		return averageStyles[i]
	}
	i -= len(averageStyles)
	s := modelStyles[i%len(modelStyles)]
	if round := i / len(modelStyles); round > 0 {
		s.dash += fmt.Sprintf(" %d %d", 1, 4+4*round)
	}
	return s
}

func (f *Figure) line(w io.Writer, i int) {
	l, s := f.Lines[i], f.style(i)
	fmt.Fprintf(w, `<g stroke="%s" stroke-width="1.8" fill="none"><title>%s</title>`+"\n", s.color, escape(l.Name))
	var path strings.Builder
	move := "M"
	for k, p := range l.Points {
		if p.N == 0 {
			move = "M" // no line leads over a gap
			continue
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", move, f.x(k), f.y(p.Value))
		move = "L"
	}
	if path.Len() > 0 {
		fmt.Fprintf(w, `<path d="%s"%s/>`+"\n", path.String(), dashes(s.dash))
	}
	for k, p := range l.Points {
		if p.N == 0 {
			continue
		}
		if i == 0 && p.Half > 0 { // false for NaN
			fmt.Fprintf(w, `<path d="M%[1]s %[2]sV%[3]sM%[4]s %[2]sh8M%[4]s %[3]sh8" stroke-width="1"/>`+"\n",
				pixels(f.x(k)), pixels(f.y(p.Value+p.Half)), pixels(f.y(p.Value-p.Half)), pixels(f.x(k)-4))
		}
		drawMarker(w, s, f.x(k), f.y(p.Value))
	}
	fmt.Fprint(w, "</g>\n")
}

func dashes(d string) string {
	if d == "" {
		return ""
	}
	return fmt.Sprintf(` stroke-dasharray="%s"`, d)
}

func pixels(v float64) string { return fmt.Sprintf("%.1f", v) }

func drawMarker(w io.Writer, s style, x, y float64) {
	path := map[string]string{
		"square":   "m-4 -4h8v8h-8z",
		"triangle": "m0 -5l5 9h-10z",
		"diamond":  "m0 -5.5l5 5.5l-5 5.5l-5 -5.5z",
		"wedge":    "m0 5l5 -9h-10z",
		"cross":    "m-4 -4l8 8m0 -8l-8 8",
		"plus":     "m-5 0h10m-5 -5v10",
	}[s.marker]
	switch s.marker {
	case "disc":
		fmt.Fprintf(w, `<circle cx="%.1f" cy="%.1f" r="4.5" fill="%s"/>`+"\n", x, y, s.color)
	case "ring":
		fmt.Fprintf(w, `<circle cx="%.1f" cy="%.1f" r="4.5" fill="#ffffff"/>`+"\n", x, y)
	case "cross", "plus":
		fmt.Fprintf(w, `<path d="M%.1f %.1f%s"/>`+"\n", x, y, path)
	default:
		fmt.Fprintf(w, `<path d="M%.1f %.1f%s" fill="%s"/>`+"\n", x, y, path, s.color)
	}
}

func (f *Figure) legend(w io.Writer, x int) {
	for i, l := range f.Lines {
		s, y := f.style(i), float64(chartTop+8+legendLine*i)
		fmt.Fprintf(w, `<g stroke="%s" stroke-width="1.8" fill="none"><path d="M%d %.1fh44"%s/>`+"\n", s.color, x, y, dashes(s.dash))
		drawMarker(w, s, float64(x+22), y)
		fmt.Fprintf(w, `</g><text x="%d" y="%.1f">%s</text>`+"\n", x+52, y+4, escape(short(l.Name, 34)))
	}
	if len(f.Lines) > 0 && slices.ContainsFunc(f.Lines[0].Points, func(p Point) bool { return p.Half > 0 }) {
		fmt.Fprintf(w, `<text x="%d" y="%d" font-size="11">bars: 95 %% intervals of %s</text>`+"\n", x, chartTop+12+legendLine*len(f.Lines), escape(f.Lines[0].Name))
	}
}

// description says the figure in words, for those who do not see it.
func (f *Figure) description() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Line chart of average scores from 0 to %d, over %d inquiries, by %s.", paperPoints, f.inquiries, graderName(f.grader))
	for _, l := range f.Lines {
		fmt.Fprintf(&b, " %s:", l.Name)
		for i, p := range l.Points {
			sep := ""
			if i > 0 {
				sep = ","
			}
			if p.N == 0 {
				fmt.Fprintf(&b, "%s %s none", sep, f.Variants[i])
				continue
			}
			fmt.Fprintf(&b, "%s %s %.2f", sep, f.Variants[i], p.Value)
			if !math.IsNaN(p.Half) {
				fmt.Fprintf(&b, " ± %.2f", p.Half)
			}
		}
		b.WriteByte('.')
	}
	return b.String()
}

// short cuts a name to n characters.
func short(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}

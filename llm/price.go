package llm

import (
	"strings"
)

// PricesAsOf is the date of the built-in price table: that of its newer source,
// not of a look at the vendors' pages.
const PricesAsOf = "2026-08-21"

// Price is what a model costs, in US dollars per million tokens, for ordinary
// (not batch, not priority) requests.
type Price struct {
	Input  float64 `json:"input"`
	Cached float64 `json:"cached"` // input read from the server's prompt cache; 0: as Input
	Output float64 `json:"output"` // thinking included

	// Prompts of more than LongFrom tokens are charged, as a whole and with
	// their output, at the long prices. 0: none.
	LongFrom   int     `json:"long_from,omitempty"`
	LongInput  float64 `json:"long_input,omitempty"`
	LongCached float64 `json:"long_cached,omitempty"`
	LongOutput float64 `json:"long_output,omitempty"`
}

// Prices are by the model's name, lower case. They come before the built-in
// table: for a vendor's discount, a model that the table does not know, a model
// whose price has changed.
type Prices map[string]Price

// EstimateCost gives the cost in US dollars of one answer by the built-in table,
// which is of [PricesAsOf]: an estimate, before taxes, and without what a vendor
// charges for writing its cache. ok is false for a model that the table does not
// know; a local one is among them.
func EstimateCost(model string, u Usage) (usd float64, ok bool) {
	return Prices(nil).EstimateCost(model, u)
}

// EstimateCost is like the function of that name with p looked up first.
func (p Prices) EstimateCost(model string, u Usage) (usd float64, ok bool) {
	price, ok := p.find(model)
	if !ok {
		return 0, false
	}
	in, cached, out := price.Input, price.Cached, price.Output
	if price.LongFrom > 0 && u.PromptTokens > price.LongFrom {
		in, cached, out = price.LongInput, price.LongCached, price.LongOutput
	}
	if cached == 0 {
		cached = in
	}
	hit := min(max(0, u.CachedTokens), u.PromptTokens)
	// Where thinking is counted in the total alone (Gemini), it is charged anyway.
	written := max(u.CompletionTokens, u.TotalTokens-u.PromptTokens)
	const million = 1e6
	return (float64(u.PromptTokens-hit)*in + float64(hit)*cached + float64(written)*out) / million, true
}

// dated matches what vendors append to the name of one release of a model.
var dated = lazily(`-(?:20[0-9]{2}-?[0-9]{2}-?[0-9]{2}|latest)$`)

// find takes the name as it is, without a router's or vendor's prefix
// ("openai/", "models/"), and without a release's date. It never takes a mere
// prefix of the name: gpt-5-pro costs twelve times what gpt-5 does.
func (p Prices) find(model string) (Price, bool) {
	full := strings.ToLower(model)
	short := full[strings.LastIndexByte(full, '/')+1:]
	for _, name := range []string{full, short, dated().ReplaceAllString(short, "")} {
		if price, ok := p[name]; ok {
			return price, true
		}
		if price, ok := listPrices[name]; ok {
			return price, true
		}
	}
	return Price{}, false
}

// listPrices are list prices in US dollars per million tokens, taken from two
// public projects that collect them: simonw/llm-prices as of 2026-08-05 and
// charmbracelet/catwalk as of 2026-08-21. They were not compared with the
// vendors' own pages, and may have changed since. Some models are in one of
// the two only. Where both have a model they agree on input and output, but for
// claude-sonnet-5: the second has the price that the first dates to before
// 2026-09-01. The price of cached input is often the second's word alone
// (Anthropic's models, Gemini's previews); for gemini-3.5-flash, on which they
// differ, it is the first's. Change PricesAsOf with the table.
var listPrices = map[string]Price{
	"gpt-5.6-sol":   longer(5, 0.5, 30, 272_000, 10, 1, 45),
	"gpt-5.5":       longer(5, 0.5, 30, 272_000, 10, 1, 45),
	"gpt-5.5-pro":   longer(30, 0, 180, 272_000, 60, 0, 270),
	"gpt-5.4":       longer(2.5, 0.25, 15, 272_000, 5, 0.5, 22.5),
	"gpt-5.4-pro":   longer(30, 0, 180, 272_000, 60, 0, 270),
	"gpt-5.4-mini":  {Input: 0.75, Cached: 0.075, Output: 4.5},
	"gpt-5.4-nano":  {Input: 0.2, Cached: 0.02, Output: 1.25},
	"gpt-5.3-codex": {Input: 1.75, Cached: 0.175, Output: 14},
	"gpt-5.2":       {Input: 1.75, Cached: 0.175, Output: 14},
	"gpt-5.2-codex": {Input: 1.75, Cached: 0.175, Output: 14},
	"gpt-5.2-pro":   {Input: 21, Output: 168},
	"gpt-5.1":       {Input: 1.25, Cached: 0.125, Output: 10},
	"gpt-5.1-codex": {Input: 1.25, Cached: 0.125, Output: 10},
	"gpt-5":         {Input: 1.25, Cached: 0.125, Output: 10},
	"gpt-5-codex":   {Input: 1.25, Cached: 0.125, Output: 10},
	"gpt-5-mini":    {Input: 0.25, Cached: 0.025, Output: 2},
	"gpt-5-nano":    {Input: 0.05, Cached: 0.005, Output: 0.4},
	"gpt-5-pro":     {Input: 15, Output: 120},
	"gpt-4.1":       {Input: 2, Cached: 0.5, Output: 8},
	"gpt-4.1-mini":  {Input: 0.4, Cached: 0.1, Output: 1.6},
	"gpt-4.1-nano":  {Input: 0.1, Cached: 0.025, Output: 0.4},
	"gpt-4o":        {Input: 2.5, Cached: 1.25, Output: 10},
	"gpt-4o-mini":   {Input: 0.15, Cached: 0.075, Output: 0.6},
	"o4-mini":       {Input: 1.1, Cached: 0.275, Output: 4.4},
	"o3-mini":       {Input: 1.1, Cached: 0.55, Output: 4.4},

	// Neither project has models of embeddings. These are what several others have, the last one of 2026-03-09.
	"text-embedding-3-small": {Input: 0.02},
	"text-embedding-3-large": {Input: 0.13},
	"text-embedding-ada-002": {Input: 0.1},

	"claude-fable-5":    {Input: 10, Cached: 1, Output: 50},
	"claude-mythos-5":   {Input: 10, Cached: 1, Output: 50},
	"claude-opus-5":     {Input: 5, Cached: 0.5, Output: 25},
	"claude-opus-4-8":   {Input: 5, Cached: 0.5, Output: 25},
	"claude-opus-4-7":   {Input: 5, Cached: 0.5, Output: 25},
	"claude-opus-4-6":   {Input: 5, Cached: 0.5, Output: 25},
	"claude-opus-4-5":   {Input: 5, Cached: 0.5, Output: 25},
	"claude-opus-4-1":   {Input: 15, Cached: 1.5, Output: 75},
	"claude-opus-4":     {Input: 15, Cached: 1.5, Output: 75},
	"claude-sonnet-5":   {Input: 3, Cached: 0.3, Output: 15}, // announced for 2026-09-01, 2 and 10 before
	"claude-sonnet-4-6": {Input: 3, Cached: 0.3, Output: 15},
	"claude-sonnet-4-5": longer(3, 0.3, 15, 200_000, 6, 0.6, 22.5),
	"claude-haiku-4-5":  {Input: 1, Cached: 0.1, Output: 5},

	"gemini-3.6-flash":       {Input: 1.5, Cached: 0.15, Output: 7.5},
	"gemini-3.5-flash":       {Input: 1.5, Cached: 0.15, Output: 9},
	"gemini-3.5-flash-lite":  {Input: 0.3, Cached: 0.03, Output: 2.5},
	"gemini-3-pro-preview":   longer(2, 0.2, 12, 200_000, 4, 0.4, 18),
	"gemini-3-flash-preview": {Input: 0.5, Cached: 0.05, Output: 3},
	"gemini-2.5-pro":         longer(1.25, 0.125, 10, 200_000, 2.5, 0.25, 15),
	"gemini-2.5-flash":       {Input: 0.3, Cached: 0.03, Output: 2.5},
	"gemini-2.5-flash-lite":  {Input: 0.1, Cached: 0.01, Output: 0.4},
}

func longer(in, cached, out float64, from int, longIn, longCached, longOut float64) Price {
	return Price{in, cached, out, from, longIn, longCached, longOut}
}

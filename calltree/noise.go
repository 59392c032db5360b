package calltree

import (
	"strings"
	"unicode"

	"tracerag/trace/symbol"
)

// What most differences of two runs are about, and nobody asks about: that other flags
// are parsed and other files are looked at. Such functions are known by their package,
// and start-up by what the functions of all programs call it.
const (
	noisyPackage = 0.1
	startsUp     = 0.3
)

var noisyPackages = wordSet(`
	cobra pflag flag flags viper simplecobra kong kingpin cli fang ff getopt docopt koanf envconfig mflag
	afero fsnotify fs os filepath vfs billy hugofs doublestar godirwalk fastwalk osfs memfs basefs filecache
	log slog logrus zap zapcore zerolog logg loggers hclog glog klog
	isatty termenv colorprofile automaxprocs maxprocs`)

var startWords = wordSet(`init initialize initialise setup config configs configure configuration configurer settings flag flags
	register defaults default bootstrap banner`)

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// interest is how likely it is, from 0 to 1, that a difference of the function is what
// somebody looks for.
func interest(linker string) float64 {
	pkg := symbol.Base(symbol.Package(linker))
	for part := range strings.SplitSeq(strings.ReplaceAll(pkg, "_", "-"), "-") {
		if noisyPackages[part] {
			return noisyPackage
		}
	}
	for _, w := range append(nameWords(pkg), nameWords(symbol.Local(linker))...) {
		if startWords[w] {
			return startsUp
		}
	}
	return 1
}

// nameWords are the words of a name, in lower case: "newConfigLoader" is new config loader.
func nameWords(name string) []string {
	var words []string
	from := 0
	add := func(to int) {
		if to > from {
			words = append(words, strings.ToLower(name[from:to]))
		}
	}
	lower := false
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r):
			add(i)
			from = i + len(string(r))
		case unicode.IsUpper(r) && lower:
			add(i)
			from = i
		}
		lower = unicode.IsLower(r)
	}
	add(len(name))
	return words
}

package calltree

import (
	"strings"
	"unicode"

	"tracerag/code/words"
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
	isatty termenv colorable colorful colorprofile terminfo cancelreader automaxprocs maxprocs
	mango roff argparse arg flaggy cast unix`)

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
	pkg := symbol.Package(linker)
	if Noisy(pkg) {
		return noisyPackage
	}
	for part := range strings.FieldsFuncSeq(symbol.Base(pkg)+"."+symbol.Local(linker), func(c rune) bool { return !unicode.IsLetter(c) }) {
		for _, w := range words.Split(part) {
			if startWords[w] {
				return startsUp
			}
		}
	}
	return 1
}

// Noisy reports whether a package, by its import path, is one of those that parse flags,
// log, paint terminals or look at files: nearly every program runs them, and few questions
// are about them.
func Noisy(pkg string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(symbol.Base(pkg), "_", "-"), "-") {
		if noisyPackages[part] {
			return true
		}
	}
	return false
}

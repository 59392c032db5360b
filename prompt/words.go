package prompt

import "strings"

// stdPackages are the names of the standard library's packages, as of Go 1.26;
// a test asks the go command for them.
var stdPackages = set(`
adler32 aes ascii85 asn1 ast atomic base32 base64 big binary bits bufio build buildinfo bytes bzip2
cgi cgo cipher cmp cmplx color comment constant constraint context cookiejar coverage crc32 crc64
crypto cryptotest csv debug des doc draw driver dsa dwarf ecdh ecdsa ed25519 elf elliptic embed
encoding errors exec expvar fcgi filepath fips140 flag flate fmt fnv format fs fstest gif gob gosym
gzip hash heap hex hkdf hmac hpke html http httptest httptrace httputil image importer io iotest
ioutil iter jpeg json jsonrpc list log lzw macho mail maphash maps math md5 metrics mime mlkem
mlkemtest multipart net netip os palette parse parser path pbkdf2 pe pem pkix plan9obj plugin png
pprof printer quick quotedprintable race rand rc4 reflect regexp ring rpc rsa runtime scanner sha1
sha256 sha3 sha512 signal slices slog slogtest smtp sort sql strconv strings structs subtle
suffixarray sync synctest syntax syscall syslog tabwriter tar template testing textproto time tls
token trace types tzdata unicode unique unsafe url user utf16 utf8 version weak x509 xml zip zlib
`)

// IsStd reports whether the standard library has a package whose import path ends
// with that element.
func IsStd(element string) bool { return stdPackages[element] }

// predeclared are Go's own functions and the types that conversions name.
var predeclared = set(`
any append bool byte cap clear close comparable complex complex128 complex64 copy delete error
false float32 float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print
println real recover rune string true uint uint16 uint32 uint64 uint8 uintptr
`)

// fileEndings tell "data.csv" from a qualified name.
var fileEndings = set(`
c cc cfg com conf cpp csv db exe go gz h html ini io js json log md mod net org out pb pdf png py s
sh so sql sum svg tmpl toml ts txt work xml yaml yml zip
`)

// stopWords are words of questions that say nothing of what is asked about.
var stopWords = set(`
about and are but can does did for from had has have how into its not out that the their then there
this was what when where which who why will with would you
`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

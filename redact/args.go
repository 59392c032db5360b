package redact

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Args masks a command line: what a flag or a variable is set to whose name says
// that it is secret (--password=x, --api-key x, TOKEN=x), what follows the flags that
// programs have for passwords (-p x, -u user:x), and what [Redactor.Text] finds in the
// rest.
//
// -p is a port to one program and a directory to another. What follows it is masked if
// the program is known to take a password there, and never if it is known to take
// something else. With any other program, such as the one that is traced, the look
// decides: beside a flag for a user letters with a digit or a mark are a password;
// without one, they need to be of three kinds.
func (r *Redactor) Args(argv []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.args(argv)
}

func (r *Redactor) args(argv []string) []string {
	out := make([]string, len(argv))
	secrets := flagged(argv)
	for i, arg := range argv {
		if s, ok := secrets[i]; ok {
			out[i] = arg[:s.from] + r.whole(s.word, arg[s.from:])
			continue
		}
		out[i] = r.text(r.shell(r.assignments(arg)))
	}
	return out
}

// argument is the end of an argument that is secret.
type argument struct {
	from int
	word string // kind
}

// flagged returns the arguments that are secret because of a flag, by index.
func flagged(argv []string) map[int]argument {
	out := map[int]argument{}
	c := commandOf(argv)
	for i, arg := range argv {
		if _, ok := out[i]; ok {
			continue // the flag before it says so
		}
		next := ""
		if i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
			next = argv[i+1]
		}
		flag := strings.HasPrefix(arg, "-")
		name, value, set := strings.Cut(arg, "=")
		if (flag || set) && !strings.ContainsFunc(name, unicode.IsSpace) {
			if word := assignedWord(name, value); set && word != "" {
				out[i] = argument{len(name) + 1, word}
				continue
			} else if word := assignedWord(name, next); next != "" && word != "" {
				out[i+1] = argument{0, word}
				continue
			}
		}
		if !flag || i == 0 {
			continue
		}
		switch {
		case set:
			if from := c.userAndPassword(name, value); from > 0 {
				out[i] = argument{len(name) + 1 + from, "password"}
			}
		case next != "" && c.takesPassword(arg, next):
			out[i+1] = argument{0, "password"}
		case strings.HasSuffix(arg, "-cookie") && strings.Contains(next, "="):
			out[i+1] = argument{strings.IndexByte(next, '=') + 1, "cookie"}
		case next != "":
			if from := c.userAndPassword(arg, next); from > 0 {
				out[i+1] = argument{from, "password"}
			}
		}
		if _, ok := out[i]; !ok && !set && c.attached(arg) {
			out[i] = argument{2, "password"}
		}
	}
	return out
}

// assignedWord returns the word of a flag or variable that says that its value is
// secret, if the value may be.
func assignedWord(name, value string) string {
	w := wordsOf(name)
	if word := secretWord(w); word != "" {
		return word
	}
	if len(w) == 0 {
		return ""
	}
	if w[len(w)-1] == "pass" && strings.HasPrefix(name, "-") {
		return "password"
	}
	if word := passwordWord(w); word != "" && passwordLike(value) {
		return word
	}
	if word := keyWord(w); word != "" && randomLike(value) {
		return word
	}
	return ""
}

// commandLine is what is known of a command.
type commandLine struct {
	program string
	args    []string
	user    bool // a flag says who logs in
}

func commandOf(argv []string) commandLine {
	c := commandLine{args: argv}
	for i, arg := range argv {
		if i == 0 || c.program == "" {
			base := strings.TrimSuffix(path.Base(strings.ReplaceAll(arg, `\`, "/")), ".exe")
			if !slices.Contains([]string{"sudo", "env", "nice", "exec", "time"}, base) && !strings.Contains(arg, "=") && !strings.HasPrefix(arg, "-") {
				c.program = base
			}
			continue
		}
		name, _, _ := strings.Cut(arg, "=")
		switch name {
		case "-u", "-U", "-l", "-user", "--user", "-username", "--username", "-login", "--login", "--email":
			c.user = true
		}
	}
	return c
}

// passwordFlags are flags that are followed by a password, by program.
var passwordFlags = map[string][]string{
	"sshpass": {"-p"}, "mongo": {"-p"}, "mongosh": {"-p"}, "mongodump": {"-p"}, "mongorestore": {"-p"}, "influx": {"-p"}, "cqlsh": {"-p"}, "mosquitto_pub": {"-P"}, "mosquitto_sub": {"-P"},
	"redis-cli": {"-a"}, "valkey-cli": {"-a"}, "ldapsearch": {"-w"}, "ldapadd": {"-w"}, "ldapmodify": {"-w"}, "ldapdelete": {"-w"}, "ldapwhoami": {"-w"}, "sqlcmd": {"-P"}, "bcp": {"-P"},
	"zip": {"-P"}, "unzip": {"-P"}, "ipmitool": {"-P"},
	"docker login": {"-p"}, "podman login": {"-p"}, "nerdctl login": {"-p"}, "buildah login": {"-p"}, "skopeo login": {"-p"}, "oras login": {"-p"}, "crane login": {"-p"}, "oc login": {"-p"}, "az login": {"-p"},
}

// noPasswordFlags are programs to which -p and -P are something else.
var noPasswordFlags = []string{"mkdir", "ssh", "scp", "sftp", "ssh-keygen", "rsync", "docker", "podman", "nerdctl", "docker-compose", "go", "git", "cp", "mv", "tar", "ps", "kill", "make", "nc", "ncat", "netcat", "nmap", "psql", "pg_dump",
	"createdb", "read", "perl", "python", "python3", "ruby", "node", "npm", "npx", "cargo", "curl", "wget", "mysql", "mysqldump", "mysqladmin", "mariadb", "lsof", "ss", "netstat", "top", "strace", "perf", "patch", "unzip", "bash", "sh", "zsh", "protoc", "terraform", "kubectl", "helm", "java"}

// attachedFlags are programs that take a password right after -p.
var attachedFlags = []string{"mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mysqlsh", "mariadb", "mariadb-dump", "mariadb-admin", "sshpass", "7z", "7za", "7zz"}

// takesPassword reports whether a flag is followed by a password.
func (c commandLine) takesPassword(flag, next string) bool {
	if slices.Contains(passwordFlags[c.program], flag) || len(c.args) > 1 && slices.Contains(passwordFlags[c.program+" "+c.args[1]], flag) {
		return true
	}
	if flag != "-p" && flag != "-P" || slices.Contains(noPasswordFlags, c.program) {
		return false
	}
	// A port, ports, a directory, a setting.
	if strings.ContainsAny(next, `/\=,`) || strings.Trim(next, "0123456789.:-") == "" || !passwordLike(next) {
		return false
	}
	return c.user || classes(next) >= 3
}

// attached reports whether an argument is -p with a password right after it.
func (c commandLine) attached(arg string) bool {
	if len(arg) < 4 || !strings.HasPrefix(arg, "-p") {
		return false
	}
	if slices.Contains(attachedFlags, c.program) {
		return true
	}
	rest := arg[2:]
	return c.user && !slices.Contains(noPasswordFlags, c.program) && !strings.ContainsAny(rest, `/\=,`) && passwordLike(rest) && classes(rest) >= 3
}

// userAndPassword returns where the password begins in the value of a flag such as -u
// user:password; 0: none.
func (c commandLine) userAndPassword(flag, value string) int {
	user, password, ok := strings.Cut(value, ":")
	if !ok || user == "" || len(password) < 3 || strings.ContainsAny(user, `/\ ={"`) || strings.Trim(password, "0123456789") == "" || strings.HasPrefix(password, "//") {
		return 0
	}
	sure := false
	switch flag {
	case "--proxy-user", "--basic-auth", "-basic-auth", "--auth", "-auth", "--creds", "--cred":
		sure = true
	case "-u", "--user", "-user", "-U", "-a":
		sure = slices.Contains([]string{"curl", "http", "https", "xh", "xhs", "wget"}, c.program)
	default:
		return 0
	}
	if sure || passwordLike(password) {
		return len(user) + 1
	}
	return 0
}

// shellWord is a word of a shell's command, in quotes or not.
var shellWord = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s"';|&]+|[;|&]+`)

// shell masks what flags say in an argument that is a command itself: sh -c "...".
func (r *Redactor) shell(text string) string {
	if !strings.Contains(text, " -") {
		return text
	}
	var args []string
	var places [][]int
	var out strings.Builder
	done := 0
	flush := func() {
		secrets := flagged(args)
		for i, at := range places {
			s, ok := secrets[i]
			if !ok || strings.Contains(args[i], "[REDACTED:") {
				continue
			}
			out.WriteString(text[done : at[0]+s.from])
			out.WriteString(r.whole(s.word, text[at[0]+s.from:at[1]]))
			done = at[1]
		}
		args, places = nil, nil
	}
	for _, at := range shellWord.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		switch word[0] {
		case ';', '|', '&':
			flush()
			continue
		case '"', '\'':
			at = []int{at[0] + 1, at[1] - 1}
		}
		args, places = append(args, text[at[0]:at[1]]), append(places, at)
	}
	flush()
	return out.String() + text[done:]
}

#compdef tracerag
# Completion of tracerag for zsh. In ~/.zshrc, after compinit:
#
#	eval "$(tracerag completion zsh)"
#
# or as the file _tracerag in a directory of $fpath. What a word may become is asked
# of tracerag itself.

_tracerag() {
	local answer kind=:none tab=$'\t'
	local -a found shown
	while IFS= read -r answer; do
		case $answer in
		:files | :dirs | :none) kind=$answer ;;
		*)
			found+=("${answer%%$tab*}")
			shown+=("${answer/$tab/  }")
			;;
		esac
	done < <("${words[1]}" __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)
	(( ${#found} )) && compadd -l -V tracerag -d shown -a found
	case $kind in
	:files) _files ;;
	:dirs) _files -/ ;;
	esac
}

if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
	_tracerag "$@"
else
	compdef _tracerag tracerag
fi

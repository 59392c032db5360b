# Completion of tracerag for bash. In ~/.bashrc:
#
#	eval "$(tracerag completion bash)"
#
# What a word may become is asked of tracerag itself. This also runs in bash 3.2.

_tracerag() {
	local line=${COMP_LINE:0:COMP_POINT} current=${COMP_WORDS[COMP_CWORD]}
	local word=${line##*[[:space:]]} answer kind=:none
	local tab=$'\t'
	# Bash takes words apart at = and :, and completes what stands behind them; a
	# word that is one of these alone stands before an empty one.
	case $current in = | :) current= ;; esac
	local before=${word%"$current"}
	before=${before%@} # at which it takes words apart, too, but replaces it
	COMPREPLY=()
	while IFS= read -r answer; do
		case $answer in
		:files | :dirs | :none) kind=$answer ;;
		*)
			answer=${answer%%"$tab"*}
			COMPREPLY[${#COMPREPLY[@]}]=${answer#"$before"}
			;;
		esac
	done < <("${COMP_WORDS[0]}" __complete --line "$line" 2>/dev/null)
	case $kind in
	:files) while IFS= read -r answer; do COMPREPLY[${#COMPREPLY[@]}]=$answer; done < <(compgen -f -- "$current") ;;
	:dirs) while IFS= read -r answer; do COMPREPLY[${#COMPREPLY[@]}]=$answer; done < <(compgen -d -- "$current") ;;
	esac
	# Bash 4 and later add no blank behind a directory.
	if [[ $kind != :none ]] && type compopt >/dev/null 2>&1; then
		compopt -o filenames 2>/dev/null
	fi
}

complete -F _tracerag tracerag

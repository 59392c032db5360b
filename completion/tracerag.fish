# Completion of tracerag for fish. In ~/.config/fish/config.fish:
#
#	tracerag completion fish | source
#
# or as the file tracerag.fish in ~/.config/fish/completions. What a word may become is
# asked of tracerag itself.

function __tracerag_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for answer in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        switch $answer
            case :none
            case :files
                __fish_complete_path "$current"
            case :dirs
                __fish_complete_directories "$current"
            case '*'
                printf '%s\n' $answer
        end
    end
end

complete -c tracerag -f -k -a '(__tracerag_complete)'

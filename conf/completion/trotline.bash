# bash completion for trotline(1): the program itself knows what may come next.
_trotline() {
    mapfile -t COMPREPLY < <("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _trotline trotline

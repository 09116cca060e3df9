# Completion of ralph for bash: asks the program at each TAB, and never evaluates what it answers.
_ralph() {
    local value rest
    COMPREPLY=()
    while IFS=$'\t' read -r value rest; do
        if [[ $value == ":files" ]]; then
            compopt -o default 2>/dev/null
            COMPREPLY=()
            return
        fi
        [[ -n $value ]] && COMPREPLY+=("$value")
    done < <(command ralph --complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _ralph ralph

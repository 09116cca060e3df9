#compdef ralph
# Completion of ralph for zsh: asks the program at each TAB, and never evaluates what it answers.
_ralph() {
    local line
    local -a values shown
    for line in "${(@f)$(command ralph --complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == ":files" ]]; then
            _files
            return
        fi
        [[ -n $line ]] || continue
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    (( $#values )) || return 1
    compadd -l -d shown -a -- values
}
if [[ ${zsh_eval_context[-1]-} == loadautofunc ]]; then
    _ralph "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
    compdef _ralph ralph
fi

# Completion of ralph for fish: asks the program at each TAB, and never evaluates what it answers.
function __ralph_complete
    set -l typed (commandline -opc) (commandline -ct)
    set -l found (command ralph --complete fish $typed[2..-1] 2>/dev/null)
    if test "$found[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $found
    end
end
complete -c ralph -f -a '(__ralph_complete)'

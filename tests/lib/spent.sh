# read_spent FILE: sets $spent to the processor time, in whole seconds, of the ended children
# of this shell. FILE is for the output of `times`.
read_spent() {
    times >"$1"
    # shellcheck disable=SC2034 # for the caller
    spent=$(awk -F '[ms ]+' 'NR == 2 { print int($1 * 60 + $2 + $3 * 60 + $4) }' "$1")
}

# What the processors have spent on the children of this shell that have ended,
# in whole seconds, is left in $spent. The file is a place for what `times` says.
#
#   read_spent FILE
read_spent() {
    times >"$1"
    # shellcheck disable=SC2034 # for the caller
    spent=$(awk -F '[ms ]+' 'NR == 2 { print int($1 * 60 + $2 + $3 * 60 + $4) }' "$1")
}

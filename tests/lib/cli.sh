# Functions for stories of the command line, beside those of http.sh.
#
#   kindex ARGUMENT...      runs it; sets $out (standard output) and $complaint (errors)
#   given                   keeps its standard input as that of the next commands, until
#                           input=/dev/null
#   ends STATUS             prints TEXT             complains PATTERN: check the last command
#   terminal COMMAND        prints what the command shows on a terminal
unset KINDEX_TOKEN KINDEX_OUTPUT NO_COLOR
input=/dev/null

kindex() {
    exchange="kindex $*"
    timeout "$longest" "$KINDEX" "$@" >"$work/out" 2>"$work/complaint" <"$input"
    code=$?
    # The shell leaves out zero bytes, and says so.
    { out=$(<"$work/out") complaint=$(<"$work/complaint"); } 2>"$work/null"
}
given() {
    cat >"$work/given"
    input=$work/given
}
ends() {
    is 'the exit status' "$code $([ "$code" = "$1" ] || echo "$complaint")" "$1 "
}
prints() {
    is 'the output' "$out" "$1"
}
complains() {
    # The pattern stays unquoted: it is one.
    if [[ $complaint == *$1* ]]; then set -- "$complaint"; fi
    is 'the complaint' "$complaint" "$1"
}
terminal() {
    script -qec "$1" "$work/null" </dev/null
}

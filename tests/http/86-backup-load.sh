#!/bin/bash
# Twenty backups of a server under load: in each, after its restore, every commit
# that was answered before it began, whole, and every index right.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
here=$(dirname "$0")

# load COUNT [OPTION]: the last line of the program, all of it in $work/load
load() {
    mkdir -p "$work/load.d"
    exchange="backup_load.js $*"
    timeout "$longest" node "$here/backup_load.js" "$KINDEX" "$url" "$work/load.d" "$@" \
        >"$work/load" 2>&1
    tail -1 "$work/load"
}

declare_indexes() {
    export KINDEX_URL=$url
    kindex index add by_mail pairs mail --unique
    kindex index add by_n pairs n --store value
}

test_case 'twenty backups while eight clients write and checkpoints run'
start_server --checkpoint-interval 1s --checkpoint-log 1MiB
declare_indexes
backups=$(some_of 20)
is 'what the ledger says' "$(load "$backups")" "$backups backups, 0 wrong"
[ -z "$broken" ] || grep level=error "$log"

test_case 'the writers were not held up by backups'
commits=$(sed -n 's/ commits$//p' "$work/load")
is 'commits' "$([ "$commits" -gt $((500 + 25 * backups)) ] && echo many || echo "$commits")" many
stop_server
rm -rf "$work/data"

test_case 'a backup that forgets the end of the log is found by the ledger'
start_server --checkpoint-interval 1h --checkpoint-log 1GiB
declare_indexes
is 'what the ledger says' "$(load 3 --forget-tail)" '3 backups, 3 wrong'

finish

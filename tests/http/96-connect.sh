#!/bin/bash
# kindex import --from ADDRESS: a store at a KV Connect address is moved, while
# its program writes to it; --finish moves what has changed since. The source is a
# second server; between.js spoils requests of either side.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url
here=$url state=$work/state
others=()

# begin NAME COMMAND...: starts a program that prints its URL first; sets $found
begin() {
    local name=$1
    shift
    rm -f "$work/$name"
    "$@" >"$work/$name" 2>>"$log" &
    others+=($!)
    wait_until grep -qs 'http://[0-9.:]*' "$work/$name"
    found=$(grep -om1 'http://[0-9.:]*' "$work/$name")
}
end_others() {
    [ "$BASHPID" = "$$" ] || return # not in a subshell
    kill "${others[@]}" 2>"$work/null"
    wait "${others[@]}" 2>"$work/null"
    leave
}
trap end_others EXIT
TMPDIR=$work begin source "$KINDEX" serve --ephemeral --cache 16MiB
there=$found

# at_source ARGUMENT...: the command at the source
at_source() {
    local before=$KINDEX_URL
    KINDEX_URL=$there
    kindex "$@"
    KINDEX_URL=$before
}
# between NAME URL RULE...: a proxy; sets $found to its address
between() {
    local name=$1
    shift
    begin "$name" node "$(dirname "$0")/between.js" "$@"
}
# The entries of the server, without what an import does not keep.
entries_at() {
    "$KINDEX" export --url "$1" 2>"$work/null" | jq -c 'del(.versionstamp)'
}
same_entries() {
    is 'the entries' "$(entries_at "$here" | sha256sum)" "$(entries_at "$there" | sha256sum)"
}
# Empties both stores, and forgets the state.
start_over() {
    local at
    for at in "$here" "$there"; do
        "$KINDEX" del --prefix many --url "$at" >"$work/null" 2>&1
        "$KINDEX" del --prefix few --url "$at" >"$work/null" 2>&1
    done
    rm -f "$state" "$state.part" "$state.new"
}
# many COUNT: entries at the source
many() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "{\"key\":[\"many\",%d],\"value\":{\"n\":%d}}\n", i, i }' >"$work/given"
    input=$work/given
    at_source import -
    input=/dev/null
}

test_case 'values of every encoding are moved, in pages'
many 2500
for typed in date:Date:'"2020-01-01T00:00:00.000Z"' number:KvU64:'"18446744073709551615"' \
    bytes:Uint8Array:'"AP8Q"' big:bigint:'"-12345678901234567890123"'; do
    IFS=: read -r name type value <<<"$typed"
    at_source set "few/$name" --type typed "{\"type\":\"$type\",\"value\":$value}"
done
kindex import --from "$there" --state "$state"
ends 0
complains 'imported 2504 entries in '
complains '        2500  \["many"\]'
complains '2504 entries were stored without an expiry'
complains 'run this command with --finish'
same_entries

test_case 'a complete import is not repeated, and says what follows'
kindex import --from "$there" --state "$state"
ends 0
complains 'the import is complete; --finish stores what has changed since'

test_case 'the second pass stores what is newer, and deletes what is gone'
at_source set many/=3 '"newer"'
at_source set many/=2499.5 '"new"'
at_source del many/=0
at_source del many/=2499
kindex import --from "$there" --state "$state" --finish --dry-run
ends 0
complains 'would import 2 entries, 2 to delete, 2501 unchanged'
kindex import --from "$there" --state "$state" --finish
ends 0
complains 'second pass in [0-9].[0-9] s: imported 2 entries, 2 deleted, 2501 unchanged'
same_entries
kindex import --from "$there" --state "$state" --finish
ends 0
complains 'imported 0 entries, 0 deleted, 2503 unchanged'

test_case 'what others have stored or changed here stays'
start_over
many 10
kindex set many/=1 '{"n":1}' # the same value, but not by the import
kindex set few/theirs '"theirs"'
kindex import --from "$there" --state "$state"
ends 0
complains '1 existed already'
kindex set many/=2 '"changed here"'
kindex set many/=3 '"changed here"'
kindex del many/=4
at_source del many/=1
at_source del many/=2
at_source set many/=3 '"newer"'
at_source set many/=4 '"newer"'
kindex import --from "$there" --state "$state" --finish
ends 0
complains 'imported 0 entries, 0 deleted, 6 unchanged'
complains '3 entries were changed or deleted here since'
kindex get many/=1
prints '{"n":1}'
kindex get many/=2
prints '"changed here"'
kindex get many/=3
prints '"changed here"'
kindex get many/=4
ends 3
kindex get few/theirs
prints '"theirs"'

test_case 'entries are put under a prefix, which the state file knows'
start_over
many 3
kindex import --from "$there" --state "$state" --prefix few/=1
ends 0
kindex get few/=1/many/=2
prints '{"n":2}'
kindex import --from "$there" --state "$state" --finish
ends 1
complains 'is not the state file of an import from this address under this prefix'
at_source del many/=2
kindex import --from "$there" --state "$state" --prefix few/=1 --finish
ends 0
kindex get few/=1/many/=2
ends 3


# Runs an import through a proxy before this server, and kills it when the rule
# has applied.
import_and_kill() {
    local rule=$1 importer
    shift
    between target "$here" "$rule"
    "$KINDEX" import --url "$found" --from "$there" --state "$state" --batch 100 --jobs 1 "$@" 2>"$work/killed" &
    importer=$!
    wait_until grep -qx "$rule" "$work/target"
    kill -KILL "$importer"
    wait "$importer" 2>"$work/null"
}

for rule in hold lose; do
    case $rule in
    hold) test_case 'a killed import knows what was stored without an answer' ;;
    lose) test_case 'a killed import sends again what was not stored' ;;
    esac
    start_over
    many 1000
    import_and_kill $rule:/atomic:4
    is 'the state' "$(ls "$state"* | wc -l)" 1
    at_source set many/=350 '"newer"' # of the fourth batch
    at_source del many/=351
    kindex import --from "$there" --state "$state"
    ends 0
    same_entries
    at_source set many/=352 '"newest"'
    at_source del many/=353
    kindex import --from "$there" --state "$state" --finish
    ends 0
    complains 'imported 1 entries, 1 deleted, 997 unchanged'
    same_entries
done

for rule in hold lose; do
    test_case "a killed second pass is continued (its last batch: $rule)"
    start_over
    many 1000
    kindex import --from "$there" --state "$state"
    awk 'BEGIN { for (i = 0; i < 1000; i++) if (i % 3) printf "{\"key\":[\"many\",%d],\"value\":{\"n\":%d}}\n", i, -i }' >"$work/given"
    input=$work/given
    at_source import - --overwrite
    input=/dev/null
    for ((i = 0; i < 60; i += 3)); do at_source del "many/=$i"; done
    import_and_kill $rule:/atomic:3 --finish
    at_source set many/=400 '"newest"'
    kindex import --from "$there" --state "$state" --finish
    ends 0
    same_entries
    kindex import --from "$there" --state "$state" --finish
    ends 0
    complains 'imported 0 entries, 0 deleted, 980 unchanged'
done

test_case 'an interrupted import is continued by the same command'
start_over
many 1000
between target "$here" wait:/atomic:3
"$KINDEX" import --url "$found" --from "$there" --state "$state" --batch 100 --jobs 1 2>"$work/killed" &
importer=$!
wait_until grep -qx wait:/atomic:3 "$work/target"
kill -INT $importer
kill -USR2 "${others[-1]}"
wait $importer
is 'the exit status' $? 130
is 'what it says' "$(grep -c 'run the same command again' "$work/killed")" 1
kindex import --from "$there" --state "$state"
ends 0
same_entries

test_case 'a source that is overloaded, breaks off or wants smaller pages is asked again'
start_over
many 2500
between source2 "$there" 503:/snapshot_read:1 cut:/snapshot_read:3 413:/snapshot_read:5 503:/:1
kindex import --from "$found"
ends 0
complains 'imported 2500 entries'
same_entries
is 'the rules that applied' "$(grep -c : "$work/source2")" 5

test_case 'a token that is no longer valid is renewed once'
start_over
many 1500
between source2 "$there" 401:/snapshot_read:2
kindex import --from "$found"
ends 0
same_entries
between source2 "$there" 401:/snapshot_read:2 401:/snapshot_read:3
kindex import --from "$found"
ends 1
complains 'answered 401 spoilt'
complains '--token-file names a file'

test_case 'a page that is not current is no page'
between source2 "$there" stale:/snapshot_read:1
kindex import --from "$found"
ends 1
complains 'gave no current page of its entries'

for version in 1 2 3; do
    test_case "version $version of the protocol is spoken"
    start_over
    many 5
    between source2 "$there" version:$version
    kindex import --from "$found"
    ends 0
    complains 'imported 5 entries'
done

test_case 'the token of the source is read from its file, and is not that of the server'
"$KINDEX" token generate >"$work/token"
chmod 600 "$work/token"
"$KINDEX" serve --data "$work/tokens" --token-file "$work/token" --listen 0 --port-file "$work/tokens.port" >"$work/null" 2>>"$log" &
others+=($!)
wait_until test -s "$work/tokens.port"
closed=http://127.0.0.1:$(cat "$work/tokens.port")
KINDEX_TOKEN=$(head -1 "$work/token") "$KINDEX" set few/closed 1 --url "$closed" >"$work/null"
kindex import --from "$closed"
ends 1
complains 'answered 401'
kindex import --from "$closed" --token-file "$work/token"
ends 0
kindex get few/closed
prints 1
kindex import --from "$closed" --token-file "$work/none"
ends 1

test_case 'addresses that are not safe or not of such a store are refused'
kindex import --from http://db.example/connect
ends 1
complains 'would send the token and the entries unencrypted'
between source2 "$there" 200:/:1
kindex import --from "$found"
ends 1
complains 'is not a KV Connect address'
kindex import --from http://127.0.0.1:1
ends 5
complains "Couldn't connect"

test_case 'options that do not fit together are refused'
kindex import --finish
ends 2
kindex import --from "$there" --finish
ends 2
kindex import --from "$there" --finish --state "$state" --overwrite
ends 2
kindex import --from "$there" --from-key a
ends 2
kindex import --from "$work/file" --state "$state"
ends 2
rm -f "$state"
kindex import --from "$there" --finish --state "$state"
ends 1
complains 'is not the state file of an import'

test_case 'a damaged state file is refused'
start_over
many 10
kindex import --from "$there" --state "$state"
ends 0
sed -i 4s/^./x/\;4s/........$// "$state"
sed -i '5s/ / - /' "$state"
kindex import --from "$there" --state "$state" --finish
ends 1
complains "is damaged"
finish

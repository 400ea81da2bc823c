#!/bin/bash
# The number of the data directory's format: a directory of an earlier program
# is upgraded where it is, one of a later program is refused and left alone.
# tests/data/format-1.tar.gz is what the last program of format 1 had on disk
# when it was killed.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/upgrade.sh"
data=$(cd "$(dirname "$0")/../data" && pwd)

# Every file of the data directory with its sum.
sums() {
    (cd "$work/data" && find . -type f -exec sha256sum {} + | sort -k 2)
}

# Starts a server that must not come up: its status in $code.
refused_server() {
    exchange='kindex serve'
    rm -f "$work/port"
    timeout "$longest" "$KINDEX" serve --data "$work/data" --listen 127.0.0.1:0 \
        --cache 16MiB --port-file "$work/port" "$@" >"$work/out" 2>"$work/said"
    code=$?
}
says() {
    is "what it says about $1" "$(grep -c "$1" "$work/said")" 1
}

test_case 'a new data directory has the format of this program'
start_server
number=$(cat "$work/data/format")
is 'the number' "$([ "$number" -ge 2 ] && echo a number)" 'a number'
stop_server
rm -rf "$work/data"

test_case 'a directory of format 1, left by a crash, is upgraded'
tar -xzf "$data/format-1.tar.gz" -C "$work"
mv "$work/format-1" "$work/data"
is 'a number before' "$(ls "$work/data" | grep -c format)" 0
start_server
is 'the number' "$(cat "$work/data/format")" "$number"
is 'lines in the log' "$(grep -c "event=upgraded format=$number" "$log")" 1
request GET '/list?prefix=users'
field '[.entries[] | [.key[1], .value.email, .versionstamp]]' \
    '[[1,"User1@x.org","00000000000000020000"],[2,"User2@x.org","00000000000000030000"],[3,"User3@x.org","00000000000000040000"]]'
# By the rules of that program, so it is rebuilt.
gives .state ready GET /indexes/users_by_email '' -H 'Prefer: wait=30'
is 'lines in the log' "$(grep -c event=index-outdated "$log")" 1
request GET /indexes/users_by_email/get/USER3@x.org
body_is '{"email":"User3@x.org"}'
request GET /kv/lasting
body_is '"here"'
answers 409 unique-violation PUT /kv/users/=4 '{"email":"user1@x.org"}'
gives '.versionstamp > "00000000000000050000"' true PUT /kv/users/=4 '{"email":"user4@x.org"}'
proves 'data directory' 'before 0.1.0, without a number'

test_case 'a directory of format 1 is upgraded once'
stop_server
: >"$log"
start_server
is 'lines in the log' "$(grep -Ec 'event=(upgraded|index-outdated)' "$log")" 0
gives .count 4 GET /count?index=users_by_email
stop_server

test_case 'a directory of a later program is refused with a sentence, and not touched'
echo $((number + 1)) >"$work/data/format"
sums >"$work/before"
refused_server
is 'the exit status' $code 1
says "format $((number + 1))"
says "formats up to $number"
says 'use the program that wrote the data'
is 'a port' "$([ -e "$work/port" ] && echo there)" ''
is 'the files' "$(sums | diff "$work/before" -)" ''

test_case 'a data directory with a malformed format is refused'
for text in '' 0 -1 two 2.5 99999999999999999999 ' 2' '2 3'; do
    echo "$text" >"$work/data/format"
    sums >"$work/before"
    refused_server
    is "the exit status for '$text'" $code 1
    says 'format'
    is "the files with '$text'" "$(sums | diff "$work/before" -)" ''
done

test_case 'a refused data directory opens unchanged with the right format'
echo "$number" >"$work/data/format"
start_server
gives .count 4 GET /count?prefix=users

test_case 'the checksums of the test would show a change'
sums >"$work/before"
request PUT /kv/changed 1
is 'a difference' "$(sums | cmp -s "$work/before" - || echo differs)" differs
stop_server

test_case 'damage in a data directory of a later program is not repaired, also with an archive'
rm -rf "$work/data"
archived() { [ -n "$(find "$work/archive" -name 'base-*.tar.zst')" ]; }
start_server --archive "$work/archive"
wait_until archived
stop_server
echo $((number + 1)) >"$work/data/format"
printf x | dd of="$work/data/entries.db" bs=1 seek=4500 conv=notrunc status=none
sums >"$work/before"
refused_server --archive "$work/archive"
is 'the exit status' $code 1
says "format $((number + 1))"
is 'the files' "$(sums | diff "$work/before" -)" ''
finish

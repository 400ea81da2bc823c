#!/bin/bash
# A ledger of acknowledged writes over the loss of a server that is followed: with
# --archive-sync a promoted standby has all of them, however the server is lost; without it
# exactly those are missing that the archive lacked. No versionstamp comes twice.
ENGINE=bdb # this story says itself which server has which data
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
# A server that is fenced gives its database up, and closing that frees nothing then.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
archive=$work/archive
mkdir "$archive"
. "$(dirname "$0")/../lib/standby.sh"
has_base() { [ -n "$(find "$archive" -name 'base-*')" ]; }
writes() { request PUT "$1" "$2"; [ "${status#20}" != "$status" ]; }
begin_both() {
    rm -rf "$work/first" "$work/second" "${archive:?}" "$work"/ledger.*
    mkdir "$archive"
    start_primary --followed "$@"
    at_primary
    answers 201 PUT /kv/users/ada '{}'
    wait_until has_base
    start_standby "$@"
    at_standby
    wait_until shows /kv/users/ada '{}'
}

# client N URL: writes until a write is not acknowledged. A line of ledger.N is an
# acknowledged key and its versionstamp.
client() {
    local n=0 reply
    while reply=$(curl --silent --fail --max-time 5 -X PUT -d '{}' "$2/kv/ledger/$1-$n"); do
        echo "$1-$n $(jq -r .versionstamp <<<"$reply")" >>"$work/ledger.$1"
        n=$((n + 1))
    done
}
load() {
    local n
    clients=''
    for n in 1 2 3 4; do
        client "$n" "http://127.0.0.1:$first" &
        clients="$clients $!"
    done
    at_primary
    wait_until has_lines 20
}
has_lines() { [ "$(cat "$work"/ledger.* 2>"$work/null" | wc -l)" -ge "$1" ]; }
# The acknowledged keys that the promoted server lacks.
lost() {
    at_standby
    curl --silent --header 'Accept: application/x-ndjson' "$url/list?prefix=ledger" |
        jq -r '.key[1]' | sort >"$work/there"
    cut -d ' ' -f 1 "$work"/ledger.* | sort | comm -23 - "$work/there"
}
# What the promoted server gives, too.
twice() {
    local n
    at_standby
    for n in 1 2 3 4 5; do
        request PUT "/kv/new/$n" '{}'
        jq -r .versionstamp "$answer"
    done >"$work/new-stamps"
    cut -d ' ' -f 2 "$work"/ledger.* | sort -u | cat - <(sort -u "$work/new-stamps") | sort | uniq -d
}
loses_nothing() {
    is 'what is lost' "$(lost | wc -l)" 0
    is 'versionstamps that came twice' "$(twice | wc -l)" 0
    answers 200 GET /kv/users/ada
}

test_case 'options that do not fit together are refused'
kindex serve --data "$work/none" --archive "$archive" --archive-sync
ends 2

test_case 'a killed server has acknowledged nothing that the archive lacks'
begin_both --archive-sync --fence-lease 2s
load
ends_at "$primary" KILL
# shellcheck disable=SC2086 # words
wait $clients
at_standby
kindex promote --now
ends 0
loses_nothing
ends_at "$standby" TERM

test_case 'a frozen server acknowledges nothing after the promotion'
begin_both --archive-sync --fence-lease 2s
load
kill -STOP "$primary"
at_standby
kindex promote --now
ends 0
kill -CONT "$primary"
# shellcheck disable=SC2086 # words
wait $clients
loses_nothing
wait "$primary" 2>"$work/null"
is 'its exit status' "$?" 1
ends_at "$standby" TERM

test_case 'a server that runs loses its number, and nothing else'
begin_both --archive-sync --fence-lease 2s
load
at_standby
kindex promote --now
ends 0
# shellcheck disable=SC2086 # words
wait $clients
loses_nothing
wait "$primary" 2>"$work/null"
is 'its exit status' "$?" 1
ends_at "$standby" TERM

test_case 'without the archive no write is acknowledged'
begin_both --archive-sync --fence-lease 2s
at_primary
mv "$archive" "$archive.away"
curl --silent --max-time 300 -o "$work/late" -w '%{http_code}\n' -X PUT -d '{}' "$url/kv/users/late" >"$work/late-status" &
late=$!
refuses() { request GET /kv/users/ada; [ "$status" = 503 ]; }
wait_until refuses
answers 503 PUT /kv/users/bob '{}'
is 'an answer' "$(wc -c <"$work/late-status")" 0
mv "$archive.away" "$archive"
wait "$late"
is 'the answer' "$(cat "$work/late-status")" 201
wait_until writes /kv/users/bob '{}'

test_case 'a server that stops without its archive answers that the write is unknown'
mv "$archive" "$archive.away"
curl --silent --max-time 300 -o "$work/late" -w '%{http_code}\n' -X PUT -d '{}' "$url/kv/users/later" >"$work/late-status" &
late=$!
wait_until refuses
kill -TERM "$primary"
wait "$late"
is 'the answer' "$(grep -cE '^(503|000)$' "$work/late-status")" 1
wait "$primary" 2>"$work/null"
mv "$archive.away" "$archive"
ends_at "$standby" TERM

test_case 'without --archive-sync the ledger shows exactly what the archive lacked'
begin_both --fence-lease 60s
at_primary
mv "$archive" "$archive.away"
for key in x-1 x-2 x-3; do
    answers 201 PUT "/kv/ledger/$key" '{}'
    echo "$key $(jq -r .versionstamp "$answer")" >>"$work/ledger.1"
done
ends_at "$primary" KILL
mv "$archive.away" "$archive"
at_standby
kindex promote --now
ends 0
is 'what is lost' "$(lost | xargs)" 'x-1 x-2 x-3'
is 'versionstamps that came twice' "$(twice | wc -l)" 0
ends_at "$standby" TERM
primary='' standby=''

finish

#!/bin/bash
# A standby is promoted while the server that it follows runs, is frozen, or cannot reach the
# archive: the pieces of the archive have numbers, of which each is taken once.
ENGINE=bdb # this story says itself which server has which data
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
# A server that is fenced gives its database up, and closing that frees nothing then.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
archive=$work/archive
mkdir "$archive"
. "$(dirname "$0")/../lib/standby.sh"
has_base() { [ -n "$(find "$archive" -name 'base-*')" ]; }
is_gone() { ! kill -0 "$primary" 2>"$work/null"; }
writes() { request PUT "$1" "$2"; [ "${status#20}" != "$status" ]; }
begin_both() {
    rm -rf "$work/first" "$work/second" "${archive:?}"
    mkdir "$archive"
    start_primary --followed "$@"
    at_primary
    answers 201 PUT /kv/users/ada '{"email":"ada@x.org"}'
    wait_until has_base
    start_standby "$@"
    at_standby
    wait_until shows /kv/users/ada '{"email":"ada@x.org"}'
}

test_case 'a server that runs stops when a standby is promoted, and the standby has its commits'
begin_both --fence-lease 3s
before=$(dirname "$(find "$archive" -name 'base-*')")
at_primary
answers 201 PUT /kv/users/bob '{"email":"bob@x.org"}'
at_standby
kindex promote
ends 0
complains 'took piece'
complains "promoted: $url is the server now"
wait_until is_gone
is 'the server' "$(is_gone && echo gone)" gone
is 'its sentence' "$(grep -c 'event=fenced detail=.piece .* another server was promoted' "$log")" 1
answers 200 GET /kv/users/bob
answers 201 PUT /kv/users/eve '{"email":"eve@x.org"}'

test_case 'the promoted server continues the archive'
list_here users >"$work/list"
two_bases() { [ "$(find "$archive" -name 'base-*' | wc -l)" = 2 ]; }
wait_until two_bases
answers 409 POST /promote
is 'the problem' "$(jq -r .code "$answer")" no-cluster

test_case 'the old server does not start again on this archive'
start_fails() {
    kindex serve --data "$work/first" --archive "$archive" --listen 0 --followed
    ends 1
    complains 'another server was promoted'
}
start_fails

test_case 'a killed server that was promoted starts again with the options of a standby'
ends_at "$standby" KILL
start_standby
at_standby
wait_until same_list
is 'the list' "$(list_here users | sha256sum)" "$(sha256sum <"$work/list")"
answers 201 PUT /kv/users/fay '{"email":"fay@x.org"}'
start_fails

# As when the old server still copied a part of its log after the promotion.
test_case 'the old one follows the new one with an empty directory, though its archive was written later'
touch "$before"/log.*
rm -rf "$work/first"
start_server --data "$work/first" --follow "$archive" --primary "http://127.0.0.1:$second" \
    --listen "127.0.0.1:$first"
primary=$server server=''
at_primary
wait_until shows /kv/users/fay '{"email":"fay@x.org"}'
expect 200
ends_at "$primary" TERM
ends_at "$standby" TERM

test_case 'a frozen server acknowledges nothing after another one was promoted'
begin_both --fence-lease 2s
kill -STOP "$primary"
kindex promote # ends after the lease of the frozen one
ends 0
at_primary
curl --silent --max-time 60 -o "$work/late" -w '%{http_code}\n' -X PUT -d '{}' "$url/kv/users/late" >"$work/late-status" &
late=$!
curl --silent --max-time 60 -o "$work/read" -w '%{http_code}\n' "$url/kv/users/ada" >"$work/read-status" &
read=$!
at_standby
wait_until writes /kv/users/gus '{}'
kill -CONT "$primary"
wait "$late" "$read"
# 000: the connection was closed
is 'a late write' "$(grep -cE '^(503|000)$' "$work/late-status")" 1
is 'a late read' "$(grep -cE '^(503|000)$' "$work/read-status")" 1
wait_until is_gone
is 'the server' "$(is_gone && echo gone)" gone
answers 404 GET /kv/users/late
ends_at "$standby" TERM

test_case 'without the archive a server refuses writes and strong reads after its lease'
begin_both --fence-lease 2s
at_primary
mv "$archive" "$archive.away"
refuses() { request PUT /kv/users/hal '{}'; [ "$status" = 503 ]; }
wait_until refuses
is 'the problem' "$(jq -r .code "$answer")" no-active-node
is 'the reason' "$(jq -r .detail "$answer" | grep -c 'fence-lease')" 1
answers 503 GET /kv/users/ada
answers 503 GET /readyz
mv "$archive.away" "$archive"
wait_until writes /kv/users/hal '{}'
answers 200 GET /kv/users/ada
answers 200 GET /readyz

test_case 'of two standbys one is promoted'
start_server --data "$work/third" --follow "$archive" --listen 0
third=$server server=''
ends_at "$third" TERM
ends_at "$primary" KILL
kindex promote --url "http://127.0.0.1:$second" --now
ends 0
kindex promote --data "$work/third" --archive "$archive" --now
ends 1
complains 'another server was promoted'
ends_at "$standby" TERM

test_case 'the promotion of a standby that is gone ends, and can be repeated'
begin_both --fence-lease 3s
earlier=$(grep -c 'event=promotion piece=' "$log")
is_promoting() { [ "$(grep -c 'event=promotion piece=' "$log")" -gt "$earlier" ]; }
"$KINDEX" promote --timeout 1s >"$work/null" 2>"$work/told" &
promotion=$!
wait_until is_promoting
wait_until grep -q 'took piece' "$work/told"
ends_at "$standby" KILL
wait "$promotion"
is 'its exit status' "$? $(grep -c 'no server answers' "$work/told")" '5 1'
start_standby --fence-lease 3s
at_standby
kindex promote
wait_until writes /kv/users/kim '{}'
ends_at "$primary" KILL
ends_at "$standby" TERM

test_case 'a standby that does not run is promoted, too, and reads the archive to its end'
begin_both --fence-lease 2s
ends_at "$standby" TERM
at_primary
answers 201 PUT /kv/users/ida '{}'
ends_at "$primary" TERM
kindex promote --data "$work/second" --archive "$archive" --now
ends 0
complains "promoted $work/second at versionstamp"
start_standby
at_standby
answers 200 GET /kv/users/ida
answers 201 PUT /kv/users/jan '{}'
start_fails

finish

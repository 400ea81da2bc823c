#!/bin/bash
# A standby that follows the archive of a server: it shows what the server has
# committed, sends writes to it, and becomes the server when it is promoted.
ENGINE=bdb # this story says itself which server has which data
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
archive=$work/archive
mkdir "$archive"
. "$(dirname "$0")/../lib/standby.sh"
has_base() { [ -n "$(find "$archive" -name 'base-*')" ]; }

test_case 'options that do not fit together are refused'
for wrong in '--followed' '--primary http://127.0.0.1:1' '--follow a --archive b'; do
    # shellcheck disable=SC2086 # words
    kindex serve --data "$work/none" $wrong
    ends 2
done

test_case 'a standby begins with the backup of the archive'
start_primary --followed
at_primary
kindex index add by_email users email --unique
answers 201 PUT /kv/users/ada '{"email":"ada@x.org"}'
wait_until has_base
start_standby
at_standby
wait_until shows /kv/users/ada '{"email":"ada@x.org"}'
expect 200
header Kindex-At "$(header_value Kindex-At)"
is 'the form of the position' "$(header_value Kindex-At | grep -cE '^1\.[0-9]+$')" 1

test_case 'it applies what is committed, and sends writes to the server'
answers 201 PUT /kv/users/bob '{"email":"bob@x.org"}'
wait_until shows /kv/users/bob '{"email":"bob@x.org"}'
wait_until shows /indexes/by_email/get/bob@x.org '{"email":"bob@x.org"}'
answers 204 DELETE /kv/users/ada
gone() { request GET '/kv/users/ada?consistency=eventual'; [ "$status" = 404 ]; }
wait_until gone
expect 404
answers 409 POST /atomic '{"mutations":[{"type":"set","key":["users","eve"],"value":{"email":"bob@x.org"}}]}'

test_case 'it has a large commit as a whole, and the same list as the server'
for i in {1..3000}; do
    echo "{\"key\":[\"users\",$i],\"value\":{\"email\":\"u$i@x.org\",\"noise\":\"$(printf '%0400d' "$i")\"}}"
done >"$work/lines"
at_primary
kindex import "$work/lines" --batch 1000
kindex index add by_noise users noise --store value
kindex index watch by_noise
kindex del --prefix users/=7
list_here users >"$work/list"
at_standby
wait_until same_list
is 'the list' "$(list_here users | sha256sum)" "$(sha256sum <"$work/list")"
is 'not empty' "$(wc -l <"$work/list" | grep -c '^300')" 1

test_case 'it says how far it is'
request GET /readyz
expect 200
figures=$(curl --silent "$url/metrics" | grep -c '^kindex_follow')
is 'metrics' "$figures" 3

test_case 'after a kill it goes on where it was, and so does the server'
ends_at "$standby" KILL
at_primary
answers 201 PUT /kv/users/kim '{"email":"kim@x.org"}'
ends_at "$primary" KILL
start_primary --followed
at_primary
answers 201 PUT /kv/users/lee '{"email":"lee@x.org"}'
list_here users >"$work/list"
start_standby
at_standby
wait_until same_list
is 'the list' "$(list_here users | sha256sum)" "$(sha256sum <"$work/list")"

test_case 'without the server, reads are answered and writes are not'
ends_at "$primary" KILL
answers 200 GET '/kv/users/lee?consistency=eventual'
request PUT /kv/users/max '{"email":"max@x.org"}'
is 'a write' "$status" 503
answers 200 GET '/kv/users/lee?consistency=eventual'

test_case 'a standby that runs, or a directory of no standby, is not promoted'
kindex promote --data "$work/second"
ends 1
kindex promote --data "$work/first"
ends 1
complains 'does not follow an archive'

test_case 'the directory of a standby is no server until it is promoted'
ends_at "$standby" TERM
kindex serve --data "$work/second" --listen 0
ends 1
complains "start it with --follow, or make it a server's own with kindex promote"
kindex promote --data "$work/second"
ends 0
complains "promoted $work/second at versionstamp"
start_server --data "$work/second" --listen "127.0.0.1:$second"
standby=$server
server=''
at_standby
same_list
is 'the list' "$(list_here users | sha256sum)" "$(sha256sum <"$work/list")"
request PUT /kv/users/max '{"email":"max@x.org"}'
expect 201
above=$(jq -r .versionstamp "$answer")
is 'its versionstamp' "$(jq -rs --arg above "$above" 'all(.[]; .versionstamp < $above)' "$work/list")" true
kindex index verify by_email
ends 0
ends_at "$standby" TERM

test_case 'commits without rows stop a standby, with a sentence'
rm -rf "$work/first" "$work/second" "$archive"
mkdir "$archive"
start_primary --followed
at_primary
answers 201 PUT /kv/users/ada '{"email":"ada@x.org"}'
wait_until has_base
start_standby
at_standby
wait_until shows /kv/users/ada '{"email":"ada@x.org"}'
ends_at "$primary" TERM
start_primary
at_primary
answers 201 PUT /kv/users/eve '{"email":"eve@x.org"}'
is_gone() { ! kill -0 "$standby" 2>"$work/null"; }
wait_until is_gone
is 'it is gone' "$(is_gone && echo gone)" gone
is 'the sentence' "$(grep -c 'made without --followed' "$log" | sed 's/[1-9]/some/')" some
standby=''

test_case 'a standby expands the body of a client only after it has checked the token'
ends_at "$primary" TERM
rm -rf "$work/first" "$work/second" "$archive"
mkdir "$archive"
start_primary --followed
at_primary
admin=(--oauth2-bearer "$("$KINDEX" token create admin all)")
answers 201 PUT /kv/users/ada 1 "${admin[@]}"
wait_until has_base
start_standby
at_standby
has_token() { request GET '/kv/users/ada?consistency=eventual' '' "${admin[@]}"; [ "$status" = 200 ]; }
wait_until has_token
for coding in gzip zstd unknown; do
    answers 401 unauthorized POST '/get?consistency=eventual' plain --header "Content-Encoding: $coding"
done
answers 400 bad-request POST '/get?consistency=eventual' plain --header 'Content-Encoding: gzip' "${admin[@]}"

finish

#!/bin/bash
# Writes that come again: with an Idempotency-Key the repetition has no further
# effect and gets the first answer.
. "$(dirname "$0")/../lib/http.sh"
start_server
key() { under=(--header "Idempotency-Key: \"$1\""); }
# METHOD PATH [BODY [CURL-OPTION...]]: the request under $under.
send() {
    [ $# -ge 3 ] || set -- "$1" "$2" ''
    request "$@" "${under[@]}"
}
first() { header Idempotency-Replayed ''; }
again() { header Idempotency-Replayed true; }

test_case 'a PUT repeated under its Idempotency-Key gets the first answer, and changes nothing'
key put-1
send PUT /kv/a 1
expect 201
first
tag=$(header_value ETag)
stamp=$(value .versionstamp)
request PUT /kv/a 2
send PUT /kv/a 1
expect 201
again
header ETag "$tag"
field .versionstamp "$stamp"
request GET /kv/a
body_is 2

test_case 'a PUT under another Idempotency-Key, or without one, is another request'
key put-2
send PUT /kv/a 1
expect 200
first
answers 200 PUT /kv/a 1
header Idempotency-Replayed ''

test_case 'another request under the same Idempotency-Key is refused, whatever differs'
key put-1
send PUT /kv/a 3
expect 422 idempotency-key-reused
first
send PUT /kv/b 1
expect 422 idempotency-key-reused
send PUT '/kv/a?ttl=1h' 1
expect 422 idempotency-key-reused
send PATCH /kv/a 1
expect 422 idempotency-key-reused
send PUT /kv/a 1 --header 'If-None-Match: *'
expect 422 idempotency-key-reused
send PUT /kv/a 1 --header 'Content-Type: text/plain'
expect 422 idempotency-key-reused
send PUT /kv/a 1 --header 'Prefer: return=representation'
expect 422 idempotency-key-reused
request GET /kv/a
body_is 1
answers 404 GET /kv/b

test_case 'a sum repeated under its Idempotency-Key is applied once'
sum='{"mutations":[{"type":"sum","key":["n"],"value":1,"return":"new"}]}'
key sum-1
for n in 1 2 3 4 5; do
    send POST /atomic "$sum"
    expect 200
    field '.results[0].value' 1
done
again
key sum-2
send POST /atomic "$sum"
field '.results[0].value' 2
request GET /kv/n
body_is 2

test_case 'a sum is applied once when all its repetitions arrive at the same time'
seq 40 | xargs -P 20 -I{} curl -s -o "$work/at-once.{}" --header 'Idempotency-Key: "at-once"' \
    --header 'Content-Type: application/json' --data "$sum" "$url/atomic"
is 'different answers' "$(sha256sum "$work"/at-once.* | cut -d ' ' -f 1 | sort -u | wc -l)" 1
request GET /kv/n
body_is 3

test_case 'a repeated POST makes one entry, and returns its key again'
key post-1
send POST /kv/events '{"n":1}'
expect 201
first
place=$(header_value Location)
made=$(value .key)
send POST /kv/events '{"n":1}'
expect 201
again
header Location "$place"
field .key "$made"
gives .count 1 GET '/count?prefix=events'

test_case 'a repeated DELETE returns the removed value again'
request PUT /kv/gone '"x"'
key delete-1
send DELETE /kv/gone '' --header 'Prefer: return=representation'
expect 200
body_is '"x"'
request PUT /kv/gone '"y"'
send DELETE /kv/gone '' --header 'Prefer: return=representation'
expect 200
again
body_is '"x"'
request GET /kv/gone
body_is '"y"'
key delete-2
send DELETE /kv/gone
expect 204
request PUT /kv/gone '"z"'
send DELETE /kv/gone
expect 204
again
request GET /kv/gone
body_is '"z"'

test_case 'a repeated PATCH is applied once'
request PUT /kv/list '[]'
key patch-1
for n in 1 2; do
    send PATCH /kv/list '[{"op":"append","path":"","value":1}]' \
        --header 'Content-Type: application/json-patch+json'
    expect 200
done
again
request GET /kv/list
body_is '[1]'

test_case 'a repeated DELETE of a range removes the first entries once'
for n in 1 2 3 4 5; do request PUT "/kv/range/$n" "$n"; done
key range-1
for n in 1 2; do
    send DELETE '/list?prefix=range&limit=2'
    expect 200
    field '[.deleted, .more]' '[2,true]'
done
again
gives .count 3 GET '/count?prefix=range'

# ---- Refusals --------------------------------------------------------------

test_case 'a repeated request gets its refusal again, also when the reason has gone'
key refused-1
send PUT /kv/a 9 --header 'If-None-Match: *'
expect 412 precondition-failed
first
request DELETE /kv/a
send PUT /kv/a 9 --header 'If-None-Match: *'
expect 412 precondition-failed
again
answers 404 GET /kv/a

test_case 'a repeated request gets all members of its refusal again'
request POST /indexes '{"name":"by_email","prefix":["users"],"fields":["/email"],"unique":true}'
until_field .state ready GET /indexes/by_email
request PUT /kv/users/ada '{"email":"ada@x.org"}'
request PUT /kv/few 5
refusals=(
    '{"checks":[{"key":["users","ada"],"versionstamp":null},{"key":["few"],"where":{"path":"","ge":7}},{"prefix":["users"],"none":true}],"mutations":[]}'
    '{"mutations":[{"type":"set","key":["users","bob"],"value":{"email":"ada@x.org"}}]}'
    '{"mutations":[{"type":"sum","key":["few"],"value":-9,"min":0}]}'
    '{"mutations":[{"type":"sum","key":["users","ada"],"value":1}]}'
    '{"mutations":[{"type":"set","by":{"index":"by_email","value":["none"]},"value":1}]}'
    '{"mutations":[{"type":"set","by":{"index":"nothing","value":["none"]},"value":1}]}'
    '{"checks":[{"by":{"index":"by_email","value":["ada@x.org"]},"exists":false}],"mutations":[]}'
    '{"mutations":[{"type":"set","key":["by_email","x"],"value":1}]}'
    '{"mutations":[{"type":"patch","key":["users","ada"],"ops":[{"op":"test","path":"/email","value":1}]}]}'
    '{"mutations":[{"type":"patch","key":["users","ada"],"ops":[{"op":"remove","path":"/none"}]}]}'
)
for n in "${!refusals[@]}"; do
    key "refusal-$n"
    send POST /atomic "${refusals[n]}"
    is "refused: ${refusals[n]}" "$((${status%% *} >= 400))" 1
    jq -S . "$answer" >"$work/refusal.$n"
    grep -v '^Idempotency' "$head" | head -1 >>"$work/refusal.$n"
done
request PUT /kv/users/ada '{"email":"other@x.org"}'
request DELETE /kv/few
for n in "${!refusals[@]}"; do
    key "refusal-$n"
    send POST /atomic "${refusals[n]}"
    again
    jq -S . "$answer" >"$work/refusal.again"
    head -1 "$head" >>"$work/refusal.again"
    is "the answer to ${refusals[n]}" "$(cat "$work/refusal.again")" "$(cat "$work/refusal.$n")"
done

test_case 'a repeated commit by value uses the key that was found first'
by='{"mutations":[{"type":"set","by":{"index":"by_email","value":["other@x.org"]},"value":{"email":"new@x.org"},"return":"new"}]}'
key by-1
send POST /atomic "$by"
field '.results[0].key' '["users","ada"]'
request PUT /kv/users/eve '{"email":"other@x.org"}'
send POST /atomic "$by"
expect 200
again
field '.results[0].key' '["users","ada"]'
request GET /kv/users/eve
body_is '{"email":"other@x.org"}'

test_case 'an invalid request does not use up its Idempotency-Key'
key invalid-1
send PUT /kv/a '{"a":'
expect 400 bad-json
send PUT /kv/a '{"a":1}'
expect 201
first

# ---- Keys ------------------------------------------------------------------

test_case 'an Idempotency-Key in quotes equals the same one without them'
under=(--header 'Idempotency-Key: bare-1')
send PUT /kv/k 1
expect 201
key bare-1
send PUT /kv/k 1
again

test_case 'an Idempotency-Key has 1 to 255 characters'
long=$(printf 'k%.0s' {1..255})
key "$long"
send PUT /kv/k 2
expect 200
send PUT /kv/k 2
again
for text in "\"${long}k\"" "${long}k" '""' '"' '"a' '"a"b' '"a";p=1' 'a b' 'a,b' '"ä"' '"\a"' '"a", "b"'; do
    under=(--header "Idempotency-Key: $text")
    send PUT /kv/k 3
    expect 400 bad-request
done
under=(--header 'Idempotency-Key;')
send PUT /kv/k 3
expect 400 bad-request
under=(--header 'Idempotency-Key: "a"' --header 'Idempotency-Key: "b"')
send PUT /kv/k 3
expect 400 bad-request
request GET /kv/k
body_is 2
under=(--header 'Idempotency-Key: "a \"key\" \\ of words"')
send PUT /kv/k 3
expect 200

test_case 'requests that change no entry refuse an Idempotency-Key, and reads ignore it'
key other-1
send POST /atomic '{"dry":true,"mutations":[{"type":"set","key":["k"],"value":4}]}'
expect 400 bad-request
send DELETE '/list?prefix=range&dry=1'
expect 400 bad-request
send POST /indexes '{"name":"by_n","prefix":["x"],"fields":["/n"]}'
expect 400 bad-request
answers 404 GET /indexes/by_n
send DELETE /indexes/by_email
expect 400 bad-request
send GET /kv/k
expect 200
first
send POST /get '{"keys":[["k"]]}'
expect 200
first

test_case 'a large body repeated under its Idempotency-Key gets the first answer'
head -c 700000 /dev/zero | tr '\0' 'x' >"$work/large"
sed 's/^/"/; s/$/"/' "$work/large" >"$work/large.json"
key large-1
send PUT /kv/large "@$work/large.json"
expect 201
send PUT /kv/large "@$work/large.json"
expect 201
again
tail -c 699999 "$work/large" | sed 's/^/"y/; s/$/"/' >"$work/large.json"
send PUT /kv/large "@$work/large.json"
expect 422 idempotency-key-reused

test_case 'a commit that returned a large value returns it again'
key large-2
for n in 1 2; do
    send POST /atomic '{"mutations":[{"type":"delete","key":["large"],"return":"old"}]}'
    expect 200
    field '.results[0].value | length' 700000
done
again

test_case 'a repeated request over HTTP/2 gets the first answer'
key h2-1
for n in 1 2; do
    send PUT /kv/h2 1 --http2-prior-knowledge
    expect 201
done
again

test_case 'metrics count replayed outcomes separately from commits'
commits() { sed -n 's/^kindex_txn_total{result="commit"} //p' "$answer"; }
replayed() { sed -n 's/^kindex_commits_replayed_total //p' "$answer"; }
request GET /metrics
before=$(commits) replays=$(replayed)
key h2-1
send PUT /kv/h2 1
request GET /metrics
is commits "$(commits)" "$before"
is 'replayed commits' "$(replayed)" $((replays + 1))

# ---- Large values ----------------------------------------------------------

test_case 'a large returned value is not kept with the outcome, but read again'
head -c 900000 /dev/zero | tr '\0' x | jq -Rc '{n: 1, text: .}' >"$work/large"
request PUT /kv/large "@$work/large"
touched='{"mutations":[{"type":"patch","key":["large"],"value":{"n":2},"return":"new"}]}'
key omit-1
send POST /atomic "$touched"
expect 200
cp "$answer" "$work/first"
send POST /atomic "$touched"
expect 200
again
is 'the same answer' "$(cmp "$answer" "$work/first" && echo yes)" yes

test_case 'a repeated commit omits a large value, with a note, once its entry has changed'
stamp=$(value .versionstamp)
request PUT /kv/large 3
send POST /atomic "$touched"
expect 200
again
field . "{\"ok\":true,\"versionstamp\":\"$stamp\",\"results\":[{\"key\":[\"large\"],\"versionstamp\":\"$stamp\",\"omitted\":true}]}"

test_case 'a repeated PUT whose value was not kept is answered as without the preference'
under=(--header 'Idempotency-Key: "omit-2"' --header 'Prefer: return=representation')
request PUT /kv/large "@$work/large" "${under[@]}"
header Preference-Applied return=representation
stamp=$(header_value ETag)
request PUT /kv/large "@$work/large" "${under[@]}"
again
header Preference-Applied return=representation
request PUT /kv/large 4
answers 200 PUT /kv/large "@$work/large" "${under[@]}"
again
header ETag "$stamp"
header Preference-Applied ''

test_case 'the size of a stored outcome does not grow with the value'
outcomes() {
    request GET /metrics
    sed -n 's/^kindex_store_bytes{file="catalog"} //p' "$answer"
}
request PUT /kv/large "@$work/large"
stop_server
start_server
before=$(outcomes)
for n in $(seq 40); do
    key "size-$n"
    send POST /atomic "$touched"
done
expect 200
stop_server
start_server
is 'the catalog grew by less than one value' "$((($(outcomes) - before) < 900000))" 1

# ---- Restarts --------------------------------------------------------------

test_case 'outcomes survive a restart and SIGKILL'
stop_server
start_server
key put-1
send PUT /kv/a 1
expect 201
again
key kill-1
send POST /atomic "$sum"
expect 200
kill -KILL "$server"
wait "$server" 2>"$work/null"
start_server
send POST /atomic "$sum"
expect 200
again
field '.results[0].value' 4
request GET /kv/n
body_is 4

test_case 'outcomes are kept for --idempotency-ttl'
stop_server
start_server --idempotency-ttl 500ms
key short-1
send PUT /kv/short 1
expect 201
forgotten() {
    send PUT /kv/short 1
    [ "${status%% *}" = 200 ]
}
wait_until forgotten
expect 200
first
stop_server

start_server

test_case 'outcomes have a quota of the disk, beyond which writes with a key are refused'
bytes() {
    request GET /metrics
    sed -n 's/^kindex_idempotency_bytes //p' "$answer"
}
quota=$(($(bytes) + 4096))
stop_server
start_server --idempotency-quota "$quota"
for n in $(seq 200); do
    key "quota-$n"
    send PUT "/kv/quota" "$n"
    [ "${status%% *}" != 429 ] || break
done
expect 429 idempotency-quota
header Retry-After 60
is 'some were stored' "$((n > 2 && n < 200))" 1
request GET /kv/quota
body_is $((n - 1))
is 'bytes are counted' "$(($(bytes) >= quota && $(bytes) < quota + 1000))" 1
key "quota-$((n - 1))"
send PUT /kv/quota $((n - 1))
expect 200
again
answers 200 PUT /kv/quota 0
bytes=$(bytes)
stop_server
start_server --idempotency-quota "$quota"
is 'bytes after a restart' "$(bytes)" "$bytes"
key quota-more
send PUT /kv/quota 1
expect 429 idempotency-quota
stop_server
start_server

test_case 'an Idempotency-Key is valid for one access token'
admin=$(KINDEX_URL=$url timeout "$longest" "$KINDEX" token create admin all)
writer=$(KINDEX_URL=$url KINDEX_TOKEN=$admin timeout "$longest" "$KINDEX" token create writer read,write:a)
is 'two tokens' "$([ -n "$admin" ] && [ -n "$writer" ] && echo yes)" yes
key token-1
send PUT /kv/a/x 1 --header "Authorization: Bearer $admin"
expect 201
send PUT /kv/a/x 2 --header "Authorization: Bearer $writer"
expect 200
first
send PUT /kv/a/x 1 --header "Authorization: Bearer $admin"
expect 201
again
request GET /kv/a/x '' --header "Authorization: Bearer $writer"
body_is 2
key put-1
send PUT /kv/a 1 --header "Authorization: Bearer $admin"
first
finish

#!/bin/bash
# An index declared over entries that are there already: it is built beside
# live writes, and read only when it is whole.
. "$(dirname "$0")/../lib/http.sh"
start_server

# 5,000 users in five commits.
for i in {0..4}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | {type: "set", key: ["u", . + 1000 * $i],
        value: {email: "user\(. + 1000 * $i)@x.org", color: (["red", "green", "blue"][. % 3]), skip: (. % 2 == 0)}}]}')"
done
request PUT /kv/u/bytes x -H 'Content-Type: text/plain'

test_case 'an index over existing entries is built, and then ready'
request POST /indexes '{"name":"by_email","prefix":["u"],"fields":["/email"],"unique":true}'
[ "$status" = 202 ] || expect 201 # the build may be over by now
header Location /indexes/by_email
until_field .state ready GET /indexes/by_email
field '[.entries, has("build")]' '[5000,false]'
gives .count 5000 GET /count?prefix=by_email
request GET /indexes/by_email/get/user4321@x.org
header Content-Location /kv/u/=4321
gives '[.entries[] | .key[1] == "user\(.value)@x.org"] | all' true GET '/list?prefix=by_email&limit=1000'

test_case 'an index over a field that no entry has is empty'
request POST /indexes '{"name":"by_none","prefix":["u"],"fields":["/nothing"]}'
until_field .state ready GET /indexes/by_none
field .entries 0

test_case 'a second declaration of an index that is being built is the same index'
request POST /indexes '{"name":"by_color","prefix":["u"],"fields":["/color"],"store":"value"}'
[ "$status" = 202 ] || expect 201
answers 200 POST /indexes '{"name":"by_color","prefix":["u"],"fields":["/color"],"store":"value"}'
until_field .state ready GET /indexes/by_color
gives .count 1670 GET '/count?index=by_color&prefix=red'
gives '.entries[0] | [.key, .value.email]' '[["u",0],"user0@x.org"]' GET '/list?index=by_color&prefix=red&limit=1'

test_case 'an entry written during a build is in the index, a deleted one is not'
request POST /indexes '{"name":"by_skip","prefix":["u"],"fields":["/skip","/email"],"unique":true}'
[ "$status" = 202 ] || expect 201
for i in {5000..5019}; do
    answers 201 PUT "/kv/u/=$i" "{\"email\":\"user$i@x.org\",\"skip\":true}"
    answers 204 DELETE "/kv/u/=$((i - 5000))"
    answers 200 PATCH "/kv/u/=$((i - 4000))" '{"skip":"patched"}'
done
until_field .state ready GET /indexes/by_skip
field .entries 5000
gives .count 20 GET '/count?index=by_skip&prefix=patched'
request GET '/list?index=by_skip&prefix==true&limit=1000'
first=$(value '.entries | length')
is 'the entries of the first page' "$first" 1000
gives .count 2500 GET '/count?index=by_skip&prefix==true'
answers 200 GET '/indexes/by_skip/get/=true/user5007@x.org'
answers 404 GET '/indexes/by_skip/get/=true/user4@x.org'

test_case 'an index built beside many writers equals the entries in the end'
for i in {1..400}; do
    echo next
    echo "url = $url/kv/u/=$((i * 11))"
    echo 'request = PUT'
    echo "data = \"{\\\"email\\\":\\\"new$i\\\",\\\"color\\\":\\\"new\\\"}\""
    echo "output = $work/null"
done | tail -n +2 >"$work/writes"
curl -s -K "$work/writes" &
writer=$!
for name in one two three; do
    request POST /indexes "{\"name\":\"live_$name\",\"prefix\":[\"u\"],\"fields\":[\"/email\",\"/color\"]}"
    [ "$status" = 202 ] || expect 201
    until_field .state ready GET "/indexes/live_$name"
done
wait $writer
request GET '/list?prefix=u' '' -H 'Accept: application/x-ndjson'
jq -c 'select(.value.email and .value.color) | [.value.email, .value.color, .key[1]]' "$answer" | sort >"$work/entries"
for name in one two three; do
    request GET "/list?prefix=live_$name" '' -H 'Accept: application/x-ndjson'
    jq -c 'select(.key) | .key[1:]' "$answer" | sort >"$work/indexed"
    is "the difference of $name" "$(diff "$work/entries" "$work/indexed" | head -5)" ''
done
is 'the entries that were written' "$(grep -c '"new' "$work/entries")" 400

test_case 'an index that is being built is not readable, and says how far it is'
# It is so slow that it would need many minutes, until it is let go.
request POST '/indexes?paused=true' '{"name":"by_slow","prefix":["u"],"fields":["/email"]}'
request POST /indexes/by_slow/throttle '{"perSecond":10}'
request POST /indexes/by_slow/resume
until_field '.build.done > 0' true GET /indexes/by_slow
answers 409 index-not-ready GET '/list?index=by_slow'
field '[.index, .state]' '["by_slow","building"]'
field '.build | .done > 0 and .done < .total and has("percent")' true
header Retry-After '[1-9]*'
answers 409 index-not-ready POST /kv/by_slow 1
field .index by_slow
request POST /indexes/by_slow/throttle '{"perSecond":null}'
until_field .state ready GET /indexes/by_slow
field .entries 5001

test_case 'a unique index over duplicates becomes conflicted, and says so'
request PUT /kv/dup/1 '{"v":"same"}'
request PUT /kv/dup/2 '{"v":"other"}'
request PUT /kv/dup/3 '{"v":"same"}'
answers 202 POST /indexes '{"name":"by_v","prefix":["dup"],"fields":["/v"],"unique":true}'
until_field .state conflicted GET /indexes/by_v
answers 409 index-not-ready GET /list?index=by_v
field .state conflicted
answers 409 index-not-ready GET /kv/by_v/same

test_case 'a conflicted index is ready as soon as the last duplicate is gone'
request DELETE /kv/dup/3
gives '[.state, .entries]' '["ready",2]' GET /indexes/by_v
request GET /indexes/by_v/get/same
header Content-Location /kv/dup/1

test_case 'a build continues after a restart'
request POST /indexes '{"name":"by_all","prefix":["u"],"fields":["/email","/color"]}'
[ "$status" = 202 ] || expect 201
stop_server
start_server
until_field .state ready GET /indexes/by_all
request GET /count?index=by_all
all=$(value .count)
gives .count "$all" GET /count?prefix=by_all
is 'the entries with both fields' "$all" "$(wc -l <"$work/entries")"

finish

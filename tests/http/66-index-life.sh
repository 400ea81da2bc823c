#!/bin/bash
# The life of a build: it is watched, waited for, paused, throttled, and continues
# after a restart as it was. Nothing here depends on how long anything takes: a
# build that must not be over yet is paused, or so throttled that it would need
# hours.
. "$(dirname "$0")/../lib/http.sh"
start_server

# 8,000 users in eight commits; those of the last have no e-mail address.
for i in {0..7}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | {type: "set", key: ["u", . + 1000 * $i],
        value: ({n: ., color: (["red", "green", "blue"][. % 3])} + if $i < 7 then {email: "user\(. + 1000 * $i)@x.org"} else {} end)}]}')"
done

test_case 'an index that is declared paused is not built'
answers 202 POST '/indexes?paused=true' '{"name":"by_email","prefix":["u"],"fields":["/email"],"unique":true}'
field .pace '{"paused":true,"perSecond":null}'
field '.build | [.done, .percent, .perSecond, .etaSeconds, .skipped, .skippedKeys]' '[0,0,0,null,0,[]]'
answers 409 index-not-ready GET /indexes/by_email/get/user1@x.org
gives '[.state, .build.done]' '["building",0]' GET /indexes/by_email

test_case 'writes keep a paused index up to date'
answers 201 PUT /kv/u/new '{"email":"new@x.org"}'
answers 409 unique-violation PUT /kv/u/twin '{"email":"new@x.org"}'

test_case 'a client that prefers to wait is answered after its time, with the current state'
answers 200 GET /indexes/by_email '' -H 'Prefer: wait=1'
header Preference-Applied wait=1
field '[.state, .pace.paused]' '["building",true]'

test_case 'a client that waits is answered when the state has settled'
curl -s -D "$work/head2" -o "$work/waited" -H 'Prefer: respond-async, wait=55' "$url/indexes/by_email" &
waiting=$!
answers 200 POST /indexes/by_email/resume
field 'has("pace")' false
wait $waiting
is 'the state after waiting' "$(jq -r .state "$work/waited")" ready
is 'the preference' "$(grep -ci '^preference-applied: wait=55' "$work/head2")" 1
request GET /indexes/by_email/get/user1@x.org
header Content-Location /kv/u/=1
gives .entries 7001 GET /indexes/by_email

test_case 'an index says what its build has left out'
field .skipped 1000
field '.skippedKeys | length' 5
field '[.skippedKeys[] | [.[0], .[1] >= 7000]] | unique' '[["u",true]]'

test_case 'a wait for an index that is ready already is answered at once'
answers 200 GET /indexes/by_email '' -H 'Prefer: wait=50'
header Preference-Applied wait=50
field .state ready

test_case 'a declaration may wait for its build'
answers 201 POST /indexes '{"name":"by_n","prefix":["u"],"fields":["/n"]}' -H 'Prefer: wait=50'
header Preference-Applied wait=50
field '[.state, .entries]' '["ready",8000]'
answers 200 POST /indexes '{"name":"by_n","prefix":["u"],"fields":["/n"]}' -H 'Prefer: wait=50'

test_case 'an unknown preference is ignored'
for prefer in 'wait=x' 'wait' 'wait=-1' 'handling=lenient' 'waiting=10'; do
    answers 200 GET /indexes/by_n '' -H "Prefer: $prefer"
    header Preference-Applied ''
done
request GET /indexes/by_n '' -H 'Prefer: wait=100000'
header Preference-Applied wait=60

test_case 'events tell of the build until its state has settled'
request POST '/indexes?paused=true' '{"name":"by_color","prefix":["u"],"fields":["/color"]}'
curl -sN -D "$work/head3" -o "$work/events" -H 'Accept: text/event-stream' "$url/indexes/by_color" &
events=$!
first_event() { [ -s "$work/events" ]; }
wait_until first_event
is 'the first event' "$(head -1 "$work/events")" 'event: progress'
is 'what it tells' "$(sed -n 's/^data: //p' "$work/events" | head -1 | jq -c '[.name, .state, .build.done, .pace.paused]')" '["by_color","building",0,true]'
request POST /indexes/by_color/resume
wait $events
is 'its type' "$(grep -ci '^content-type: text/event-stream' "$work/head3")" 1
is 'the last event' "$(grep '^event: ' "$work/events" | tail -1)" 'event: settled'
is 'what it tells at last' "$(sed -n 's/^data: //p' "$work/events" | tail -1 | jq -c '[.state, .entries]')" '["ready",8000]'
is 'done only grows' "$(sed -n 's/^data: //p' "$work/events" | jq -s '[.[].build.done // 8000] | . == sort')" true
is 'each event is whole' "$(grep -c '^event: ' "$work/events")" "$(grep -c '^$' "$work/events")"

test_case 'events of an index end when it is ready or dropped, and refuse an absent one'
curl -s -H 'Accept: text/event-stream' "$url/indexes/by_color" >"$work/events"
is 'the only event' "$(grep '^event: ' "$work/events")" 'event: settled'
request POST '/indexes?paused=true' '{"name":"by_gone","prefix":["u"],"fields":["/color"]}'
rm -f "$work/events"
curl -sN -o "$work/events" -H 'Accept: text/event-stream' "$url/indexes/by_gone" &
events=$!
wait_until first_event
request DELETE /indexes/by_gone
wait $events
is 'the last event' "$(tail -3 "$work/events" | head -2 | tr '\n' ' ')" 'event: gone data: {"name":"by_gone"} '
answers 404 index-not-found GET /indexes/by_gone '' -H 'Accept: text/event-stream'

test_case 'one stream has the events of all indexes, and does not end'
seen() { sed -n 's/^event: //p; s/^data: //p' "$work/all" 2>"$work/null" | paste - - | grep -c "^$1.\?.*\"name\":\"$2\""; }
has_seen() { [ "$(seen "$1" "$2")" -gt 0 ]; }
for version in --http1.1 --http2-prior-knowledge; do
    rm -f "$work/all"
    curl -sN $version -D "$work/head4" -o "$work/all" -H 'Accept: text/event-stream' "$url/indexes" &
    all=$!
    wait_until has_seen settled by_n
    is 'its type' "$(grep -ci '^content-type: text/event-stream' "$work/head4")" 1
    is 'each index once' "$(seen settled by_n) $(seen settled by_color)" '1 1'
    request POST '/indexes?paused=true' '{"name":"by_all","prefix":["u"],"fields":["/color"]}'
    wait_until has_seen progress by_all
    request POST /indexes/by_all/resume
    wait_until has_seen settled by_all
    is 'what it tells' "$(sed -n 's/^data: //p' "$work/all" | jq -c 'select(.name == "by_all") | [.state, .entries]' | tail -1)" '["ready",8000]'
    request DELETE /indexes/by_all
    wait_until has_seen gone by_all
    is 'the others have no news' "$(seen settled by_n) $(seen settled by_color)" '1 1'
    is 'it lasts' "$(kill -0 $all && echo yes)" yes
    kill $all
    wait $all
done
"$KINDEX" index watch --limit 1 --url "$url" >"$work/line"
is 'the command shows a line for each' "$(grep -c '^by_[a-z]* *ready$' "$work/line")" 1
"$KINDEX" index watch --limit 1 --output json --url "$url" >"$work/line"
is 'or a document' "$(jq -r .state "$work/line")" ready

test_case 'a throttled build continues slowly, and is released'
request POST '/indexes?paused=true' '{"name":"by_slow","prefix":["u"],"fields":["/color","/n"]}'
answers 200 POST /indexes/by_slow/throttle '{"perSecond":1}'
field .pace '{"paused":true,"perSecond":1}'
before=$SECONDS
gives .pace '{"paused":false,"perSecond":1}' POST /indexes/by_slow/resume
until_field '.build.done >= 2' true GET /indexes/by_slow
is 'no faster than it may' "$(value ".build.done <= $SECONDS - $before + 2")" true
field .state building
answers 200 POST /indexes/by_slow/throttle '{"perSecond":null}'
until_field .state ready GET /indexes/by_slow
field .entries 8000

test_case 'an invalid pace is refused'
answers 400 POST /indexes/by_slow/throttle '{"perSecond":0}'
answers 400 POST /indexes/by_slow/throttle '{"perSecond":"fast"}'
answers 400 unknown-member POST /indexes/by_slow/throttle '{"persecond":5}'
field .didYouMean perSecond
answers 400 POST /indexes/by_slow/throttle '{}'
answers 413 POST /indexes/by_slow/pause 'x'
answers 404 index-not-found POST /indexes/by_nobody/pause
answers 400 unknown-parameter POST '/indexes/by_slow/resume?now=1'

test_case 'a paused build stays where it is, also over a restart'
request POST '/indexes?paused=true' '{"name":"by_late","prefix":["u"],"fields":["/n"],"store":"value"}'
request POST /indexes/by_late/throttle '{"perSecond":1}'
request POST /indexes/by_late/resume
until_field '.build.done >= 2' true GET /indexes/by_late
gives .pace '{"paused":true,"perSecond":1}' POST /indexes/by_late/pause
done=$(value .build.done)
skipped=$(value .build.skipped)
stop_server
start_server
request GET /indexes/by_late
field '[.state, .pace, .build.done, .build.skipped]' "[\"building\",{\"paused\":true,\"perSecond\":1},$done,$skipped]"
field .build.resumed true
request POST /indexes/by_late/throttle '{"perSecond":null}'
gives .build.done "$done" GET /indexes/by_late
request POST /indexes/by_late/resume
until_field '[.state, .entries]' '["ready",8000]' GET /indexes/by_late
gives .count 8000 GET /count?index=by_late

test_case 'builds that join another in the middle of its way miss nothing'
for name in one two three; do
    request POST '/indexes?paused=true' "{\"name\":\"by_$name\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}"
done
request POST '/indexes?paused=true' '{"name":"by_part","prefix":["u"],"depth":1,"fields":["/email"]}'
# Only the first is let go, slowly: the others join it where it is.
request POST /indexes/by_one/throttle '{"perSecond":100}'
request POST /indexes/by_one/resume
until_field '.build.done >= 10' true GET /indexes/by_one
for name in two three part; do
    request POST /indexes/by_$name/resume
done
request POST /indexes/by_one/throttle '{"perSecond":null}'
for name in one two three part; do
    until_field .state ready GET /indexes/by_$name
done
gives .count 8000 GET /count?prefix=by_two
gives .entries 7001 GET /indexes/by_part
for name in one two three; do
    request GET "/list?prefix=by_$name" '' -H 'Accept: application/x-ndjson'
    jq -c 'select(.key) | .key[1:]' "$answer" >"$work/$name"
done
is 'the same entries' "$(cmp "$work/one" "$work/two" && cmp "$work/two" "$work/three" && echo same)" same

test_case 'clients that wait do not keep the server from stopping'
request POST '/indexes?paused=true' '{"name":"by_never","prefix":["u"],"fields":["/n"]}'
rm -f "$work/events"
curl -sN -o "$work/events" -H 'Accept: text/event-stream' "$url/indexes/by_never" &
events=$!
curl -s -o "$work/waited" -H 'Prefer: wait=60' "$url/indexes/by_never" &
waiting=$!
wait_until first_event
before=$SECONDS
stop_server
is 'its exit status' $? 0
is 'stopped in time' "$([ $((SECONDS - before)) -lt 30 ] && echo yes)" yes
wait $events $waiting

finish

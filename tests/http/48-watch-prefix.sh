#!/bin/bash
# GET /watch?prefix=: a client that watches a prefix is told which entries under it
# have changed, or that there are too many of them to tell.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/watch.sh"
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')
start_server --body-max 64MiB

# Of the n-th event: its type, and what jq makes of its data.
told() {
    is "event $1" "$(sed -n 's/^event: //p' "$work/events" | sed -n "$1p")" "$2"
    event "$1" "$3" "$4"
}

for protocol in http1.1 http2-prior-knowledge; do
    test_case "over $protocol: a watch of a prefix sends a reset, then its entries that change"
    request PUT /kv/users/=1 1 "${json[@]}"
    watch 'prefix=users' --$protocol
    is 'the first line' "$(head -1 "$work/events")" 'retry: 2000'
    told 1 reset . '{}'
    request PUT /kv/users '"above"' "${json[@]}"
    request PUT /kv/user/=1 '"beside"' "${json[@]}"
    request PUT /kv/users/=1 '{"n":1}' "${json[@]}"
    wait_until has_events 2
    told 2 change '[.entries[] | .key, .value]' '[["users",1],{"n":1}]'
    request GET /kv/users/=1
    stamp=$(grep -i '^etag' "$head" | tr -dc 0-9a-f | tail -c 20)
    told 2 change '.entries[0].versionstamp' "$stamp"
    request DELETE /kv/users/=1
    wait_until has_events 3
    told 3 change .entries '[{"key":["users",1],"value":null,"versionstamp":null}]'

    test_case "over $protocol: a watch of a prefix sends a commit as one event, in its order"
    request POST /atomic '{"mutations":[{"type":"set","key":["users","z","y"],"value":1},
        {"type":"set","key":["other"],"value":1},
        {"type":"set","key":["users",true],"value":2}]}' "${json[@]}"
    wait_until has_events 4
    told 4 change '[.entries[].key]' '[["users","z","y"],["users",true]]'
    is 'ids' "$(grep -c '^id' "$work/events")" 0
    end_watch
    request DELETE '/list?prefix='
done

test_case 'a watch of a prefix sends an event when an entry expires'
watch 'prefix=["short"]'
request PUT '/kv/short/1?ttl=300ms' 2 "${json[@]}" # a slow client does not see it
is_gone() { grep '^data: ' "$work/events" | tail -1 | grep -q '"versionstamp":null'; }
wait_until is_gone
is 'gone' $? 0
end_watch

test_case 'a watch of the name of an index sends its entries'
request POST /indexes '{"name":"by_color","prefix":["users"],"fields":["/color"]}' "${json[@]}"
until_field .state ready GET /indexes/by_color
watch 'prefix=by_color/red'
request PUT /kv/users/1 '{"color":"red"}' "${json[@]}"
wait_until has_events 2
told 2 change '[.entries[] | .key, .value]' '[["by_color","red","1"],"1"]'
request PUT /kv/users/1 '{"color":"red","n":1}' "${json[@]}"
request PUT /kv/users/2 '{"color":"blue"}' "${json[@]}"
request PUT /kv/users/1 '{"color":"blue"}' "${json[@]}"
wait_until has_events 3
told 3 change '[.entries[] | .key[2], .value]' '["1",null]'
request DELETE /indexes/by_color
wait_until has_events 4
told 4 reset . '{}'
end_watch

test_case 'a watch of a prefix does not show the rows of conflicts'
request PUT /kv/pair/a '{"n":3}' "${json[@]}"
request PUT /kv/pair/c '{"n":3}' "${json[@]}"
request POST /indexes '{"name":"by_n","prefix":["pair"],"fields":["/n"]}' "${json[@]}"
until_field .state ready GET /indexes/by_n
request PATCH /indexes/by_n '{"unique":true}' "${json[@]}"
until_field .migration.state conflicted GET /indexes/by_n
watch 'prefix=by_n'
request PUT /kv/pair/c '{"n":3,"again":true}' "${json[@]}"
request PUT /kv/pair/d '{"n":4}' "${json[@]}"
told_of() { grep '^data: ' "$work/events" | sed 's/^data: //' | jq -c ".entries[]?.key" | grep -qxF "$1"; }
wait_until told_of '["by_n",4,"d"]'
is 'the new entry is told' $? 0
told_of '["by_n"]'
is 'a malformed key is reported' $? 1
end_watch
request DELETE /indexes/by_n

test_case 'a watch of a prefix survives rows of conflicts that are longer than any key'
node -e 'const entry = (letter) => ({ type: "set", key: ["long", letter.repeat(1900)], value: { mail: "m".repeat(1900) } });
    process.stdout.write(JSON.stringify({ mutations: ["a", "b"].map(entry) }))' >"$work/pair"
request POST /atomic "@$work/pair" "${json[@]}"
request POST /indexes '{"name":"by_mail","prefix":["long"],"fields":["/mail"],"unique":true}' "${json[@]}"
until_field .state conflicted GET /indexes/by_mail
watch 'prefix=elsewhere'
answers 200 POST /atomic "@$work/pair" "${json[@]}"
end_watch
request DELETE /indexes/by_mail
request DELETE '/list?prefix=long'

test_case 'a watch of a prefix sends a reset after too many changes or bytes'
watch 'prefix='
node -e 'const mutations = Array.from({ length: 1000 }, (_, i) => ({ type: "set", key: ["m", i], value: 1 }));
    process.stdout.write(JSON.stringify({ mutations }))' >"$work/thousand"
request POST /atomic "@$work/thousand" "${json[@]}"
wait_until has_events 2
told 2 change '.entries | length' 1000
node -e 'const mutations = Array.from({ length: 999 }, (_, i) => ({ type: "set", key: ["m".repeat(300), i], value: 1 }));
    process.stdout.write(JSON.stringify({ mutations }))' >"$work/long"
request POST /atomic "@$work/long" "${json[@]}"
wait_until has_events 3
told 3 reset . '{}'
node -e 'const mutations = Array.from({ length: 20 }, (_, i) => ({ type: "set", key: ["b", i], value: "x".repeat(1e6) }));
    process.stdout.write(JSON.stringify({ mutations }))' >"$work/large"
answers 200 POST /atomic "@$work/large" "${json[@]}"
wait_until has_events 4
told 4 reset . '{}'
request PUT /kv/b/=1 1 "${json[@]}"
wait_until has_events 5
told 5 change '[.entries[].key]' '[["b",1]]'
end_watch

test_case 'copies that are kept by lists and events end up equal to the store'
node "$here/watch_copy.js" "$url" 1600 >"$work/copies"
is copies "$(awk '{ print $3 }' "$work/copies" | tr '\n' ' ')" 'same same '
is 'events were told' "$(awk '$1 > 20' "$work/copies" | wc -l)" 2
is 'and resets' "$(awk '$2 > 1' "$work/copies" | wc -l)" 2
nobody_watches() { curl -s "$url/metrics" | grep -q '^kindex_watch_streams 0$'; }
wait_until nobody_watches
is 'watches left: none' $? 0

test_case 'an invalid watch of a prefix is refused'
for query in 'prefix=a&key=b' 'prefix=a&versionstamps=00000000000000010000' 'prefix=%zz' 'prefix=["a"'; do
    request GET "/watch?$query" '' --globoff
    is "status of $query" "$(grep -c 'HTTP.* 400' "$head")" 1
done
answers 400 unknown-parameter GET '/watch?prefix=a&start=b'
answers 400 key-too-long GET "/watch?prefix=$(printf 'x%.0s' {1..2100})"
request POST '/indexes?paused=1' '{"name":"unbuilt","prefix":["b"],"fields":["/none"]}' "${json[@]}"
answers 409 index-not-ready GET '/watch?prefix=unbuilt/x'

test_case 'a server that stops ends a watch of a prefix'
watch 'prefix=a'
stop_server
is 'the exit status' $? 0
wait "$watcher"
is 'the end of the watch' $? 0
server=''
finish

#!/bin/bash
# GET /watch: a client that watches entries is told when they change, and never sees
# half of a commit.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/watch.sh"
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')
ulimit -n 8192
start_server

for protocol in http1.1 http2-prior-knowledge; do
    test_case "over $protocol: a watch sends all its keys first, then those that change"
    request PUT /kv/a 1 "${json[@]}"
    watch 'key=a&key=["b",2]' --$protocol
    is 'the first line' "$(head -1 "$work/events")" 'retry: 2000'
    event 1 '[.entries[] | .key, .value]' '[["a"],1,["b",2],null]'
    event 1 '.entries[1].versionstamp' null
    request PUT /kv/b/=2 '"two"' "${json[@]}"
    wait_until has_events 2
    event 2 '[.entries[] | .key, .value]' '[["b",2],"two"]'
    request DELETE /kv/a
    wait_until has_events 3
    event 3 '.entries' '[{"key":["a"],"value":null,"versionstamp":null}]'

    test_case "over $protocol: a watch does not send other keys"
    request PUT /kv/b '"other"' "${json[@]}"
    request PUT /kv/b/2 '"other"' "${json[@]}"
    request PUT /kv/b/=2/3 '"other"' "${json[@]}"
    request PUT /kv/a '"last"' "${json[@]}"
    wait_until has_events 4
    event 4 '[.entries[].value]' '["last"]'
    end_watch
    request DELETE /kv/b/=2

    test_case "over $protocol: a watch sends one event for a commit"
    watch 'key=x&key=y' --$protocol
    request POST /atomic '{"mutations":[{"type":"set","key":["x"],"value":1},
        {"type":"set","key":["y"],"value":1}]}' "${json[@]}"
    wait_until has_events 2
    event 2 '[.entries[].key[0]]' '["x","y"]'
    end_watch
    request DELETE '/list?prefix='
done

test_case 'the first event of a watch says where the entries under its key are'
request PUT /kv/team/ada 1 "${json[@]}"
request GET /list?prefix=team
watch 'key=team'
event 1 '.entries' '[{"key":["team"],"value":null,"versionstamp":null,"listedAt":"/list?prefix=team"}]'
request PUT /kv/team 1 "${json[@]}"
wait_until has_events 2
request DELETE /kv/team
wait_until has_events 3
event 3 '.entries' '[{"key":["team"],"value":null,"versionstamp":null}]'
end_watch
watch 'key=none'
event 1 '.entries' '[{"key":["none"],"value":null,"versionstamp":null}]'
end_watch
request DELETE '/list?prefix=team'

test_case 'a watch sends an event when its entry expires'
request PUT /kv/short 1 "${json[@]}"
watch 'key=short'
request PUT '/kv/short?ttl=500ms' 2 "${json[@]}" # a slow client does not see it
is_gone() { grep '^data: ' "$work/events" | tail -1 | grep -q '"versionstamp":null'; }
event 1 '.entries[0].value' 1
wait_until is_gone
is 'gone' $? 0
end_watch

test_case 'a watch reports index entries when their entry changes'
request POST /indexes '{"name":"by_email","prefix":["users"],
    "fields":["/email"],"unique":true}' "${json[@]}"
until_field .state ready GET /indexes/by_email
watch 'key=by_email/ada@x.org&key=by_email/other@x.org'
request PUT /kv/users/1 '{"email":"ada@x.org"}' "${json[@]}"
wait_until has_events 2
event 2 '[.entries[] | .key, .value]' '[["by_email","ada@x.org"],"1"]'
request PUT /kv/users/1 '{"email":"other@x.org"}' "${json[@]}"
wait_until has_events 3
event 3 '[.entries[].value]' '[null,"1"]'
request PUT /kv/users/1 '{"email":"other@x.org","n":1}' "${json[@]}"
request DELETE /kv/users/1
wait_until has_events 4
event 4 '[.entries[] | .key[1], .value]' '["other@x.org",null]'
end_watch

test_case 'a client that reconnects is sent the entries that have changed, and no others'
request PUT /kv/one 1 "${json[@]}"
request PUT /kv/two 2 "${json[@]}"
watch 'key=one&key=two&key=three'
end_watch
id=$(sed -n 's/^id: //p' "$work/events")
request PUT /kv/two 22 "${json[@]}"
watch 'key=one&key=two&key=three' --header "Last-Event-ID: $id"
event 1 '[.entries[] | .key[0], .value]' '["two",22]'
end_watch
watch "key=one&key=two&key=three&versionstamps=$id"
event 1 '[.entries[] | .key[0], .value]' '["two",22]'
request PUT /kv/three 3 "${json[@]}"
wait_until has_events 2
event 2 '[.entries[] | .key[0], .value]' '["three",3]'
end_watch

test_case 'a watch sends one event for many changes if its client does not read, with the last state'
head -c 200000 /dev/zero | tr '\0' x >"$work/long"
exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
printf 'GET /watch?key=slow HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3
for i in {1..60}; do
    { printf '[%d,"' "$i"; cat "$work/long"; printf '"]'; } >"$work/value"
    KX_RECORD='' request PUT /kv/slow "@$work/value" "${json[@]}"
done
{ timeout "$longest" sed -n '/^data: .*\[60,"/q;s/^data: .*"value":\[\([0-9]*\),.*/\1/p' \
    <&3 >"$work/seen"; } 2>"$work/null"
exec 3>&-
is 'fewer events than changes' "$(($(wc -l <"$work/seen") < 55))" 1
is 'in order' "$(sort -n "$work/seen" | uniq)" "$(cat "$work/seen")"

test_case 'an invalid watch is refused'
answers 400 bad-parameter GET /watch
field '.detail | contains("or one prefix (prefix=...)")' true
answers 400 bad-key GET '/watch?key='
answers 400 bad-parameter GET '/watch?key=a&key=%zz'
answers 400 bad-parameter GET '/watch?key=a&prefix=b'
answers 400 unknown-parameter GET '/watch?key=a&end=b'
answers 400 bad-parameter GET '/watch?key=a&key=b&versionstamps=00000000000000010000'
answers 400 bad-parameter GET '/watch?key=a' '' --header 'Last-Event-ID: 17'
answers 400 bad-parameter GET "/watch?$(printf 'key=a&%.0s' {1..101})"
answers 406 not-acceptable GET '/watch?key=a' '' --header 'Accept: application/x-ndjson'
answers 405 method-not-allowed POST /watch

# 8 KiB with two keys each. Over HTTP/1.1 each has a separate connection. In front of a
# database all of them wait for a worker at a time at first, with the memory of a request,
# of which the heap keeps holes.
while read -r version most; do
    [ "$ENGINE" != postgresql ] || most=$((2 * most))
    stop_server # so that none takes what the other has left
    start_server --connections-per-address 4096
    test_case "2,000 idle watches take little memory (HTTP/$version)"
    read -r each told left < <(node "$here/watch_many.js" 127.0.0.1 \
        "${url##*:}" "$server" 2000 "$version")
    is "told, of 2000" "$told" 2000
    is "left when all had gone" "$left" 0
    is "$each KiB for each are less than $most" \
        "$((${each%.*} < most * times))" 1
done <<<$'2 10\n1 10'

test_case 'a server that stops ends its watches'
watch 'key=a'
stop_server
is 'the exit status' $? 0
wait "$watcher"
is 'the end of the watch' $? 0
server=''
finish

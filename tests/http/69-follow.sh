#!/bin/bash
# GET /watch?index=: an index of changes is followed, from any place in it, and the
# ids of the events are the places.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/watch.sh"
start_server

declare_index() {
    request POST /indexes "$1"
    until_field .state ready GET "/indexes/$(jq -r .name <<<"$1")"
}

# The types of all events, and the keys and ids that they had, one after the other.
types() { sed -n 's/^event: //p' "$work/events" | paste -sd' '; }
keys() {
    sed -n 's/^data: //p' "$work/events" |
        jq -cr '.entries[]? | (.key[1:] | join("/")) + (if .deleted then "-" else "" end)' | paste -sd' '
}
ids() { sed -n 's/^id: //p' "$work/events"; }
last_id() { ids | tail -1; }
has_keys() { [ "$(keys)" = "$1" ]; }
is_current() { grep -q '^event: bookmark$' "$work/events"; }

# A watch that has all that there is.
follow() {
    watch "$@"
    wait_until is_current
}
stamp_of() {
    request GET "/kv/$1"
    header_value ETag | tr -d '"'
}

for protocol in http1.1 http2-prior-knowledge; do
    test_case "over $protocol: a watch of an index of changes sends all entries in the order of their changes, then new ones"
    request PUT /kv/docs/old 1
    declare_index '{"name":"log","prefix":["docs"],"fields":[{"versionstamp":true}],"tombstones":"7d"}'
    request PUT /kv/docs/a '{"n":1}'
    request PUT /kv/docs/b '{"n":2}'
    follow index=log --$protocol
    is 'the first line' "$(head -1 "$work/events")" 'retry: 2000'
    is 'the events' "$(types)" 'change change change bookmark'
    is 'the entries' "$(keys)" 'old a b'
    is 'the id at the end' "$(last_id)" "$(stamp_of docs/b)"
    event 2 '[.entries[] | .key, .value]' '[["docs","a"],{"n":1}]'
    request PATCH /kv/docs/a '{"n":3}'
    request DELETE /kv/docs/b
    removed=$(header_value ETag | tr -d '"')
    wait_until has_keys 'old a b a b-'
    is 'the entries' "$(keys)" 'old a b a b-'
    event 6 '.entries | map(del(.versionstamp))' '[{"key":["docs","b"],"deleted":true}]'
    end_watch
    place=$(last_id)

    test_case "over $protocol: a watch continues exactly after an id, as a parameter and as browsers send it"
    request PUT /kv/docs/c 4
    follow "index=log&since=$place" --$protocol
    is 'the entries' "$(keys)" c
    end_watch
    follow "index=log&since=00000000000000000000" --$protocol --header "Last-Event-ID: $place"
    is 'the entries' "$(keys)" c
    place=$(last_id)
    end_watch
    follow "index=log&since=$place" --$protocol
    is 'nothing' "$(keys)" ''
    is 'the events' "$(types)" bookmark
    is 'the place' "$(last_id)" "$place"
    end_watch
    request DELETE '/list?prefix=docs'
    request DELETE /indexes/log
done
request PUT /kv/docs/old 1
declare_index '{"name":"log","prefix":["docs"],"fields":[{"versionstamp":true}],"tombstones":"7d"}'

test_case 'the id of a watch is valid after a restart of the server'
follow index=log
place=$(last_id)
stop_server
wait "$watcher"
is 'the end of the watch' $? 0
start_server
request PUT /kv/docs/a 1
request DELETE /kv/docs/old
follow "index=log&since=$place"
is 'the entries' "$(keys)" 'a old-'
place=$(last_id)
end_watch

test_case 'a bookmark event has the position of commits that do not concern the client'
request PUT /kv/other 1
follow "index=log&since=$place"
is 'the events' "$(types)" bookmark
request GET /kv/other
is 'the place' "$(last_id)" "$(header_value ETag | tr -d '"')"
end_watch

test_case 'a commit has one event and one id'
request POST /atomic '{"mutations":[{"type":"set","key":["docs","x"],"value":1},
    {"type":"set","key":["docs","y"],"value":1},{"type":"delete","key":["docs","a"]}]}'
follow "index=log&since=$place"
is 'the events' "$(types)" 'change bookmark'
is 'the entries' "$(keys)" 'a- x y'
end_watch
place=$(last_id)

test_case 'a commit with many entries has several events, of which the last one has the id'
node -e 'const mutations = Array.from({ length: 900 }, (_, i) => ({ type: "set", key: ["docs", "m" + i], value: "x".repeat(700) }));
    process.stdout.write(JSON.stringify({ mutations }))' >"$work/many"
answers 200 POST /atomic "@$work/many"
large=$(value .versionstamp)
follow "index=log&since=$place"
is 'the events' "$(types)" 'change change change bookmark'
is 'the entries' "$(keys | wc -w)" 900
is 'the ids' "$(ids | sort -u)" "$large"
is 'they come with the last one' "$(awk '/^event: change/ { n++ } /^id: / { print n }' "$work/events" | paste -sd' ')" '3 3'
end_watch
request DELETE '/list?prefix=docs'

test_case 'a watch by fields before the versionstamp is a feed of one value'
declare_index '{"name":"feeds","prefix":["notes"],"fields":[{"path":"/of","fold":"lower"},{"versionstamp":true}],"tombstones":"7d"}'
request PUT /kv/notes/1 '{"of":"Ada"}'
request PUT /kv/notes/2 '{"of":"bob"}'
follow 'index=feeds&prefix=ADA'
is 'the entries' "$(keys)" 1
request PUT /kv/notes/3 '{"of":"bob"}'
request PATCH /kv/notes/1 '{"of":"bob"}'
request PUT /kv/notes/4 '{"of":"ada"}'
wait_until has_keys '1 1- 4'
is 'the entries' "$(keys)" '1 1- 4'
end_watch
follow 'index=feeds&prefix=bob'
is 'the entries' "$(keys)" '2 3 1'
end_watch

test_case 'an id before the first removal that the index has is gone'
declare_index '{"name":"short","prefix":["brief"],"fields":[{"versionstamp":true}],"tombstones":"1ms"}'
request PUT /kv/brief/a 1
follow index=short
place=$(last_id)
end_watch
request PUT /kv/brief/b 1
request DELETE /kv/brief/a
until_field '[.entries[].key[1]]' '["b"]' GET '/list?index=short'
answers 410 history-gone GET "/watch?index=short&since=$place"
field .listedAt '/list?index=short'
is 'the detail names the place' "$(value .detail | grep -c "$place")" 1
answers 410 history-gone GET '/watch?index=short' '' --header "Last-Event-ID: $place"
follow index=short
is 'what begins now has all' "$(keys)" b
end_watch

test_case 'an id of another store, or from before the index was declared again, is gone'
answers 410 history-gone GET '/watch?index=short&since=0fffffffffffffff0000'
answers 410 history-gone GET '/watch?index=feeds&prefix=bob&since=00000000000000010000'
field .listedAt '/list?index=feeds&prefix=bob'

test_case 'a watch ends with an error when the index becomes another one'
follow index=log
request DELETE /indexes/log
wait "$watcher"
is 'the end' "$(types | awk '{ print $NF }')" error
is 'the problem' "$(grep '^data: ' "$work/events" | tail -n 1 | sed 's/^data: //' | jq -r .code)" index-not-found
declare_index '{"name":"log","prefix":["docs"],"fields":[{"versionstamp":true}],"tombstones":"7d"}'

test_case 'a watch that is too slow for its tombstones ends with an error'
declare_index '{"name":"far","prefix":["away"],"fields":["/of",{"versionstamp":true}],"tombstones":"1ms"}'
follow 'index=far&prefix=a'
has_ended() {
    request PUT /kv/away/b '{"of":"b"}'
    request DELETE /kv/away/b
    until_field .entries '[]' GET '/list?index=far&prefix=b'
    request PUT /kv/away/a '{"of":"a"}'
    grep -q '^event: error$' "$work/events"
}
wait_until has_ended
wait "$watcher"
is 'the problem' "$(grep '^data: ' "$work/events" | tail -n 1 | sed 's/^data: //' | jq -r '.code, .listedAt' | paste -sd' ')" \
    'history-gone /list?index=far&prefix=a'

test_case 'an index of changes without removals is followed as well'
declare_index '{"name":"plain","prefix":["docs"],"fields":[{"versionstamp":true}]}'
request PUT /kv/docs/a 1
request PUT /kv/docs/b 1
follow index=plain
request DELETE /kv/docs/a
request PUT /kv/docs/c 1
wait_until has_keys 'a b c'
is 'the entries' "$(keys)" 'a b c'
end_watch

test_case 'an invalid watch of an index is refused'
declare_index '{"name":"by_n","prefix":["docs"],"fields":["/n"]}'
answers 400 bad-parameter GET '/watch?index=by_n'
answers 404 index-not-found GET '/watch?index=none'
for query in 'index=log&key=a' 'index=log&versionstamps=-' 'index=' 'index=log&prefix=a' 'index=feeds' \
    'index=feeds&prefix=a/b' 'index=log&since=' 'index=log&since=1' 'prefix=docs&since=00000000000000010000' \
    'key=docs/a&since=00000000000000010000' 'index=log&since=00000000000000010000,x'; do
    answers 400 bad-parameter GET "/watch?$query"
done
answers 400 key-too-long GET "/watch?index=feeds&prefix=$(printf 'x%.0s' {1..2040})"
request POST '/indexes?paused=1' '{"name":"unbuilt","prefix":["docs"],"fields":[{"versionstamp":true}]}'
answers 409 index-not-ready GET '/watch?index=unbuilt'
answers 406 not-acceptable GET '/watch?index=log' '' --header 'Accept: text/html'

test_case 'the command line follows an index'
timeout "$longest" "$KINDEX" watch --url "$url" --index feeds --prefix bob -n 3 >"$work/seen"
is 'the status' $? 0
is 'the entries' "$(jq -c .key "$work/seen" | paste -sd' ')" '["notes","2"] ["notes","3"] ["notes","1"]'
since=$(jq -r .versionstamp "$work/seen" | head -1)
timeout "$longest" "$KINDEX" watch --url "$url" --index feeds --prefix bob --since "$since" -n 2 >"$work/seen"
is 'the entries' "$(jq -c .key "$work/seen" | paste -sd' ')" '["notes","3"] ["notes","1"]'
request POST /atomic '{"mutations":[{"type":"set","key":["notes","4"],"value":{"of":"eve"}},{"type":"set","key":["notes","5"],"value":{"of":"eve"}}]}'
timeout "$longest" "$KINDEX" watch --url "$url" --index feeds --prefix eve -n 1 >"$work/seen"
is 'the whole commit' "$(jq -c .key "$work/seen" | paste -sd' ')" '["notes","4"] ["notes","5"]'
"$KINDEX" watch --url "$url" --index short --since "$place" >"$work/seen" 2>"$work/complaint"
is 'the problem' "$(grep -c 'all changes after versionstamp' "$work/complaint")" 1
"$KINDEX" watch --url "$url" --since "$place" docs/a >"$work/seen" 2>"$work/complaint"
is 'the status' $? 2

test_case 'kindex watch --state copies each change once, however often it is killed'
declare_index '{"name":"copied","prefix":["source"],"fields":[{"versionstamp":true}],"tombstones":"7d"}'
copy=$work/copy state=$work/copy.state
begin_copy() {
    "$KINDEX" watch --url "$url" --index copied --file "$copy" --state "$state" 2>"$work/complaint" &
    copier=$!
}
has_lines() { [ "$(wc -l <"$copy")" -ge "$1" ]; }
for round in {1..4}; do
    begin_copy
    for i in {1..30}; do
        echo "{\"key\":[\"source\",\"$round-$i\"],\"value\":$i}"
    done >"$work/lines"
    answers 200 POST /bulk "@$work/lines" --header 'Content-Type: application/x-ndjson'
    request PUT "/kv/source/$round" '"last"'
    wait_until has_lines $((round * 31 - 10))
    { kill -KILL $copier && wait $copier; } 2>"$work/null"
    printf '{"key":["source","torn' >>"$copy"
done
noted() { [ "$(jq .bytes "$state")" = "$(stat -c %s "$copy")" ] && has_lines "$1"; }
begin_copy
wait_until noted 124
request DELETE /kv/source/4
wait_until noted 125
is 'the last line' "$(tail -n 1 "$copy" | jq -c '[.key, .deleted]')" '[["source","4"],true]'
"$KINDEX" watch --url "$url" --index copied --file "$copy" --state "$state" 2>"$work/complaint"
is 'a second copy to the file' "$? $(grep -c 'in use by another program' "$work/complaint")" '1 1'
{ kill -KILL $copier && wait $copier; } 2>"$work/null"
request GET '/list?index=copied&limit=1000'
is 'a line of each change' "$(jq -c .key "$copy" | sort | uniq -c | awk '$1 != 1' | wc -l) $(wc -l <"$copy")" '1 125'
is 'the lines' "$(jq -c 'select(.key != ["source","4"])' "$copy" | sha256sum)" \
    "$(value '.entries[] | select(.key != ["source","4"])' | sha256sum)"

test_case 'a copy that cannot be continued is refused, and stays as it is'
before=$(sha256sum <"$copy")
refused() {
    "$KINDEX" watch --url "$url" "${@:2}" >"$work/seen" 2>"$work/complaint"
    is "the status of ${*:2}" "$? $(grep -c "$1" "$work/complaint")" "$expected 1"
}
expected=1
refused 'of another watch' --index feeds --prefix bob --file "$copy" --state "$state"
refused 'is not empty, but' --index copied --file "$copy" --state "$work/no.state"
refused 'is not the state file' --index copied --file "$work/other" --state "$copy"
refused 'is shorter than' --index copied --file "$work/other" --state "$state"
refused 'Is a directory' --index copied --file "$work" --state "$state"
expected=2
refused 'need each other' --index copied --state "$state"
refused 'needs --index' docs/a --file "$copy" --state "$state"
refused 'excludes --since' --index copied --file "$copy" --state "$state" --since 00000000000000010000
refused 'where --state is written' --index copied --file "$state" --state "$state"
refused 'where --state is written' --index copied --file "$state.part" --state "$state"
refused 'lines of JSON' --index copied --file "$copy" --state "$state" -o raw
is 'the copy' "$(sha256sum <"$copy")" "$before"
printf '{"index":"short","prefix":null,"id":"%s","bytes":0}' "$place" >"$work/gone.state"
expected=3
refused 'Remove the files of --file and --state' --index short --file "$work/gone" --state "$work/gone.state"

test_case 'a token needs watch for the prefix of the index'
make_token() {
    request POST /tokens "$1" --header "Authorization: Bearer $admin"
    value .token
}
request POST /tokens '{"name":"admin","grants":[{"scopes":["read","write","list","watch","index","admin","monitor"],"prefix":[]}]}'
admin=$(value .token)
docs=$(make_token '{"name":"docs","grants":[{"scopes":["watch"],"prefix":["docs"]}]}')
answers 403 forbidden GET '/watch?index=feeds&prefix=bob' '' --header "Authorization: Bearer $docs"
notes=$(make_token '{"name":"notes","grants":[{"scopes":["watch"],"prefix":["notes"]}]}')
follow 'index=feeds&prefix=BOB' --header "Authorization: Bearer $notes"
is 'the entries' "$(keys)" '2 3 1'

test_case 'a watch ends with its token'
request GET /tokens '' --header "Authorization: Bearer $admin"
request DELETE "/tokens/$(value '.tokens[] | select(.name == "notes") | .id' | tr -d '"')" '' --header "Authorization: Bearer $admin"
expect 204
wait "$watcher"
is 'the end of the watch' $? 0
finish

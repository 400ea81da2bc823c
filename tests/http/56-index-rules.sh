#!/bin/bash
# Which entries an index covers, what it takes from them, and why no client can
# make it wrong.
. "$(dirname "$0")/../lib/http.sh"
start_server

# The keys of an index's entries, without its name.
entries_of() {
    request GET "/list?prefix=$1&limit=1000"
    value '[.entries[].key[1:]]'
}

declare_index() {
    request POST /indexes "$1"
    [ "$status" = 201 ] || expect 201
}

test_case 'keys of an index cannot be written with anything else'
declare_index '{"name":"by_n","prefix":["e"],"fields":["/n"]}'
request PUT /kv/e/1 '{"n":1}'
request PUT /kv/by_n/=1/1 '"2"'
expect 409 index-owned-key
field '[.index, .holds, .key, .mutation]' '["by_n","1",["by_n",1,"1"],0]'
request PUT /kv/by_n/=2/1 '"1"'
expect 409 index-owned-key
field .holds null
request DELETE /kv/by_n/=1/1
expect 409 index-owned-key
request PATCH /kv/by_n/=1/1 '{"a":1}'
expect 409 index-owned-key
request POST /kv/by_n/=1 1
expect 409 index-owned-key
request POST /atomic '{"mutations":[{"type":"sum","key":["by_n",7],"value":1}]}'
expect 409 index-owned-key
request PUT /kv/by_n 1
expect 409 index-owned-key
is 'the entries' "$(entries_of by_n)" '[[1,"1"]]'

test_case 'what says what the index holds anyway is accepted, and changes nothing'
request GET /kv/by_n/=1/1
tag=$(header_value ETag)
request PUT /kv/by_n/=1/1 ' "1" '
expect 200
request DELETE /kv/by_n/=5/5
expect 204
request DELETE /kv/by_n/=5/5 '' --header 'Prefer: return=representation'
expect 404 key-not-found
request GET /kv/by_n/=1/1
header ETag "$tag"
body_is '"1"'

test_case 'only keys with the prefix and more parts are covered'
request PUT /kv/e '{"n":2}'
request PUT /kv/ee/1 '{"n":2}'
request PUT '/kv/e%00/1' '{"n":2}'
request PUT /kv/=b64:ZQ/1 '{"n":2}'
request PUT /kv/e/2/x/=3 '{"n":2}'
is 'the entries' "$(entries_of by_n)" '[[1,"1"],[2,"2","x",3]]'

test_case 'a primary key of several parts is an array in the pointer'
request GET /kv/by_n/=2/2/x/=3
body_is '["2","x",3]'
request GET '/list?index=by_n&prefix==2'
field '[.entries[].key]' '[["e","2","x",3]]'

test_case 'a pointer to a part that JSON lacks is typed'
request PUT /kv/e/=7n '{"n":3}'
request GET '/kv/by_n/=3/=7n'
header Content-Type application/vnd.kindex.typed+json
body_is '{"type":"bigint","value":"7"}'

test_case 'depth covers keys with exactly so many more parts'
declare_index '{"name":"by_d","prefix":["d"],"depth":2,"fields":["/n"]}'
for key in a a/b a/b/c; do
    request PUT "/kv/d/$key" '{"n":1}'
done
is 'the entries' "$(entries_of by_d)" '[[1,"a","b"]]'

test_case 'fields are taken by JSON Pointer, and keep their type and order'
declare_index '{"name":"by_v","prefix":["v"],"fields":["/a/0/x~1y"]}'
i=0
for v in '"b"' true 10 '"B"' -1.5 2 '""' false 1e2 '"a\u0000"' '"a"' '"é"'; do
    request PUT "/kv/v/=$((i++))" "{\"a\":[{\"x/y\":$v}]}"
done
request GET /list?index=by_v
field '[.entries[].value.a[0]["x/y"]]' '["","B","a","a\u0000","b","é",-1.5,2,10,100,false,true]'

test_case 'entries without an indexable value are left out'
for v in '{"a":[]}' '{}' '{"x/y":1,"a":1}' '{"a":[{"x/y":null}]}' '{"a":[{"x/y":[1]}]}' '{"a":[{"x/y":{}}]}' 1 '[]' 'null'; do
    request PUT "/kv/v/=$((i++))" "$v"
    expect 201
done
request PUT "/kv/v/=$((i++))" '{"a":[{"x/y":1}]}' -H 'Content-Type: text/plain'
expect 201
request GET /count?index=by_v
field .count 12

test_case 'an entry that loses its value leaves the index, and comes back with it'
request PUT /kv/v/=0 '{"a":[]}'
request GET /count?index=by_v
field .count 11
request PUT /kv/v/=0 '{"a":[{"x/y":"z"}]}'
request GET '/list?index=by_v&prefix=z'
field '[.entries[].key]' '[["v",0]]'
request PUT /kv/v/=0 x -H 'Content-Type: text/plain'
request GET '/list?index=by_v&prefix=z'
field .entries '[]'

test_case 'the path "" is the whole value'
declare_index '{"name":"by_whole","prefix":["w"],"fields":[""],"unique":true}'
request PUT /kv/w/1 '"one"'
request PUT /kv/w/2 '"one"'
expect 409 unique-violation

test_case 'a write of bytes names the indexes that do not look into them'
declare_index '{"name":"by_size","prefix":["files"],"fields":["/size"]}'
declare_index '{"name":"by_part","prefix":["files"],"fields":[{"key":1}]}'
declare_index '{"name":"by_deep","prefix":["files"],"depth":2,"fields":["/size",{"key":1}]}'
request PUT /kv/files/1 '{"size":1}' -H 'Content-Type: application/hal+json'
expect 201
header Kindex-Not-Indexed by_size
is 'the entries' "$(entries_of by_size) $(entries_of by_part)" '[] [["1","1"]]'
request PUT /kv/files/1/2 text -H 'Content-Type: text/plain'
header Kindex-Not-Indexed 'by_deep, by_size'
request POST /kv/files '' -H 'Content-Type: image/png'
expect 201
header Kindex-Not-Indexed by_size
request PUT /kv/other/1 text -H 'Content-Type: text/plain'
header Kindex-Not-Indexed ''
request PUT /kv/files/1 '{"size":1}'
expect 200
header Kindex-Not-Indexed ''
is 'the entries' "$(entries_of by_size)" '[[1,"1"]]'
for i in {1..9}; do
    declare_index "{\"name\":\"by_size_$i\",\"prefix\":[\"many\"],\"fields\":[\"/size\"]}"
done
request PUT /kv/many/1 text -H 'Content-Type: text/plain'
header Kindex-Not-Indexed 'by_size_1, by_size_2, by_size_3, by_size_4, by_size_5, by_size_6, by_size_7, by_size_8, ...'

test_case 'a refusal has the number of the mutation, also of one with a suffix'
request POST /atomic '{"mutations":[{"type":"set","key":["w","2"],"value":"two"},{"type":"set","key":["w"],"value":"one","suffix":"versionstamp"},{"type":"set","key":["w","3"],"value":"three"}]}'
expect 409 unique-violation
field '[.mutation, .attemptedKey[0], (.attemptedKey[1] | length)]' '[1,"w",20]'
request POST /atomic '{"mutations":[{"type":"set","key":["a"],"value":1},{"type":"set","key":["w","2"],"value":"one"},{"type":"set","key":["w"],"value":"two","suffix":"versionstamp"}]}'
expect 409 unique-violation
field '[.mutation, .attemptedKey]' '[1,["w","2"]]'

test_case 'several fields make one compound key, in their order'
declare_index '{"name":"by_name","prefix":["p"],"fields":["/last",{"path":"/first","fold":"lower"}]}'
for name in 'Lovelace Ada' 'Byron Anne' 'Byron ada' 'Lovelace augusta'; do
    request PUT "/kv/p/${name/ /-}" "{\"last\":\"${name% *}\",\"first\":\"${name#* }\"}"
done
request PUT /kv/p/none '{"last":"Byron"}'
request GET /list?index=by_name
field '[.entries[].key[1]]' '["Byron-ada","Byron-Anne","Lovelace-Ada","Lovelace-augusta"]'
request GET '/list?index=by_name&prefix=Byron'
field '[.entries[].key[1]]' '["Byron-ada","Byron-Anne"]'
request GET '/list?index=by_name&prefix=Byron/anne'
field '[.entries[].key[1]]' '["Byron-Anne"]'
request GET '/list?index=by_name&start=Byron/anne&end=Lovelace/ada'
field '[.entries[].key[1]]' '["Byron-Anne"]'

test_case 'a value beginning like another is another value'
request GET '/list?index=by_name&prefix=Byro'
field .entries '[]'

test_case 'folding is what JavaScript calls lower case, beyond ASCII too'
declare_index '{"name":"by_folded","prefix":["f"],"fields":[{"path":"/s","fold":"lower"}],"unique":true}'
request PUT /kv/f/1 '{"s":"GRÜSSE ΟΔΥΣΣΕΥΣ Ǆ İ"}'
is 'the entry' "$(entries_of by_folded)" '[["grüsse οδυσσευς ǆ i̇"]]'
request PUT /kv/f/2 '{"s":"grüsse Οδυσσευς ǅ i̇"}'
expect 409 unique-violation
request PUT /kv/f/2 '{"s":"Straße"}'
request PUT /kv/f/3 '{"s":"STRASSE"}'
expect 201

test_case 'numbers that are equal are one value, text and number are not'
declare_index '{"name":"by_u","prefix":["u"],"fields":["/n"],"unique":true}'
request PUT /kv/u/1 '{"n":100}'
request PUT /kv/u/2 '{"n":1e2}'
expect 409 unique-violation
field .value '[100]'
request PUT /kv/u/2 '{"n":"100"}'
expect 201
request PUT /kv/u/3 '{"n":true}'
expect 201
request GET /indexes/by_u/get/=100
header Content-Location /kv/u/1
request GET /indexes/by_u/get/100
header Content-Location /kv/u/2

test_case 'two entries can swap a unique value in one commit'
request POST /atomic '{"mutations":[{"type":"set","key":["u","1"],"value":{"n":"100"}},{"type":"set","key":["u","2"],"value":{"n":100}}]}'
expect 200
request GET /indexes/by_u/get/=100
header Content-Location /kv/u/2
request GET /indexes/by_u/get/100
header Content-Location /kv/u/1

test_case 'a unique value can go from one entry to another in one commit'
request POST /atomic '{"mutations":[{"type":"set","key":["u","9"],"value":{"n":100}},{"type":"delete","key":["u","2"]}]}'
expect 200
request GET /indexes/by_u/get/=100
header Content-Location /kv/u/9

test_case 'in an index that is not unique nothing is looked up by value alone'
request GET /indexes/by_n/get/=1
expect 409 index-not-unique
field .index by_n

test_case 'counters move in an index as they count'
declare_index '{"name":"by_score","prefix":["s"],"fields":[""]}'
request POST /atomic '{"mutations":[{"type":"sum","key":["s","a"],"value":5},{"type":"sum","key":["s","b"],"value":7}]}'
request POST /atomic '{"mutations":[{"type":"sum","key":["s","a"],"value":5}]}'
is 'the entries' "$(entries_of by_score)" '[[7,"b"],[10,"a"]]'
request GET '/list?index=by_score&reverse=true&limit=1'
field '[.entries[].key[1]]' '["a"]'

test_case 'a path may lead anywhere in a large value'
jq -nc '{a: [range(100000)]}' >"$work/large"
declare_index '{"name":"by_last","prefix":["long"],"fields":["/a/99999"]}'
declare_index '{"name":"by_beyond","prefix":["long"],"fields":["/a/100000"]}'
declare_index '{"name":"by_huge","prefix":["long"],"fields":["/a/99999999999999999999"]}'
declare_index '{"name":"by_dash","prefix":["long"],"fields":["/a/-"]}'
request PUT /kv/long/1 "@$work/large"
expect 201
is 'the entries' "$(entries_of by_last)" '[[99999,"1"]]'
is 'the entries' "$(entries_of by_beyond)$(entries_of by_huge)$(entries_of by_dash)" '[][][]'

test_case 'a value too long for a key is left out of the index, not refused'
request PUT /kv/e/long "{\"n\":\"$(printf '%03000d' 0)\"}"
expect 201
request GET "/kv/e/long"
expect 200
request GET '/list?index=by_n&start=0'
field '.entries | map(select(.key == ["e","long"])) | length' 0

test_case 'many writers of one unique value: one of them has it'
for i in {1..20}; do
    curl -s -o "$work/null" -w '%{http_code}\n' -X PUT "$url/kv/u/race$i" -d '{"n":"race"}' &
done >"$work/raced"
all_raced() { [ "$(wc -l <"$work/raced")" = 20 ]; }
wait_until all_raced
is 'the answers' "$(sort "$work/raced" | uniq -c | xargs)" '1 201 19 409'
request GET /indexes/by_u/get/race
expect 200

test_case 'a first part that continues after a zero byte is another name'
request PUT '/kv?key=%5B%22by_n%5Cu0000x%22,1%5D' 1
expect 201
request POST /indexes '{"name":"by_z","prefix":["by_n\u0000x"],"fields":["/n"]}'
is accepted "$((status / 100))" 2
request DELETE '/list?start=%5B%22by_n%22%5D&end=%5B%22by_n%5Cu0000y%22%5D'
expect 200
field .deleted 1
request DELETE '/list?prefix=by_n'
expect 409 index-owned-key

finish

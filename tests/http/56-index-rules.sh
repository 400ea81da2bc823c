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

test_case 'a write of a key of an index is refused unless it equals the entry of the index'
declare_index '{"name":"by_n","prefix":["e"],"fields":["/n"]}'
request PUT /kv/e/1 '{"n":1}'
answers 409 index-owned-key PUT /kv/by_n/=1/1 '"2"'
field '[.index, .holds, .key, .mutation]' '["by_n","1",["by_n",1,"1"],0]'
answers 409 index-owned-key PUT /kv/by_n/=2/1 '"1"'
field .holds null
answers 409 index-owned-key DELETE /kv/by_n/=1/1
answers 409 index-owned-key PATCH /kv/by_n/=1/1 '{"a":1}'
answers 409 index-owned-key POST /kv/by_n/=1 1
answers 409 index-owned-key POST /atomic '{"mutations":[{"type":"sum","key":["by_n",7],"value":1}]}'
answers 409 index-owned-key PUT /kv/by_n 1
is 'the entries' "$(entries_of by_n)" '[[1,"1"]]'

test_case 'a write that equals the index entry is accepted, and changes nothing'
request GET /kv/by_n/=1/1
tag=$(header_value ETag)
answers 200 PUT /kv/by_n/=1/1 ' "1" '
answers 204 DELETE /kv/by_n/=5/5
answers 404 key-not-found DELETE /kv/by_n/=5/5 '' --header 'Prefer: return=representation'
request GET /kv/by_n/=1/1
header ETag "$tag"
body_is '"1"'

test_case 'an index covers only keys with its prefix and more parts'
request PUT /kv/e '{"n":2}'
request PUT /kv/ee/1 '{"n":2}'
request PUT '/kv/e%00/1' '{"n":2}'
request PUT /kv/=b64:ZQ/1 '{"n":2}'
request PUT /kv/e/2/x/=3 '{"n":2}'
is 'the entries' "$(entries_of by_n)" '[[1,"1"],[2,"2","x",3]]'

test_case 'the pointer to a key of several parts is an array'
request GET /kv/by_n/=2/2/x/=3
body_is '["2","x",3]'
gives '[.entries[].key]' '[["e","2","x",3]]' GET '/list?index=by_n&prefix==2'

test_case 'the pointer to a key part that JSON lacks is typed'
request PUT /kv/e/=7n '{"n":3}'
request GET '/kv/by_n/=3/=7n'
header Content-Type application/vnd.kindex.typed+json
body_is '{"type":"bigint","value":"7"}'

test_case 'an index with depth covers keys with exactly so many more parts'
declare_index '{"name":"by_d","prefix":["d"],"depth":2,"fields":["/n"]}'
for key in a a/b a/b/c; do
    request PUT "/kv/d/$key" '{"n":1}'
done
is 'the entries' "$(entries_of by_d)" '[[1,"a","b"]]'

test_case 'fields of an index are found by JSON Pointer, and keep their type and order'
declare_index '{"name":"by_v","prefix":["v"],"fields":["/a/0/x~1y"]}'
i=0
for v in '"b"' true 10 '"B"' -1.5 2 '""' false 1e2 '"a\u0000"' '"a"' '"é"'; do
    request PUT "/kv/v/=$((i++))" "{\"a\":[{\"x/y\":$v}]}"
done
gives '[.entries[].value.a[0]["x/y"]]' '["","B","a","a\u0000","b","é",-1.5,2,10,100,false,true]' GET /list?index=by_v

test_case 'an index omits entries without an indexable value'
for v in '{"a":[]}' '{}' '{"x/y":1,"a":1}' '{"a":[{"x/y":null}]}' '{"a":[{"x/y":[1]}]}' '{"a":[{"x/y":{}}]}' 1 '[]' 'null'; do
    answers 201 PUT "/kv/v/=$((i++))" "$v"
done
answers 201 PUT "/kv/v/=$((i++))" '{"a":[{"x/y":1}]}' -H 'Content-Type: text/plain'
gives .count 12 GET /count?index=by_v

test_case 'an entry that loses its value leaves the index, and comes back with it'
request PUT /kv/v/=0 '{"a":[]}'
gives .count 11 GET /count?index=by_v
request PUT /kv/v/=0 '{"a":[{"x/y":"z"}]}'
gives '[.entries[].key]' '[["v",0]]' GET '/list?index=by_v&prefix=z'
request PUT /kv/v/=0 x -H 'Content-Type: text/plain'
gives .entries '[]' GET '/list?index=by_v&prefix=z'

test_case 'the path "" indexes the whole value'
declare_index '{"name":"by_whole","prefix":["w"],"fields":[""],"unique":true}'
request PUT /kv/w/1 '"one"'
answers 409 unique-violation PUT /kv/w/2 '"one"'

test_case 'a write of bytes names the indexes that cannot index them'
declare_index '{"name":"by_size","prefix":["files"],"fields":["/size"]}'
declare_index '{"name":"by_part","prefix":["files"],"fields":[{"key":1}]}'
declare_index '{"name":"by_deep","prefix":["files"],"depth":2,"fields":["/size",{"key":1}]}'
answers 201 PUT /kv/files/1 '{"size":1}' -H 'Content-Type: application/hal+json'
header Kindex-Not-Indexed by_size
is 'the entries' "$(entries_of by_size) $(entries_of by_part)" '[] [["1","1"]]'
request PUT /kv/files/1/2 text -H 'Content-Type: text/plain'
header Kindex-Not-Indexed 'by_deep, by_size'
answers 201 POST /kv/files '' -H 'Content-Type: image/png'
header Kindex-Not-Indexed by_size
request PUT /kv/other/1 text -H 'Content-Type: text/plain'
header Kindex-Not-Indexed ''
answers 200 PUT /kv/files/1 '{"size":1}'
header Kindex-Not-Indexed ''
is 'the entries' "$(entries_of by_size)" '[[1,"1"]]'
for i in {1..9}; do
    declare_index "{\"name\":\"by_size_$i\",\"prefix\":[\"many\"],\"fields\":[\"/size\"]}"
done
request PUT /kv/many/1 text -H 'Content-Type: text/plain'
header Kindex-Not-Indexed 'by_size_1, by_size_2, by_size_3, by_size_4, by_size_5, by_size_6, by_size_7, by_size_8, ...'

test_case 'a unique violation has the number of its mutation, also of one with a suffix'
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
gives '[.entries[].key[1]]' '["Byron-ada","Byron-Anne","Lovelace-Ada","Lovelace-augusta"]' GET /list?index=by_name
gives '[.entries[].key[1]]' '["Byron-ada","Byron-Anne"]' GET '/list?index=by_name&prefix=Byron'
gives '[.entries[].key[1]]' '["Byron-Anne"]' GET '/list?index=by_name&prefix=Byron/anne'
gives '[.entries[].key[1]]' '["Byron-Anne"]' GET '/list?index=by_name&start=Byron/anne&end=Lovelace/ada'

test_case 'a look-up does not find a value that only begins like it'
gives .entries '[]' GET '/list?index=by_name&prefix=Byro'

test_case 'fold lower equals toLowerCase of JavaScript, beyond ASCII too'
declare_index '{"name":"by_folded","prefix":["f"],"fields":[{"path":"/s","fold":"lower"}],"unique":true}'
request PUT /kv/f/1 '{"s":"GRÜSSE ΟΔΥΣΣΕΥΣ Ǆ İ"}'
is 'the entry' "$(entries_of by_folded)" '[["grüsse οδυσσευς ǆ i̇"]]'
answers 409 unique-violation PUT /kv/f/2 '{"s":"grüsse Οδυσσευς ǅ i̇"}'
request PUT /kv/f/2 '{"s":"Straße"}'
answers 201 PUT /kv/f/3 '{"s":"STRASSE"}'

test_case 'equal numbers are one value of an index, a text and a number are not'
declare_index '{"name":"by_u","prefix":["u"],"fields":["/n"],"unique":true}'
request PUT /kv/u/1 '{"n":100}'
answers 409 unique-violation PUT /kv/u/2 '{"n":1e2}'
field .value '[100]'
answers 201 PUT /kv/u/2 '{"n":"100"}'
answers 201 PUT /kv/u/3 '{"n":true}'
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

test_case 'an index that is not unique refuses a look-up by value alone'
answers 409 index-not-unique GET /indexes/by_n/get/=1
field .index by_n

test_case 'sums move their entry in an index'
declare_index '{"name":"by_score","prefix":["s"],"fields":[""]}'
request POST /atomic '{"mutations":[{"type":"sum","key":["s","a"],"value":5},{"type":"sum","key":["s","b"],"value":7}]}'
request POST /atomic '{"mutations":[{"type":"sum","key":["s","a"],"value":5}]}'
is 'the entries' "$(entries_of by_score)" '[[7,"b"],[10,"a"]]'
gives '[.entries[].key[1]]' '["a"]' GET '/list?index=by_score&reverse=true&limit=1'

test_case 'an index finds its path anywhere in a large value'
jq -nc '{a: [range(100000)]}' >"$work/large"
declare_index '{"name":"by_last","prefix":["long"],"fields":["/a/99999"]}'
declare_index '{"name":"by_beyond","prefix":["long"],"fields":["/a/100000"]}'
declare_index '{"name":"by_huge","prefix":["long"],"fields":["/a/99999999999999999999"]}'
declare_index '{"name":"by_dash","prefix":["long"],"fields":["/a/-"]}'
answers 201 PUT /kv/long/1 "@$work/large"
is 'the entries' "$(entries_of by_last)" '[[99999,"1"]]'
is 'the entries' "$(entries_of by_beyond)$(entries_of by_huge)$(entries_of by_dash)" '[][][]'

test_case 'a value too long for a key is left out of the index, not refused'
answers 201 PUT /kv/e/long "{\"n\":\"$(printf '%03000d' 0)\"}"
answers 200 GET "/kv/e/long"
gives '.entries | map(select(.key == ["e","long"])) | length' 0 GET '/list?index=by_n&start=0'

test_case 'one of many concurrent writers of a unique value gets it'
for i in {1..20}; do
    curl -s -o "$work/null" -w '%{http_code}\n' -X PUT "$url/kv/u/race$i" -d '{"n":"race"}' &
done >"$work/raced"
all_raced() { [ "$(wc -l <"$work/raced")" = 20 ]; }
wait_until all_raced
is 'the answers' "$(sort "$work/raced" | uniq -c | xargs)" '1 201 19 409'
answers 200 GET /indexes/by_u/get/race

test_case 'a key whose first part continues the name of an index after a zero byte is free'
answers 201 PUT '/kv?key=%5B%22by_n%5Cu0000x%22,1%5D' 1
request POST /indexes '{"name":"by_z","prefix":["by_n\u0000x"],"fields":["/n"]}'
is accepted "$((status / 100))" 2
answers 200 DELETE '/list?start=%5B%22by_n%22%5D&end=%5B%22by_n%5Cu0000y%22%5D'
field .deleted 1
answers 409 index-owned-key DELETE '/list?prefix=by_n'

finish

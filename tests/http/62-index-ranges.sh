#!/bin/bash
# Reads in the order of an index: bounds, direction, pages, keys, members, and
# how many entries had to be read for them.
. "$(dirname "$0")/../lib/http.sh"
start_server

keys() { # of the answer, on one line
    value '[.entries[].key[-1]]'
}

names() { # the same from NDJSON
    jq -rs '[.[] | select(.key) | .key[-1]] | join(" ")' "$answer"
}

metric() {
    curl -s "$url/metrics" | sed -n "s/^$1 //p"
}

# entries_read METHOD PATH [BODY]: looked up because an index points to them.
entries_read() {
    local before
    before=$(metric kindex_index_resolved_total)
    request "$@"
    [ "$status" = 200 ] || expect 200
    echo $(($(metric kindex_index_resolved_total) - before))
}

# Twelve users: every third in Paris, ages 20 to 31, names in two cases.
answers 200 POST /atomic "$(jq -nc '{mutations: [range(12) | {type: "set",
    key: ["users", ("u" + (100 + . | tostring)[1:])],
    value: {name: "User \(.)", age: (20 + .), email: "U\(.)@Example.org",
            home: {city: (["Paris", "Oslo", "paris"][. % 3]), zip: .},
            tags: ["a", "b"], note: null}}]}')"
declare_index() {
    request POST /indexes "$1"
    until_field .state ready GET "/indexes/$(jq -r .name <<<"$1")"
}
declare_index '{"name":"by_age","prefix":["users"],"fields":["/age"]}'
declare_index '{"name":"by_city","prefix":["users"],"fields":[{"path":"/home/city","fold":"lower"},"/age"]}'
declare_index '{"name":"by_email","prefix":["users"],"fields":[{"path":"/email","fold":"lower"}],"unique":true}'
declare_index '{"name":"parts","prefix":["users"],"fields":["/age"],"store":{"fields":["/name","/home"]}}'
declare_index '{"name":"copies","prefix":["users"],"fields":["/age"],"store":"value"}'

test_case 'a range of an index includes start and excludes end'
gives '[.entries[].value.age]' '[22,23,24]' GET '/list?index=by_age&start==22&end==25'
gives '[.entries[].value.age]' '[30,31]' GET '/list?index=by_age&start==30'
gives '[.entries[].value.age]' '[20,21]' GET '/list?index=by_age&end==22'
gives '[.entries[].value.age]' '[23,22]' GET '/list?index=by_age&start=[22]&end=[24]&reverse=true'
answers 400 bad-parameter GET '/list?index=by_age&start==25&end==22'

test_case 'a prefix of an index leaves the fields after it free, and can be bounded within'
gives '[.entries[].value.age]' '[21,24,27,30]' GET '/list?index=by_city&prefix=oslo'
gives '[.entries[].value.age]' '[24,27,30]' GET '/list?index=by_city&prefix=oslo&start=oslo/=24'
gives '[.entries[].value.age]' '[24,21]' GET '/list?index=by_city&prefix=oslo&end=oslo/=27&reverse=true'
answers 400 bad-parameter GET '/list?index=by_city&prefix=oslo&start=paris/=24'
field .parameter start

test_case 'a whole value as the prefix of an index does not find longer ones'
gives .entries '[]' GET '/list?index=by_city&prefix=osl'
gives .entries '[]' GET '/list?index=by_age&prefix==2'
gives .entries '[]' GET '/list?index=by_age&prefix=22'

test_case 'prefix, start and end of an index are folded as its entries are'
gives '[.entries[].value.age]' '[20,22,23,25,26,28,29,31]' GET '/list?index=by_city&prefix=PARIS'
gives .count 4 GET '/count?index=by_city&prefix=Oslo'
gives '[.entries[].value.age]' '[27,30]' GET '/list?index=by_city&prefix=OSLO&start=Oslo/=27'
gives '[.entries[].value.age]' '[30,31,21]' GET '/list?index=by_email&start=U10@&end=U2'
request POST /get '{"ranges":[{"index":"by_city","prefix":["OSLO"],"limit":2}]}'
field '[.ranges[0].entries[].value.age]' '[21,24]'
request GET '/list?index=by_city&prefix=PARIS' '' -H 'Accept: application/x-ndjson'
is 'the stream' "$(names)" 'u00 u02 u03 u05 u06 u08 u09 u11'

test_case 'pages of folded bounds continue at their position'
gives '[.entries[].value.age]' '[20,22,23]' GET '/list?index=by_city&prefix=PARIS&limit=3'
cursor=$(value .cursor)
gives '[.entries[].value.age]' '[25,26,28]' GET "/list?index=by_city&prefix=paris&limit=3&cursor=$cursor"

test_case 'a cursor refuses a change of each parameter of the selection, and of no others'
list='index=by_city&start=oslo/=23&end=paris/=28'
request GET "/list?$list&limit=2"
is 'the first page' "$(keys)" '["u04","u07"]'
cursor=$(value .cursor)
for other in 'index=by_age&start=oslo/=23&end=paris/=28' \
    'index=by_city&start=oslo/=24&end=paris/=28' \
    'index=by_city&start=oslo/=23&end=paris/=27' \
    'index=by_city&start=oslo/=23' 'index=by_city&end=paris/=28' \
    'index=by_city&prefix=oslo' 'index=by_city&prefix=oslo&start=oslo/=23' \
    "$list&reverse=true" 'start=oslo/=23&end=paris/=28' 'index=by_city' ''; do
    answers 400 cursor-mismatch GET "/list?$other&cursor=$cursor"
    field .parameter cursor
done
for same in "$list&limit=3" "$list&limit=3&keys=true" "$list&limit=3&fields=age" \
    "$list&limit=3&reverse=false" \
    'limit=3&index=by_city&end=["PARIS",28]&start=["Oslo",23]'; do
    answers 200 GET "/list?$same&cursor=$cursor"
    is "the next page of $same" "$(keys)" '["u10","u00","u02"]'
done
request POST /get "$(jq -nc --arg c "$cursor" '{ranges: [{index: "by_city", start: ["oslo", 23], end: ["paris", 28], cursor: $c, limit: 1}]}')"
field '.ranges[0].entries[0].key[1]' u10
request POST /get "$(jq -nc --arg c "$cursor" '{ranges: [{index: "by_city", start: ["oslo", 23], cursor: $c}]}')"
expect 400 cursor-mismatch

test_case 'a cursor of an index lasts beyond a restart'
stop_server
start_server
request GET "/list?$list&limit=3&cursor=$cursor"
is 'the next page' "$(keys)" '["u10","u00","u02"]'

test_case 'a list by an index with keys=true has keys only'
gives '[.entries[] | has("value") or has("typed")]' '[false,false,false]' GET '/list?index=by_age&start==29&keys=true'
request GET '/list?prefix=users&start=users/u09'
stamps=$(value '[.entries[].versionstamp]')
gives '[.entries[].versionstamp]' "$stamps" GET '/list?index=by_age&start==29&keys=true'

test_case 'fields shows only these members, nested as in the value'
gives .entries[0].value '{"name":"User 0","age":20}' GET '/list?index=by_age&limit=1&fields=name,age'
request GET '/list?index=by_age&limit=1&fields=/home/city,/note,/none,/home/none'
field .entries[0].value '{"home":{"city":"Paris"},"note":null}'
request GET '/list?index=by_age&limit=1&fields=home,/home/city,home'
field .entries[0].value '{"home":{"city":"Paris","zip":0}}'
gives .entries[0].value '{"tags":["a","b"]}' GET '/list?index=by_age&limit=1&fields=/tags/0,/tags'
gives .entries[0].value '{}' GET '/list?index=by_age&limit=1&fields=/tags/0'
gives '[.entries[].value]' '[{"age":20},{"age":21}]' GET '/list?prefix=users&limit=2&fields=age'
request GET '/list?prefix=users&limit=2&fields=age' '' -H 'Accept: application/x-ndjson'
is 'the stream' "$(head -2 "$answer" | jq -c .value | xargs)" '{age:20} {age:21}'
answers 200 GET '/kv/users/u03?fields=/home/zip'
body_is '{"home":{"zip":3}}'
header Content-Type application/json
request GET '/indexes/by_email/get/U3@EXAMPLE.org?fields=age'
body_is '{"age":23}'
header Content-Location /kv/users/u03
request POST /get '{"keys":[["users","u01"],["users","none"]],"fields":["/age"],"ranges":[{"index":"by_age","start":[31],"fields":["name"]}]}'
field '[.entries[].value]' '[{"age":21},null]'
field '[.ranges[0].entries[].value]' '[{"name":"User 11"}]'

test_case 'fields takes names with special characters, and values without members'
request PUT /kv/odd/a '{"a,b":1,"a/b":2,"~":3,"":4,"é":5,"x\u0041":6}'
request GET '/kv/odd/a?fields=["a,b"]'
body_is '{"a,b":1}'
request GET '/kv/odd/a?fields=a/b,~,%C3%A9,xA,/'
body_is '{"a/b":2,"~":3,"é":5,"xA":6,"":4}'
request PUT /kv/odd/b '[1,2]'
request GET '/kv/odd/b?fields=0'
body_is '{}'
request PUT /kv/odd/c raw -H 'Content-Type: text/plain'
request GET '/kv/odd/c?fields=a'
body_is '{}'
header Content-Type application/json

test_case 'fields shows members of values that JSON cannot express'
request POST /atomic '{"mutations":[{"type":"set","key":["odd","d"],"typed":{"type":"object","value":{"when":{"type":"Date","value":"2024-02-29T12:00:00.000Z"},"name":{"type":"string","value":"x"}}}},
    {"type":"set","key":["odd","e"],"typed":{"type":"KvU64","value":"1"}}]}'
expect 200
request GET '/kv/odd/d?fields=when,none'
body_is '{"type":"object","value":{"when":{"type":"Date","value":"2024-02-29T12:00:00.000Z"}}}'
header Content-Type application/vnd.kindex.typed+json
gives '[.entries[] | .value, .typed]' '[{"name":"x"},null,{},null]' GET '/list?prefix=odd&start=odd/d&fields=name'

test_case 'an index that stores members shows them as the entry does, also those of V8'
declare_index '{"name":"pointers","prefix":["v"],"fields":["/n"]}'
declare_index '{"name":"members","prefix":["v"],"fields":["/n"],"store":{"fields":["/when","/name","/o/x"]}}'
answers 200 POST /atomic '{"mutations":[
    {"type":"set","key":["v",1],"typed":{"type":"object","value":{"n":{"type":"number","value":1},"when":{"type":"Date","value":"2024-02-29T12:00:00.000Z"},"name":{"type":"string","value":"x"},"o":{"type":"object","value":{"x":{"type":"bigint","value":"5"},"y":{"type":"number","value":5}}}}}},
    {"type":"set","key":["v",2],"typed":{"type":"object","value":{"n":{"type":"number","value":2},"name":{"type":"string","value":"y"},"m":{"type":"Map","value":[]}}}},
    {"type":"set","key":["v",3],"value":{"n":3,"name":"z","o":{"x":1}}}]}'
for fields in name when,name /o/x when /o/x,name none; do
    request GET "/list?index=pointers&fields=$fields"
    followed=$(value .entries)
    gives .entries "$followed" GET "/list?index=members&fields=$fields"
done
gives '[.entries[].value]' '[{"name":"x"},{"name":"y"},{"name":"z"}]' GET "/list?index=members&fields=name"

test_case 'malformed fields are refused'
for wrong in '' ',' 'a,' '/a~2' '[]' '[1]' '["a"' "$(printf '%s,' {1..16})17" "$(printf '%0600d' 0)"; do
    answers 400 GET "/list?prefix=users&fields=$wrong"
    is "the parameter of ${wrong:0:20}" "$(value .parameter)" fields
done
answers 400 bad-parameter GET '/list?prefix=users&keys=true&fields=age'
answers 400 bad-request POST /get '{"keys":[],"fields":["a",1]}'
field .pointer /fields/1
answers 400 bad-request POST /get '{"ranges":[{"fields":["a"],"keys":true}]}'
answers 400 unknown-parameter GET '/count?prefix=users&fields=age'

test_case 'the name of an index cannot be empty'
for path in '/list?index=' '/list?index=&prefix=a' '/count?index='; do
    answers 400 bad-parameter GET "$path"
    field .parameter index
    field '.detail | test("empty.*leave out index")' true
done
answers 400 bad-request POST /get '{"ranges":[{"index":""}]}'
field .pointer /ranges/0/index
answers 404 index-not-found GET '/list?index=none'

test_case 'a list by an index reads an entry for each pointer, and none for a copy'
is 'a list of pointers' "$(entries_read GET '/list?index=by_age&limit=5')" 6
is 'a list of copies' "$(entries_read GET '/list?index=copies&limit=5')" 0
is 'its values' "$(value '[.entries[].value.age]')" '[20,21,22,23,24]'
is 'keys of copies' "$(entries_read GET '/list?index=copies&keys=true')" 0
is 'a look-up of a pointer' "$(entries_read GET /indexes/by_email/get/u3@example.org)" 1
is 'a count' "$(entries_read GET '/count?index=by_age')" 0
is 'the count' "$(value .count)" 12
is 'the entries themselves' "$(entries_read GET '/list?prefix=users')" 0

test_case 'an index that stores members answers for them alone without reading entries'
for fields in name /home/city,name /home/zip; do
    request GET "/list?index=by_age&limit=5&fields=$fields"
    all=$(value .entries)
    is "the members $fields" "$(entries_read GET "/list?index=parts&limit=5&fields=$fields") $(value .entries)" "0 $all"
done
is 'another one' "$(entries_read GET '/list?index=parts&limit=5&fields=name,age') $(value .entries[0].value)" '6 {"name":"User 0","age":20}'
is 'more than is stored' "$(entries_read GET '/list?index=parts&limit=5&fields=/hom')" 6
request GET '/list?index=copies&limit=5'
all=$(value .entries)
is 'the whole value' "$(entries_read GET '/list?index=parts&limit=5') $(value .entries)" "6 $all"
request GET '/list?index=parts&limit=2&fields=name' '' -H 'Accept: application/x-ndjson'
is 'a stream of them' "$(head -1 "$answer" | jq -c .value)" '{"name":"User 0"}'
request PATCH /kv/users/u04 '{"age":24,"note":"new"}'
stamp=$(value .versionstamp)
gives '[.entries[] | .key[1], .versionstamp]' "[\"u04\",\"$stamp\"]" GET '/list?index=parts&prefix==24&fields=name'

test_case 'a copy in an index has the versionstamp of its entry'
request PATCH /kv/users/u05 '{"name":"Other"}'
stamp=$(value .versionstamp)
request GET '/list?index=copies&prefix==25'
field '[.entries[] | .key, .versionstamp, .value.name]' "[[\"users\",\"u05\"],\"$stamp\",\"Other\"]"

test_case 'an expired entry is in no list and no count of an index'
request PUT '/kv/users/u99?ttl=1ms' '{"age":99}'
until_field .count 12 GET '/count?index=by_age'
gives .entries '[]' GET '/list?index=by_age&start==90'

finish

#!/bin/bash
# Lists with conditions: the server tests the entries of a range, reads a limited
# number of them for a page, and says how many.
. "$(dirname "$0")/../lib/http.sh"
start_server --scan-max 1200 --slow-ms 0

# found WHERE [PARAMETERS]: the last parts of the keys that the list shows.
found() {
    request GET "/list?${2:-prefix=w&keys=true}" '' -G --data-urlencode "where=$1"
    [ "$status" = 200 ] || expect 200
    value '[.entries[].key[-1] | tostring] | join(" ")'
}

request PUT /kv/w/=1 '{"n":1,"s":"a","t":{"u":true}}'
request PUT /kv/w/=2 '{"n":2,"s":null}'
request PUT /kv/w/=3 '{"n":3.5,"s":"b","t":{"u":false}}'
request PUT /kv/w/=4 '{"n":"2"}'
request PUT /kv/w/=5 '[1,2]'
request PUT /kv/w/=6 'text' -H 'Content-Type: text/plain'
request PUT /kv/w/=7 '{"type":"object","value":{"n":{"type":"number","value":2},"d":{"type":"Date","value":"2023-04-23T00:00:00.123Z"}}}' -H 'Content-Type: application/vnd.kindex.typed+json'

test_case 'a list filtered by where has the comparisons of declarations'
is equal "$(found '{"path":"/n","eq":2}')" '2 7'
is 'not equal' "$(found '{"path":"/n","ne":2}')" '1 3 4 5 6'
is 'one of' "$(found '{"path":"/n","in":[1,"2"]}')" '1 4'
is null "$(found '{"path":"/s","eq":null}')" '2'
is exists "$(found '{"path":"/t/u","exists":true}')" '1 3'
is missing "$(found '{"path":"/n","exists":false}')" '5 6'
is 'a range' "$(found '{"path":"/n","gt":1,"le":3.5}')" '2 3 7'
is 'of texts' "$(found '{"path":"/n","ge":"1"}')" '4'
is 'all of several' "$(found '[{"path":"/n","ge":1},{"path":"/t/u","eq":true}]')" '1'
is 'an element' "$(found '{"path":"/0","eq":1}')" '5'
is 'none' "$(found '{"path":"/n","eq":"none"}')" ''
field '[.read, .cursor]' '[7,null]'

test_case 'a list filtered by where shows values and parts of them'
found '{"path":"/n","eq":3.5}' prefix=w >"$work/out"
field '.entries[0].value' '{"n":3.5,"s":"b","t":{"u":false}}'
found '{"path":"/n","eq":3.5}' 'prefix=w&fields=s' >"$work/out"
field '.entries[0].value' '{"s":"b"}'
found '{"path":"/n","eq":3.5}' 'prefix=w&preview=4' >"$work/out"
field '.entries[0].preview' '{"n"'

test_case 'a filtered list by an index tests the range of the index, in its order'
request POST /indexes '{"name":"w_by_n","prefix":["w"],"fields":["/n"],"store":{"fields":["/n"]}}'
until_field .state ready GET /indexes/w_by_n
is 'backwards' "$(found '{"path":"/s","exists":true}' 'index=w_by_n&reverse=true')" '3 2 1'
is 'members that the index does not store' "$(found '{"path":"/s","eq":"b"}' 'index=w_by_n&fields=n')" '3'
field '.entries[0].value' '{"n":3.5}'
is 'within bounds' "$(found '{"path":"/s","exists":true}' 'index=w_by_n&start==2&end==3')" '2'
field .read 2

for i in {0..4}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | (. + 1000 * $i) as $n | {type: "set", key: ["many", $n], value: {n: $n, odd: ($n % 2 == 1)}}]}')"
done

test_case 'a filtered page reads a limited number of entries, and continues with a cursor'
rare='{"path":"/n","in":[5,1199,1200,3000,4999]}'
pages='' cursor=''
until [ "$cursor" = null ]; do
    pages+="$(found "$rare" "prefix=many${cursor:+&cursor=$cursor}") "
    request GET "/list?prefix=many${cursor:+&cursor=$cursor}" '' -G --data-urlencode "where=$rare"
    pages+="($(value .read)) "
    cursor=$(value .cursor)
done
is 'the pages' "$pages" '5 1199 (1200) 1200 (1200) 3000 (1200)  (1200) 4999 (200) '
found '{"path":"/odd","eq":true}' 'prefix=many&limit=3' >"$work/out"
is 'a full page' "$(cat "$work/out")" '1 3 5'
field .read 6
is 'the next one' "$(found '{"path":"/odd","eq":true}' "prefix=many&limit=3&cursor=$(value .cursor)")" '7 9 11'
cursor=$(value .cursor)
answers 400 cursor-mismatch GET "/list?prefix=many&cursor=$cursor"
request GET "/list?prefix=many&cursor=$cursor" '' -G --data-urlencode 'where={"path":"/odd","eq":false}'
expect 400 cursor-mismatch

test_case 'a filtered stream reads all entries, and says how many'
request GET '/list?prefix=many' '' -G --data-urlencode "where=$rare" -H 'Accept: application/x-ndjson'
is 'the keys' "$(jq -c 'select(.key) | .key[1]' "$answer" | xargs)" '5 1199 1200 3000 4999'
is 'the last line' "$(tail -1 "$answer")" '{"end":true,"count":5,"read":5000}'
request GET '/list?prefix=many&limit=2' '' -G --data-urlencode "where=$rare" -H 'Accept: application/x-ndjson'
is 'the last line' "$(tail -1 "$answer")" '{"end":true,"count":2,"read":1200}'
is 'the command line' "$("$KINDEX" ls many --where "$rare" -o raw --url "$url" | xargs)" \
    'many/=5 many/=1199 many/=1200 many/=3000 many/=4999'

test_case 'an explanation gives the filtered list for a query that no index answers'
request POST /explain '{"prefix":["many"],"where":[{"path":"/n","ge":4998},{"path":"/odd","eq":true}]}'
field '[.request, has("declaration")]' '[null,true]'
filtered=$(value .filtered)
request GET "$filtered&limit=1000"
cursor=$(value .cursor)
is 'none on the first page' "$(value '[.entries, .read]')" '[[],1200]'
request GET "$filtered" '' -H 'Accept: application/x-ndjson'
is 'what it finds' "$(jq -c 'select(.key) | .key[1]' "$answer")" 4999
request POST /explain '{"prefix":["w"],"where":[{"path":"/n","eq":2},{"path":"/s","eq":null}]}'
field '.filtered | startswith("/list?index=w_by_n&prefix==2&where=")' true
gives '[.entries[].key[1]]' '[2]' GET "$(value .filtered)"
gives 'has("filtered")' false POST /explain '{"prefix":["many"],"where":[{"path":"/x","fold":"lower","eq":"a"}]}'
gives '[.index, has("filtered")]' '["w_by_n",false]' POST /explain '{"prefix":["w"],"where":{"path":"/n","eq":2}}'

test_case 'a page that reads much more than it shows gets an advice, and /slow has it'
wanted='{"path":"/ä","eq":7}'
found "$wanted" prefix=many >"$work/out"
find_header Kindex-Advice
is 'what was read for it' "$(value .read)" 1200
is 'ASCII' "$(grep -c '^[ -~]*$' <<<"$found")" 1
declaration=$(jq -c .declaration <<<"$found")
is 'the declaration' "$(jq -c '[.prefix, .fields]' <<<"$declaration")" '[["many"],[{"path":"/ä"}]]'
request GET /slow?limit=1
is 'it is kept' "$(value '.requests[0].advice.declaration.fields')" '[{"path":"/ä"}]'
request POST /indexes "$declaration"
name=$(value .name)
until_field .state ready GET "/indexes/$name"
found "$wanted" prefix=many >"$work/out"
header Kindex-Advice "{\"index\":\"$name\"}"
found '{"path":"/odd","eq":true}' 'prefix=many&limit=1000' >"$work/out"
is 'what was read for 600' "$(value .read)" 1200
header Kindex-Advice ''
found '{"path":"/n","lt":600}' 'prefix=many&limit=5' >"$work/out"
header Kindex-Advice ''
found "$rare" "index=$name" >"$work/out"
header Kindex-Advice ''

test_case 'a condition has a short form, in addresses and on the command line'
short() {
    request GET "/list?prefix=w/&keys=true&where=$1"
    [ "$status" = 200 ] || expect 200
    value '[.entries[].key[-1] | tostring] | join(" ")'
}
is equal "$(short 's=a')" 1
is 'equal to a number' "$(short 'n=2')" '2 7'
is 'equal to a text of digits' "$(short 'n=%222%22')" 4
is 'not equal' "$(short 'n!=2')" '1 3 4 5 6'
is null "$(short 's=null')" 2
is 'a range' "$(short 'n%3E1,n%3C=3.5')" '2 3 7'
is 'a range, not escaped' "$(short 'n>1,n<=3.5')" '2 3 7'
is 'a path of two' "$(short 't/u=true')" 1
is 'a pointer' "$(short '/t/u=true,/n%3E=1')" 1
is 'nothing' "$(short 's=')" ''
request PUT /kv/commas/1 '{"s":"a,b\"","t":"x"}'
is 'a quoted text' "$("$KINDEX" ls commas/ --where 's="a,b\"",t=x' -o raw --url "$url")" commas/1
for where in s 's%3E' '=1' 's=a,' 's=a,,t=b' 's="a"b"' 's="a'; do
    answers 400 bad-parameter GET '/list?prefix=w' '' -G --data-urlencode "where=$where"
    field .parameter where
done
"$KINDEX" index add w_open w/ n --where 's=a,n>=1' --dry-run --url "$url" >"$work/out"
is 'the declaration' "$(jq -c '.declaration | [.prefix, .where]' "$work/out")" '[["w"],[{"path":"/s","eq":"a"},{"path":"/n","ge":1}]]'
"$KINDEX" index add w_open w n --where nothing --url "$url" 2>"$work/complaint"
is 'the status' "$? $(grep -c 'neither a condition' "$work/complaint")" '2 1'

test_case 'a prefix may end with a slash, a key may not'
gives .count 7 GET '/count?prefix=w/'
gives .count 7 GET '/count?prefix=%5B%22w%22%5D'
for query in 'list?prefix=w//' 'list?prefix=/' 'list?start=w/' 'list?prefix=w%2F' 'tree?prefix=w//'; do
    answers 400 bad-key GET "/$query"
done
answers 400 bad-key GET /kv/w/

test_case 'an invalid condition is refused, and the error points into it'
for where in x '' '[]' '{}' '{"path":"/n"}' '{"path":"n","eq":1}' '{"path":"/n","equals":1}' \
    '{"path":"/n","gt":null}' '{"key":1,"eq":1}' '{"path":"/n","eq":{}}' '1' '{"path":"/n","eq":1'; do
    answers 400 bad-parameter GET '/list?prefix=w' '' -G --data-urlencode "where=$where"
    field .parameter where
done
request GET '/list?prefix=w' '' -G --data-urlencode 'where=[{"path":"/n","eq":1},{"path":"/s","in":[1,{}]}]'
field '.detail | contains("/1/in/1")' true

finish

#!/bin/bash
# Lists: which entries a prefix, a start and an end select, and in what order.
. "$(dirname "$0")/../lib/http.sh"
start_server

# Keys of a list, without their first part, as one line.
listed() {
    request GET "/list?$1"
    [ "$status" = 200 ] || expect 200
    value '[.entries[].key[1:]]'
}

for path in l l/a l/a/x l/a%00b l/ab l/b l/=1 l/=2 l/=10 l/=true m lm; do
    request PUT "/kv/$path" "\"$path\""
done

test_case 'a list has keys, values and versionstamps'
answers 200 GET /list?prefix=l/a
header Content-Type application/json
field '.entries | map(keys)' '[["key","value","versionstamp"]]'
field '.entries[0] | [.key, .value]' '[["l","a","x"],"l/a/x"]'
field '.entries[0].versionstamp | test("^[0-9a-f]{20}$")' true
field .cursor null

test_case 'a prefix selects by whole parts, and its own key is not listed'
is 'below l' "$(listed prefix=l)" \
    '[["a"],["a","x"],["a\u0000b"],["ab"],["b"],[1],[2],[10],[true]]'
is 'below l, a' "$(listed prefix=l/a)" '[["a","x"]]'
is 'below l, a\0b' "$(listed 'prefix=l/a%00b')" '[]'
is 'below x' "$(listed prefix=x)" '[]'

test_case 'a prefix can be a path or a JSON array'
is 'below l' "$(listed 'prefix=%5B%22l%22,%22a%22%5D')" '[["a","x"]]'
is 'raw brackets' "$(listed 'prefix=["l","a"]')" '[["a","x"]]'
is 'below the number' "$(listed 'prefix=l/=1')" '[]'
gives '.entries | length' 0 GET /list '' --url-query 'prefix=["l/a"]'

test_case 'a list without a selection has every entry'
gives '.entries | length' 12 GET /list
gives '.entries | length' 12 GET '/list?prefix=[]'
gives '.entries | length' 12 GET '/list?prefix='

test_case 'start is inclusive, end is exclusive'
is 'from a to b' "$(listed 'start=l/a&end=l/b')" '[["a"],["a","x"],["a\u0000b"],["ab"]]'
is 'from 2' "$(listed 'prefix=l&start=l/=2')" '[[2],[10],[true]]'
is 'up to 2' "$(listed 'prefix=l&end=l/a')" '[]'
is 'up to b' "$(listed 'prefix=l&end=l/ab')" '[["a"],["a","x"],["a\u0000b"]]'
is 'nothing' "$(listed 'start=l/a&end=l/a')" '[]'

test_case 'reverse turns the order, not the bounds'
is 'from a to b' "$(listed 'start=l/a&end=l/b&reverse=true')" '[["ab"],["a\u0000b"],["a","x"],["a"]]'
is 'the last' "$(listed 'prefix=l&reverse=true&limit=1')" '[[true]]'
is 'reverse=false' "$(listed 'prefix=l&reverse=false&limit=1')" '[["a"]]'

test_case 'contradictory bounds of a list are refused'
answers 400 bad-parameter GET '/list?start=l/b&end=l/a'
answers 400 bad-parameter GET '/list?prefix=l&start=l/a&end=l/b'
answers 400 bad-parameter GET '/list?start=l/a'
answers 400 bad-parameter GET '/list?prefix=l&start=m/a'
field '.detail | contains("must begin with the prefix'"'"'s parts")' true
field .parameter start
answers 400 bad-parameter GET '/list?prefix=l&end=l'
answers 400 bad-parameter GET '/list?prefix=l/a&start=l/a%00b'

test_case 'the limit of a list is a whole number from 1 to 1000, and 100 by default'
for limit in 0 -1 1001 2147483648 18446744073709551617 1.5 1e2 x ''; do
    answers 400 bad-parameter GET "/list?limit=$limit"
    field .parameter limit
done
for i in {0..9}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(101) | {type: "set", key: ["many", . + 101 * $i], value: .}]}')"
done
gives '.entries | length' 100 GET /list?prefix=many
request GET '/list?prefix=many&limit=1000'
field '.entries | length' 1000
field '[.entries[].key[1]] == [range(1000)]' true

test_case 'a list with share begins about there, and pages continue from it'
first() { request GET "/list?prefix=many&keys=true&limit=1&$1"; [ "$status" = 200 ] || expect 200; value '.entries[0].key[1]'; }
is 'the beginning' "$(first share=0)" 0
half=$(first share=0.5)
is 'about half' "$((half >= 250 && half <= 760))" 1
is 'the same, written otherwise' "$(first share=5e-1)" "$half"
back=$(first 'share=0.5&reverse=true')
is 'before it' "$back" $((half - 1))
late=$(first share=0.9)
is 'later' "$((late > half))" 1
request GET '/list?prefix=many&limit=2&share=0.5'
cursor=$(value .cursor)
is 'the next page' "$(first "cursor=$cursor")" $((half + 2))
is 'the cursor decides' "$(first "share=0.1&cursor=$cursor")" $((half + 2))
request GET '/list?prefix=many&share=0.5' '' -H 'Accept: application/x-ndjson'
is 'a stream' "$(tail -1 "$answer")" "{\"end\":true,\"count\":$((1010 - half))}"
is 'the command line' "$("$KINDEX" ls many --share 0.5 -n 1 -o raw --url "$url")" "many/=$half"
gives . '{"entries":[],"cursor":null}' GET '/list?prefix=nothing&share=0.5'
answers 200 GET '/list?prefix=l/a&share=0.5'
answers 200 GET '/list?share=1'
for share in 1.1 -0.1 x 50% ''; do
    answers 400 bad-parameter GET "/list?share=$share"
    field .parameter share
done
answers 404 index-not-found GET '/list?index=none&share=0.5'

test_case 'keys=true leaves the values out'
gives '.entries | map(keys)' '[["key","versionstamp"]]' GET '/list?prefix=l/a&keys=true'
answers 400 bad-parameter GET '/list?prefix=l/a&keys=maybe'

test_case 'preview shows kind, size and the beginning of values in their place'
request PUT /kv/pre/=1 '{"n": 12345678901234567890, "é": [1,2,3]}'
request PUT /kv/pre/=2 'Grüße' -H 'Content-Type: text/plain; charset=utf-8'
printf '\377\000\376' >"$work/binary"
request PUT /kv/pre/=3 "@$work/binary" -H 'Content-Type: image/x'
request PUT /kv/pre/=4 '{"type":"KvU64","value":"42"}' -H 'Content-Type: application/vnd.kindex.typed+json'
request PUT /kv/pre/=5?ttl=1h '""'
request GET '/list?prefix=pre&preview=32'
field '.entries | map(del(.versionstamp, .key) | if .expiresAt then .expiresAt = 0 else . end)' '[{"kind":"json","size":42,"preview":"{\"n\": 12345678901234567890, \"é\"","cut":true},{"kind":"bytes","size":7,"mediaType":"text/plain; charset=utf-8","preview":"Grüße","cut":false},{"kind":"bytes","size":3,"mediaType":"image/x"},{"kind":"typed","size":8,"preview":"{\"type\":\"KvU64\",\"value\":\"42\"}","cut":false},{"kind":"json","size":2,"preview":"\"\"","cut":false,"expiresAt":0}]'
gives '.entries[0] | [.preview, .cut]' '["Gr",true]' GET '/list?prefix=pre&preview=3&start=pre/=2&limit=1'
request GET '/list?prefix=pre&preview=0'
field '.entries[0] | keys' '["key","kind","size","versionstamp"]'
field '.entries[1] | keys' '["key","kind","mediaType","size","versionstamp"]'
request GET '/list?prefix=pre&preview=200' '' -H 'Accept: application/x-ndjson'
is 'lines' "$(wc -l <"$answer")" 6
is 'a line' "$(sed -n 1p "$answer" | jq -r .preview)" '{"n": 12345678901234567890, "é": [1,2,3]}'
for preview in -1 x 4097 99999999999999999999 ''; do
    answers 400 bad-parameter GET "/list?preview=$preview"
    field .parameter preview
done
answers 400 bad-parameter GET '/list?preview=9&keys=true'
answers 400 bad-parameter GET '/list?preview=9&fields=a'
request POST /indexes '{"name":"pre_by_n","prefix":["pre"],"fields":["/n"]}'
until_field .state ready GET /indexes/pre_by_n
request GET '/list?index=pre_by_n&preview=4'
field '.entries | map([.key[1], .kind, .size, .preview])' '[[1,"json",42,"{\"n\""]]'
gives '.entries | map([.kind, .size, .preview])' '[["json",1,"1"]]' GET '/list?prefix=pre_by_n&preview=4'
"$KINDEX" ls pre --preview 4 --url "$url" -o table >"$work/out"
is 'the command line' "$(awk 'NR == 2 { print $1, $3 }' "$work/out")" 'pre/=1 "{\"n\""'

test_case 'an unknown parameter of a list is refused, and the right one proposed'
answers 400 unknown-parameter GET '/list?prefx=l'
field '[.parameter, .didYouMean]' '["prefx","prefix"]'
field '.allowed | index("reverse") != null' true
gives .didYouMean reverse GET '/list?revrse=1'
answers 400 bad-parameter GET '/list?limit=1&limit=2'

test_case 'an NDJSON list comes whole in one answer, with an end line'
answers 200 GET /list?prefix=many '' -H 'Accept: application/x-ndjson'
header Content-Type application/x-ndjson
is 'the number of lines' "$(wc -l <"$answer")" 1011
is 'the keys' "$(jq -s '[.[:-1][].key[1]] == [range(1010)]' "$answer")" true
is 'the last line' "$(tail -1 "$answer")" '{"end":true,"count":1010}'

test_case 'an NDJSON list has one line for each entry, however its value was written'
request PUT /kv/lines/1 $'{\n  "a": [\n    1\n  ]\n}'
request GET /list?prefix=lines '' -H 'Accept: application/x-ndjson'
is 'the number of lines' "$(wc -l <"$answer")" 2
is 'the value' "$(jq -c 'select(.key) | .value' "$answer")" '{"a":[1]}'

test_case 'an NDJSON list takes the same selection, and a limit'
request GET '/list?prefix=many&reverse=true&limit=3&keys=true' '' -H 'Accept: application/x-ndjson'
is 'the keys' "$(jq -c 'select(.key) | .key[1]' "$answer" | xargs)" '1009 1008 1007'
is 'the last line' "$(tail -1 "$answer")" '{"end":true,"count":3}'
request GET '/list?prefix=nothing' '' -H 'Accept: application/x-ndjson'
body_is '{"end":true,"count":0}
'

# All of large entries is read, however little of them is shown.
test_case 'a page of large entries ends early, also when only keys or one member are shown'
{ printf '{"n":1,"text":"'; head -c 1000000 /dev/zero | tr '\0' x; printf '"}'; } >"$work/large"
for i in {10..21}; do
    request PUT "/kv/large/$i" "@$work/large"
done
for wanted in fields=n keys=true; do
    pages='' seen='' cursor=''
    until [ "$cursor" = null ]; do
        request GET "/list?prefix=large&limit=1000&$wanted${cursor:+&cursor=$cursor}"
        pages+="$(value '.entries | length') " seen+="$(value '[.entries[].key[1]] | join(" ")') "
        cursor=$(value .cursor)
    done
    is 'the pages' "$pages" '5 5 2 '
    is 'the keys' "$seen" "$(echo {10..21}) "
    request GET "/list?prefix=large&$wanted" '' -H 'Accept: application/x-ndjson'
    is 'the last line' "$(tail -1 "$answer")" '{"end":true,"count":12}'
done
gives .count 12 GET /count?prefix=large

test_case 'a list refuses other media types by Accept'
answers 406 not-acceptable GET /list '' -H 'Accept: text/csv'
field .supported '["application/json","application/x-ndjson"]'
answers 200 GET /list '' -H 'Accept: text/html, */*;q=0.1'
answers 200 GET /list '' -H 'Accept: text/event-stream, */*;q=0.1'
header Content-Type application/json
request GET /list?limit=1 '' -H 'Accept: application/x-ndjson;q=0, application/json'
header Content-Type application/json
request GET /list?limit=1 '' -H 'Accept: application/x-ndjson; charset=utf-8; q=0.01'
header Content-Type application/x-ndjson
answers 406 not-acceptable GET /list '' -H 'Accept: application/json;q=0.0'

finish

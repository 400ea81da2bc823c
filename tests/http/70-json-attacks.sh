#!/bin/bash
# JSON that is wrong, in every way we could think of: 400 with the place, and
# what was stored stays as it was.
. "$(dirname "$0")/../lib/http.sh"
start_server
json='Content-Type: application/json'

# The text is no JSON from this offset on.
wrong_at() {
    printf '%b' "$2" >"$work/text"
    answers 400 bad-json PUT /kv/attacked "@$work/text" -H "$json"
    is "the offset in ${2:0:60}" "$(grep -o '"offset":[0-9]*' "$answer")" "\"offset\":$1"
}

# It is JSON, and comes back byte for byte.
right() {
    printf '%b' "$1" >"$work/text"
    request PUT /kv/accepted "@$work/text" -H "$json"
    [ "$status" = 200 ] || expect 201
    request GET /kv/accepted
    is "what came back of ${1:0:60}" "$(cmp "$work/text" "$answer" 2>&1)" ''
}

# So many arrays inside each other.
nested() {
    printf '%*s' "$1" '' | tr ' ' '['
    printf '%*s' "$1" '' | tr ' ' ']'
}

request PUT /kv/attacked '{"still":"here"}'
tag=$(header_value ETag)

test_case 'JSON texts that are cut off or continue are refused'
wrong_at 0 ''
wrong_at 3 '   '
wrong_at 1 '{'
wrong_at 1 '['
wrong_at 8 '{"name":'
wrong_at 7 '{"name"'
wrong_at 5 '"open'
wrong_at 2 '1 2'
wrong_at 2 '{}}'
wrong_at 3 '[1][2]'
wrong_at 4 'nullx'
wrong_at 4 'null,'
wrong_at 3 'tru'

test_case 'misplaced commas, colons and quotes, and comments, are refused in JSON'
wrong_at 3 '[1,]'
wrong_at 1 '[,1]'
wrong_at 3 '[1 2]'
wrong_at 7 '{"a":1,}'
wrong_at 5 '{"a" 1}'
wrong_at 1 '{a:1}'
wrong_at 1 "{'a':1}"
wrong_at 0 "'a'"
wrong_at 3 '[1 /* one */]'
wrong_at 2 '1 // one'
wrong_at 1 '{1:2}'
wrong_at 2 '[1}'
wrong_at 6 '{"a":1]'

test_case 'malformed numbers are refused in JSON'
wrong_at 1 '01'
wrong_at 1 '[+1]'
wrong_at 1 '-'
wrong_at 1 '-a'
wrong_at 2 '1.'
wrong_at 0 '.5'
wrong_at 2 '1e'
wrong_at 3 '1e+'
wrong_at 1 '0x10'
wrong_at 0 'NaN'
wrong_at 0 'Infinity'
wrong_at 1 '-Infinity'
wrong_at 1 '1_000'

test_case 'numbers beyond the range of a double are refused in JSON'
wrong_at 0 '1e400'
wrong_at 5 '{"n":-1e309}'
right '1e-400'
right '[9223372036854775808,-0,0.1,1E5]'

test_case 'malformed escapes and lone surrogates are refused in JSON'
wrong_at 2 '"\\x41"'
wrong_at 5 '"\\u00"'
wrong_at 5 '"\\u00zz"'
wrong_at 1 '"\\ud800"'
wrong_at 1 '"\\udc00"'
wrong_at 1 '"\\ud800\\u0041"'
wrong_at 2 '{"\\ud800":1}'
right '"\\ud83c\\udf4e\\u0000\\/\\b\\f"'

test_case 'control characters and zero bytes are refused in JSON'
wrong_at 2 '"a\n"'
wrong_at 2 '"a\t"'
wrong_at 1 '"\0000"'
wrong_at 1 '[\0000]'
wrong_at 1 '1\0000'
right '"\\u0000\\u001f\0177"'

test_case 'bytes that are no UTF-8 are refused in JSON'
wrong_at 1 '"\0377"'
wrong_at 1 '"\0200"'
wrong_at 2 '"a\0303"'
wrong_at 1 '"\0300\0257"'         # overlong '/'
wrong_at 1 '"\0355\0240\0200"'     # a surrogate
wrong_at 1 '"\0364\0220\0200\0200"' # beyond 10FFFF
wrong_at 1 '{\0377:1}'
right '"\0364\0217\0277\0277"'

test_case 'a byte order mark is refused in JSON'
wrong_at 0 '\0357\0273\0277{}'
field '.detail | contains("byte order mark")' true

test_case 'a member that is there twice is refused, also in other spelling and far within'
wrong_at 7 '{"a":1,"a":2}'
wrong_at 7 '{"a":1,"\\u0061":2}'
wrong_at 28 '[{"x":{"a":1},\n "a":1,"b":2,"x":1}]'
right '{"a":{"a":{"a":1}},"A":1,"":2}'
jq -nc '[range(5000) | {"m\(.)": .}] | add' >"$work/many"
answers 200 PUT /kv/accepted "@$work/many" -H "$json"
sed 's/}$/,"m17":0}/' "$work/many" >"$work/twice"
answers 400 bad-json PUT /kv/attacked "@$work/twice" -H "$json"
is 'the offset' "$(value .offset)" "$(($(wc -c <"$work/many") - 1))"

test_case 'a JSON text may be 64 levels deep and no deeper'
nested 64 >"$work/deep"
answers 200 PUT /kv/accepted "@$work/deep" -H "$json"
nested 65 >"$work/deep"
answers 400 json-too-deep PUT /kv/attacked "@$work/deep" -H "$json"
head -c 1000000 /dev/zero | tr '\0' '[' >"$work/deep"
answers 400 json-too-deep PUT /kv/attacked "@$work/deep" -H "$json"
{ printf '{"mutations":'; cat "$work/deep"; } >"$work/envelope"
answers 400 json-too-deep POST /atomic "@$work/envelope"

test_case 'a value may be 64 levels deep, not counting its envelope'
{ printf '{"mutations":[{"type":"set","key":["deep"],"value":'; nested 64; printf '}]}'; } >"$work/envelope"
answers 200 POST /atomic "@$work/envelope"
{ printf '{"mutations":[{"type":"delete","key":["gone"]},{"type":"set","key":["deeper"],"value":'
    nested 65; printf '}]}'; } >"$work/envelope"
answers 400 json-too-deep POST /atomic "@$work/envelope"
field .pointer /mutations/1/value
answers 404 GET /kv/deeper

test_case 'a typed value may be 64 levels deep, with all its levels'
# boxed ARRAYS: so many around a Date, each of two levels.
boxed() {
    printf '{"type":"Array","value":[%.0s' $(seq "$1")
    printf '{"type":"Date","value":"2023-04-23T00:00:00.123Z"}'
    printf ']}%.0s' $(seq "$1")
}
typed_in_envelope() {
    printf '{"mutations":[{"type":"set","key":["dates"],"typed":'
    cat "$work/deep"
    printf '}]}'
}
typed='Content-Type: application/vnd.kindex.typed+json'
boxed 31 >"$work/deep"
answers 201 PUT /kv/dates "@$work/deep" -H "$typed"
typed_in_envelope >"$work/envelope"
answers 200 POST /atomic "@$work/envelope"
request GET /kv/dates
is 'the value' "$(cat "$answer")" "$(cat "$work/deep")"
boxed 32 >"$work/deep"
answers 400 json-too-deep PUT /kv/dates "@$work/deep" -H "$typed"
typed_in_envelope >"$work/envelope"
answers 400 json-too-deep POST /atomic "@$work/envelope"
field .pointer /mutations/0/typed

test_case 'an error names line and column, too, in characters'
printf '{\n  "é": "🍎",\n  "é": 1}' >"$work/text"
answers 400 bad-json PUT /kv/attacked "@$work/text" -H "$json"
field '.detail | contains("line 3, column 3")' true

test_case 'wrong JSON is refused the same wherever it is read'
for door in 'POST /atomic' 'POST /get' 'POST /indexes' 'PATCH /kv/attacked' 'POST /kv/attacked'; do
    for text in '{"a":1,"a":2}' '{"mutations":[}' '[1' '"\ud800"' $'"\xff"'; do
        request ${door% *} "${door#* }" "$text"
        expect 400 bad-json
        is "offsets for $door" "$(grep -c '"offset":[0-9]' "$answer")" 1
    done
done
answers 400 bad-json GET /kv '' --url-query 'key=["a",{"type":"bigint","type":"bigint"}]'
answers 400 bad-json GET '/list?prefix=[1'

test_case 'wrong JSON has changed no entry, and the server lives'
request GET /kv/attacked
body_is '{"still":"here"}'
header ETag "$tag"
gives .count 0 GET /count?prefix=attacked
answers 200 GET /livez

finish

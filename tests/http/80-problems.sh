#!/bin/bash
# Errors are documents that a program can act on and a person can read. That
# each is whole is checked with every status from 400 on, in every test.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'each problem has a page that explains it, with the same words'
request GET /kv/none
expect 404 key-not-found
title=$(value .title) hint=$(value .hint) page=$(value .type)
request GET "$page"
expect 200
field '[.code, .status]' '["key-not-found",404]'
field .title "$title"
field .hint "$hint"

test_case 'every code has its page'
"$KINDEX" serve --print-problems >"$work/problems"
while read -r _ code; do
    request GET "/problems/$code"
    expect 200
    cat "$answer" >>"$work/pages"
done <"$work/problems"
is 'what the pages say' "$(jq -r '"\(.status) \(.code) \([.title, .hint] | all(length > 10))"' \
    "$work/pages")" "$(sed 's/$/ true/' "$work/problems")"
request GET /problems/none
expect 404 not-found

test_case 'a detail has the values of the case'
request GET '/kv/users/=42/=true'
expect 404 key-not-found
field '.detail | contains("[\"users\",42,true]")' true
request GET '/list?limit=5000'
field '.detail | contains("limit")' true

test_case 'what a client sent is quoted without harm'
request GET $'/kv/=%22%00%07%ff'
expect 400 bad-key
request GET "/list?%22%3Cb%3E%0A=1"
expect 400 unknown-parameter
field '.parameter == "\"<b>\n"' true
request GET '/list?%ff=1'
expect 400 unknown-parameter
request GET "/$(printf '%01000d' 0)"
expect 404 not-found
field '.detail | length < 500' true
request POST /atomic "{\"$(printf '%01000d' 0)\\u0000\":1}"
expect 400 unknown-member

test_case 'unknown parameters are refused everywhere, with what there is'
for target in 'GET /kv/a' 'PUT /kv/a' 'DELETE /kv/a' 'PATCH /kv/a' 'POST /kv/a' \
    'GET /list' 'DELETE /list' 'GET /count' 'POST /get' 'POST /atomic' 'GET /indexes' \
    'POST /indexes' 'GET /indexes/x' 'DELETE /indexes/x' 'GET /indexes/x/get/y' \
    'GET /' 'GET /livez' 'GET /readyz' 'GET /version' 'GET /metrics' 'GET /openapi.json' 'GET /openapi.yaml' 'GET /problems/internal'; do
    body='{}'
    [[ $target == P* ]] || body=''
    request "${target% *}" "${target#* }?colour=blue" "$body"
    expect 400 unknown-parameter
    is "the parameter of $target" "$(value .parameter)" colour
done

test_case 'where there is no parameter at all that is said'
request POST '/atomic?dry=1' '{}'
field '[.detail, has("allowed")]' '["The parameter \"dry\" is unknown here; this operation takes no parameters.",false]'
request GET '/list?dry=1'
field '[.detail, has("allowed")]' '["The parameter \"dry\" is unknown here.",true]'

test_case 'the nearest name is proposed, if there is one near'
request PUT '/kv/a?tll=1s' 1
field '[.parameter, .didYouMean]' '["tll","ttl"]'
request POST /atomic '{"mutation":[]}'
expect 400 unknown-member
field '[.pointer, .didYouMean, .allowed]' '["/mutation","mutations",["checks","mutations","dry"]]'
request POST /atomic '{"sandwich":[]}'
field '.didYouMean' null

test_case 'a mutation, a check and a range with a wrong letter are told the right one'
request POST /atomic '{"mutations":[{"typ":"set","key":["a"],"value":1}]}'
expect 400 unknown-member
field '[.pointer, .didYouMean]' '["/mutations/0/typ","type"]'
request POST /atomic '{"checks":[{"key":["a"],"versionStamps":null}]}'
field '[.pointer, .didYouMean]' '["/checks/0/versionStamps","versionstamp"]'
request POST /atomic '{"mutations":[{"type":"delet","key":["a"]}]}'
expect 400 bad-request
field '[.pointer, .didYouMean, .allowed]' '["/mutations/0/type","delete",["set","delete","sum","min","max","patch","touch"]]'
request POST /get '{"ranges":[{"prefx":["a"]}]}'
field '[.pointer, .didYouMean]' '["/ranges/0/prefx","prefix"]'
request POST /get '{"key":[["a"]]}'
field '[.pointer, .didYouMean]' '["/key","keys"]'

test_case 'a parameter that is named like a field leads to indexes'
for target in /list /count; do
    request GET "$target?prefix=users&email=ada@example.org"
    expect 400 unknown-parameter
    field '[.parameter, (.detail | contains("POST /explain")), (.detail | contains("{\"path\":\"/email\",\"eq\":"))]' \
        '["email",true,true]'
done
for target in '/list?revers=1' '/list?dry=1' '/list?%22=1' '/watch?email=1' '/kv/a?email=1'; do
    request GET "$target"
    expect 400 unknown-parameter
    field '.detail | contains("explain")' false
done

test_case 'a limit that is too large is told the largest and the way to the rest'
request GET '/list?limit=100000'
expect 400 bad-parameter
field .detail 'The parameter limit is "100000"; it takes a whole number from 1 to 1000. For more, repeat the request with the cursor of each page, or leave out limit and send Accept: application/x-ndjson.'
request GET '/list?limit=99999999999999999999999999'
field '.detail | contains("cursor")' true
request DELETE '/list?prefix=x&limit=1001'
field .detail 'The parameter limit is "1001"; it takes a whole number from 1 to 1000. For more, repeat the request with the cursor of each page.'
for limit in 0 -1 x ''; do
    request GET "/list?limit=$limit"
    field .detail "The parameter limit is \"$limit\"; it takes a whole number from 1 to 1000."
done
request POST /get '{"ranges":[{"limit":100000}]}'
expect 400 bad-request
field .detail 'A whole number from 1 to 1000 is expected here, not 100000.'

test_case 'an empty body and a comma too many are called that'
for target in 'PUT /kv/a' 'PATCH /kv/a' 'POST /kv/a' 'POST /atomic' 'POST /get' 'POST /indexes'; do
    request "${target% *}" "${target#* }"
    expect 400 bad-json
    field '.detail | contains("The body is empty")' true
done
request PUT /kv/a '{"a":1,}'
expect 400 bad-json
field '[.line, .column, (.detail | contains("no trailing commas"))]' '[1,8,true]'
request PUT /kv/a '[1, ]'
field '[.line, .column, (.detail | contains("no trailing commas"))]' '[1,5,true]'

test_case 'a slash at the end is called that'
for path in /kv/users/ /kv/ '/list?prefix=users/'; do
    request GET "$path"
    expect 400 bad-key
    field '.detail | contains("ends with")' true
done
for path in /list /indexes /indexes/x /livez /v2/watch; do
    request GET "$path/"
    expect 404 not-found
    field '[.detail, .didYouMean]' \
        "[\"There is nothing at $path/; leave out the '/' at its end: $path.\",\"$path\"]"
done

test_case 'what has another address here is told it'
while read -r path here; do
    request GET "$path"
    expect 404 not-found
    field '[.detail, .didYouMean]' "[\"There is nothing at $path; did you mean $here?\",\"$here\"]"
done <<'PATHS'
/health /readyz
/healthz /readyz
/docs /openapi.json
/swagger.json /openapi.json
/lst /list
/index /indexes
/Count /count
/openapi.jsn /openapi.json
PATHS
for path in /nowhere /x /ab /api/v1; do
    request GET "$path"
    expect 404 not-found
    field .didYouMean null
done

test_case 'an unknown name of an index is answered with the nearest one'
request POST /indexes '{"name":"near_by_email","prefix":["near"],"fields":["/email"],"unique":true}' "${json[@]}"
for path in /indexes/near_by_emial /indexes/near_by_emial/get/a '/list?index=near_by_emial' \
        '/count?index=near_by_emial' /indexes/near_by_emial/conflicts; do
    request GET "$path"
    expect 404 index-not-found
    field '[.index, .didYouMean]' '["near_by_emial","near_by_email"]'
done
request POST /get '{"ranges":[{"index":"NEAR_by_email"}]}' "${json[@]}"
field '.didYouMean' near_by_email
request DELETE /indexes/near_by_mail
field '.didYouMean' near_by_email
request GET /indexes/far
field .didYouMean null

test_case 'a repeated failure is the same failure'
request GET /kv/none
cp "$answer" "$work/first"
request GET /kv/none
is 'the difference' "$(cmp "$work/first" "$answer")" ''

finish

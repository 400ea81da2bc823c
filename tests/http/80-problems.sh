#!/bin/bash
# Errors are documents that a program can act on and a person can read. That
# each is whole is checked with every status from 400 on, in every test.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'each problem has a page that explains it, with the same words'
answers 404 key-not-found GET /kv/none
title=$(value .title) hint=$(value .hint) page=$(value .type)
answers 200 GET "$page"
field '[.code, .status]' '["key-not-found",404]'
field .title "$title"
field .hint "$hint"

test_case 'every code has its page'
"$KINDEX" serve --print-problems >"$work/problems"
while read -r _ code; do
    answers 200 GET "/problems/$code"
    cat "$answer" >>"$work/pages"
done <"$work/problems"
is 'what the pages say' "$(jq -r '"\(.status) \(.code) \([.title, .hint] | all(length > 10))"' \
    "$work/pages")" "$(sed 's/$/ true/' "$work/problems")"
answers 404 not-found GET /problems/none

test_case 'the detail of a problem has the values of the case'
answers 404 key-not-found GET '/kv/users/=42/=true'
field '.detail | contains("[\"users\",42,true]")' true
gives '.detail | contains("limit")' true GET '/list?limit=5000'

test_case 'a problem quotes input of a client without harm'
answers 400 bad-key GET $'/kv/=%22%00%07%ff'
answers 400 unknown-parameter GET "/list?%22%3Cb%3E%0A=1"
field '.parameter == "\"<b>\n"' true
answers 400 unknown-parameter GET '/list?%ff=1'
answers 404 not-found GET "/$(printf '%01000d' 0)"
field '.detail | length < 500' true
answers 400 unknown-member POST /atomic "{\"$(printf '%01000d' 0)\\u0000\":1}"

test_case 'unknown parameters are refused everywhere, with those that there are'
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

test_case 'an operation without parameters says so when it gets one'
request POST '/atomic?dry=1' '{}'
field '[.detail, has("allowed")]' '["The parameter \"dry\" is unknown here; this operation takes no parameters.",false]'
gives '[.detail, has("allowed")]' '["The parameter \"dry\" is unknown here.",true]' GET '/list?dry=1'

test_case 'a problem proposes the nearest name, if there is one near'
gives '[.parameter, .didYouMean]' '["tll","ttl"]' PUT '/kv/a?tll=1s' 1
answers 400 unknown-member POST /atomic '{"mutation":[]}'
field '[.pointer, .didYouMean, .allowed]' '["/mutation","mutations",["checks","mutations","ack","dry"]]'
gives '.didYouMean' null POST /atomic '{"sandwich":[]}'

test_case 'a mutation, a check and a range with a misspelt member get the right name'
answers 400 unknown-member POST /atomic '{"mutations":[{"typ":"set","key":["a"],"value":1}]}'
field '[.pointer, .didYouMean]' '["/mutations/0/typ","type"]'
request POST /atomic '{"checks":[{"key":["a"],"versionStamps":null}]}'
field '[.pointer, .didYouMean]' '["/checks/0/versionStamps","versionstamp"]'
answers 400 bad-request POST /atomic '{"mutations":[{"type":"delet","key":["a"]}]}'
field '[.pointer, .didYouMean, .allowed]' '["/mutations/0/type","delete",["set","delete","sum","min","max","patch","touch"]]'
gives '[.pointer, .didYouMean]' '["/ranges/0/prefx","prefix"]' POST /get '{"ranges":[{"prefx":["a"]}]}'
gives '[.pointer, .didYouMean]' '["/key","keys"]' POST /get '{"key":[["a"]]}'

test_case 'a parameter that is named like a field gets a hint to indexes'
for target in /list /count; do
    answers 400 unknown-parameter GET "$target?prefix=users&email=ada@example.org"
    field '[.parameter, (.detail | contains("POST /explain")), (.detail | contains("{\"path\":\"/email\",\"eq\":"))]' \
        '["email",true,true]'
done
for target in '/list?revers=1' '/list?dry=1' '/list?%22=1' '/watch?email=1' '/kv/a?email=1'; do
    answers 400 unknown-parameter GET "$target"
    field '.detail | contains("explain")' false
done

test_case 'a limit that is too large is refused with the largest and the way to the rest'
answers 400 bad-parameter GET '/list?limit=100000'
field .detail 'The parameter limit is "100000"; it takes a whole number from 1 to 1000. For more, repeat the request with the cursor of each page, or leave out limit and send Accept: application/x-ndjson.'
gives '.detail | contains("cursor")' true GET '/list?limit=99999999999999999999999999'
request DELETE '/list?prefix=x&limit=1001'
field .detail 'The parameter limit is "1001"; it takes a whole number from 1 to 1000. For more, repeat the request with the cursor of each page.'
for limit in 0 -1 x ''; do
    request GET "/list?limit=$limit"
    field .detail "The parameter limit is \"$limit\"; it takes a whole number from 1 to 1000."
done
answers 400 bad-request POST /get '{"ranges":[{"limit":100000}]}'
field .detail 'A whole number from 1 to 1000 is expected here, not 100000.'

test_case 'an empty body and a surplus comma are named in the problem'
for target in 'PUT /kv/a' 'PATCH /kv/a' 'POST /kv/a' 'POST /atomic' 'POST /get' 'POST /indexes'; do
    request "${target% *}" "${target#* }"
    expect 400 bad-json
    field '.detail | contains("The body is empty")' true
done
answers 400 bad-json PUT /kv/a '{"a":1,}'
field '[.line, .column, (.detail | contains("no trailing commas"))]' '[1,8,true]'
gives '[.line, .column, (.detail | contains("no trailing commas"))]' '[1,5,true]' PUT /kv/a '[1, ]'

test_case 'a slash at the end of a path is named in the problem'
for path in /kv/users/ /kv/; do
    answers 400 bad-key GET "$path"
    field '.detail | contains("ends with")' true
done
for path in /list /indexes /indexes/x /livez /v2/watch; do
    answers 404 not-found GET "$path/"
    field '[.detail, .didYouMean]' \
        "[\"There is nothing at $path/; leave out the '/' at its end: $path.\",\"$path\"]"
done

test_case 'a path that is another one here is answered with the right one'
while read -r path here; do
    answers 404 not-found GET "$path"
    field '[.detail, .didYouMean]' "[\"There is nothing at $path; did you mean $here?\",\"$here\"]"
done <<'PATHS'
/health /readyz
/healthz /readyz
/swagger.json /openapi.json
/lst /list
/index /indexes
/Count /count
/openapi.jsn /openapi.json
PATHS
for path in /nowhere /x /ab /api/v1; do
    answers 404 not-found GET "$path"
    field .didYouMean null
done

test_case 'an unknown name of an index is answered with the nearest one'
request POST /indexes '{"name":"near_by_email","prefix":["near"],"fields":["/email"],"unique":true}' "${json[@]}"
for path in /indexes/near_by_emial /indexes/near_by_emial/get/a '/list?index=near_by_emial' \
        '/count?index=near_by_emial' /indexes/near_by_emial/conflicts; do
    answers 404 index-not-found GET "$path"
    field '[.index, .didYouMean]' '["near_by_emial","near_by_email"]'
done
gives '.didYouMean' near_by_email POST /get '{"ranges":[{"index":"NEAR_by_email"}]}' "${json[@]}"
gives '.didYouMean' near_by_email DELETE /indexes/near_by_mail
gives .didYouMean null GET /indexes/far

test_case 'a repeated failure has the same detail'
request GET /kv/none
cp "$answer" "$work/first"
request GET /kv/none
is 'the difference' "$(cmp "$work/first" "$answer")" ''

finish

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
    'GET /' 'GET /livez' 'GET /readyz' 'GET /version' 'GET /metrics' 'GET /openapi.json' 'GET /problems/internal'; do
    body='{}'
    [[ $target == P* ]] || body=''
    request "${target% *}" "${target#* }?colour=blue" "$body"
    expect 400 unknown-parameter
    is "the parameter of $target" "$(value .parameter)" colour
done

test_case 'where there is no parameter at all that is said'
request POST '/atomic?dry=1' '{}'
field '[.detail, has("allowed")]' '["There is no parameter \"dry\" here, nor any other.",false]'
request GET '/list?dry=1'
field '[.detail, has("allowed")]' '["There is no parameter \"dry\" here.",true]'

test_case 'the nearest name is proposed, if there is one near'
request PUT '/kv/a?tll=1s' 1
field '[.parameter, .didYouMean]' '["tll","ttl"]'
request POST /atomic '{"mutation":[]}'
expect 400 unknown-member
field '[.pointer, .didYouMean, .allowed]' '["/mutation","mutations",["checks","mutations","dry"]]'
request POST /atomic '{"sandwich":[]}'
field '.didYouMean' null

test_case 'a repeated failure is the same failure'
request GET /kv/none
cp "$answer" "$work/first"
request GET /kv/none
is 'the difference' "$(cmp "$work/first" "$answer")" ''

finish

#!/bin/bash
# In values -0 equals 0: in conditions, in keys of indexes, for uniqueness and in totals. In
# keys that a client writes, -0 is another part than 0, and comes before it.
. "$(dirname "$0")/../lib/http.sh"
start_server
TYPED='Content-Type: application/vnd.kindex.typed+json'
MINUS='{"type":"number","value":"-0"}'

declare_index() {
    gives .state ready POST /indexes "$1" -H 'Prefer: wait=30'
}
found() { # TARGET: the second parts of the keys
    request GET "$1"
    value '[.entries[].key[1] | if type == "object" then .value else . end | tostring] | join(" ")'
}
escaped() {
    jq -rn --arg text "$1" '$text | @uri'
}
where() { # CONDITION
    found "/list?prefix=n&where=$(escaped "{\"path\":\"/n\",$1}")"
}

request PUT /kv/n/a '{"n":0}'
request PUT /kv/n/b '{"n":-0.0}'
request PUT /kv/n/c '{"n":-0}'
request PUT /kv/n/d '{"n":{"type":"number","value":"-0"}}'
request PUT /kv/n/e "{\"type\":\"object\",\"value\":{\"n\":$MINUS,\"u\":{\"type\":\"undefined\"}}}" -H "$TYPED"
request PUT /kv/n/f '{"n":-1e-400}'
request PUT /kv/n/g '{"n":-5e-324}'
request PUT /kv/n/h '{"n":1}'

test_case 'conditions see 0 and -0 as equal'
is eq "$(where '"eq":0')" 'a b c d e f'
is 'eq -0' "$(where '"eq":-0.0')" 'a b c d e f'
is 'eq typed -0' "$(where "\"eq\":$MINUS")" 'a b c d e f'
is in "$(where '"in":[7,0]')" 'a b c d e f'
is ne "$(where '"ne":0')" 'g h'
is lt "$(where '"lt":0')" g
is 'lt -0' "$(where '"lt":-0.0')" g
is le "$(where '"le":-0.0')" 'a b c d e f g'
is gt "$(where '"gt":-0.0')" h
is ge "$(where '"ge":0')" 'a b c d e f h'
gives .ok true POST /atomic '{"checks":[{"key":["n","b"],"where":{"path":"/n","eq":0}}],"mutations":[]}'
answers 409 check-failed POST /atomic '{"checks":[{"key":["n","b"],"where":{"path":"/n","lt":0}}],"mutations":[]}'

test_case 'an index has one value for 0 and -0, ascending and descending'
declare_index '{"name":"up","prefix":["n"],"fields":["/n"]}'
declare_index '{"name":"down","prefix":["n"],"fields":[{"path":"/n","order":"desc"}],"store":"value"}'
declare_index '{"name":"zeros","prefix":["n"],"fields":[{"key":1}],"where":{"path":"/n","eq":-0.0}}'
gives .where '[{"path":"/n","eq":0}]' GET '/indexes/zeros'
request PUT /kv/n/i '{"n":-0.0}'
for index in up down; do
    for zero in =0 =-0; do
        is "$index $zero" "$(found "/list?index=$index&prefix=$zero")" 'a b c d e f i'
        is "$index in $zero" "$(found "/list?index=$index&in=$zero&in==1")" 'a b c d e f i h'
    done
done
is 'from -0' "$(found '/list?index=up&start==-0')" 'a b c d e f i h'
is 'up to -0' "$(found '/list?index=up&end==-0')" g
is 'down from -0' "$(found '/list?index=down&start==-0')" 'a b c d e f i g'
is 'its condition' "$(found '/list?index=zeros')" 'a b c d e f i'
is 'keys of the index' "$(found '/list?prefix=up&limit=3')" '-5e-324 0 0'
request DELETE /kv/n/i
for index in up down zeros; do
    request POST "/indexes/$index/verify"
    until_field .state done GET "/indexes/$index/verify"
    field '[.missing, .dangling, .stale]' '[0,0,0]'
done

test_case 'explanations give requests that find 0 and -0'
explained() { # CONDITION
    request POST /explain "{\"prefix\":[\"n\"],\"where\":{\"path\":\"/n\",$1}}"
    found "$(value .request)"
}
request DELETE /indexes/zeros
request DELETE /indexes/down
for index in up down; do
    is "eq, $index" "$(explained '"eq":-0.0')" 'a b c d e f'
    is "lt, $index" "$(explained '"lt":0')" g
    is "ge, $index" "$(explained '"ge":-0.0,"le":0')" 'a b c d e f'
    is "gt, $index" "$(explained '"gt":-5e-324,"lt":1')" 'a b c d e f'
    request DELETE "/indexes/$index"
    [ "$index" = down ] || declare_index '{"name":"down","prefix":["n"],"fields":[{"path":"/n","order":"desc"}]}'
done

test_case '0 and -0 collide in a unique index, written or declared'
declare_index '{"name":"one","prefix":["u"],"fields":["/n"],"unique":true}'
answers 201 PUT /kv/u/a '{"n":0}'
answers 409 unique-violation PUT /kv/u/b '{"n":-0.0}'
answers 200 PUT /kv/u/a '{"n":-0.0}'
for zero in =0 =-0; do
    request GET "/indexes/one/get/$zero"
    body_is '{"n":-0.0}'
done
gives .estimate.conflicts 5 POST '/indexes?dry=1' '{"name":"two","prefix":["n"],"fields":["/n"],"unique":true}'
request POST /indexes '{"name":"two","prefix":["n"],"fields":["/n"],"unique":true}' -H 'Prefer: wait=30'
field .state conflicted
gives '[.conflicts[] | .value, (.keys | length)]' '[[0],6]' GET /indexes/two/conflicts

test_case 'totals have one group for 0 and -0'
declare_index '{"name":"sums","prefix":["n"],"fields":["/n"],"store":{"aggregate":{"count":true}}}'
gives '[.entries[] | [.key[1], .value.count]]' '[[-5e-324,1],[0,6],[1,1]]' GET '/list?prefix=sums'
request PUT /kv/n/a '{"n":-0.0}'
request DELETE /kv/n/b
gives '[.entries[].value.count]' '[5]' GET '/list?start=sums/=0&end=sums/=1'

test_case 'keys of a client keep 0 and -0 apart, also in conditions and indexes of key parts'
request PUT /kv/k/=0 '"zero"'
request PUT /kv/k/=-0 '"minus"'
request GET /kv/k/=-0
body_is '"minus"'
declare_index '{"name":"parts","prefix":["k"],"fields":[{"key":1}],"unique":true}'
is 'both' "$(found '/list?index=parts')" '-0 0'
is 'one' "$(found '/list?index=parts&prefix==-0')" -0
is 'the other' "$(found '/list?index=parts&prefix==0')" 0
request POST /explain "{\"prefix\":[\"k\"],\"where\":{\"key\":1,\"eq\":-0.0}}"
is 'asked for' "$(found "$(value .request)")" -0
request POST /explain "{\"prefix\":[\"k\"],\"where\":{\"key\":1,\"ge\":0}}"
is 'from 0' "$(found "$(value .request)")" 0

test_case 'entries for -0 that were kept by hand are adopted as entries for 0'
request PUT /kv/hand/=-0/a '"a"'
request PUT /kv/hand/=1/h '"h"'
request POST '/indexes?dry=1' '{"name":"hand","prefix":["n"],"fields":["/n"],"adopt":true}'
field '.adopt | [.kept, .removed]' '[1,1]'
request POST /indexes '{"name":"hand","prefix":["n"],"fields":["/n"],"adopt":true}' -H 'Prefer: wait=30'
is 'by 0' "$(found '/list?index=hand&prefix==-0')" 'a c d e f'
gives '[.entries[] | .key[1]]' '[-5e-324,0,0,0,0,0,1]' GET '/list?prefix=hand'
answers 409 index-owned-key PUT /kv/hand/=-0/a '"a"'
finish

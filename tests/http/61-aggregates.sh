#!/bin/bash
# Indexes whose entries are totals: how many entries each group has, and exact
# sums of their numbers, right in the commit of each write.
. "$(dirname "$0")/../lib/http.sh"
start_server

declare_index() {
    request POST /indexes "$1" --header 'Prefer: wait=60'
    [ "$status" = 201 ] || expect 201
}

totals_of() {
    request GET "/list?index=$1"
    value '[.entries[] | [.key[1:], .value.count, .value.sum["/total"]]]'
}

test_case 'an index of counts and sums has an entry for each group'
declare_index '{"name":"by_status","prefix":["orders"],"fields":["/status"],
    "store":{"aggregate":{"count":true,"sum":[{"path":"/total","scale":2}]}}}'
field .store '{"aggregate":{"count":true,"sum":[{"path":"/total","scale":2}]}}'
request PUT /kv/orders/1 '{"status":"open","total":17.5}'
request PUT /kv/orders/2 '{"status":"open","total":0.1}'
request PUT /kv/orders/3 '{"status":"paid","total":-3}'
request PUT /kv/orders/4 '{"status":"open","total":0.2e0}'
is 'the groups' "$(totals_of by_status)" \
    '[[["open"],3,"17.80"],[["paid"],1,"-3.00"]]'
request GET /indexes/by_status/get/open
expect 200
body_is '{"count":3,"sum":{"/total":"17.80"}}'
request GET /kv/by_status/paid
body_is '{"count":1,"sum":{"/total":"-3.00"}}'
request GET '/list?prefix=by_status&keys=true'
field '[.entries[].key]' '[["by_status","open"],["by_status","paid"]]'
request GET '/count?index=by_status'
field .count 2
request GET '/indexes/by_status'
field .entries 2

test_case 'a change moves an entry from group to group, and an empty group is gone'
request PUT /kv/orders/3 '{"status":"open","total":3}'
request DELETE /kv/orders/2
is 'the groups' "$(totals_of by_status)" '[[["open"],3,"20.70"]]'
request GET /indexes/by_status/get/paid
expect 404 key-not-found
request GET /kv/by_status/open
tag=$(header_value ETag)
request PUT /kv/orders/3 '{"status":"open","total":3.00,"note":"the same numbers"}'
request GET /kv/by_status/open
header ETag "$tag"
request POST /atomic '{"mutations":[
    {"type":"set","key":["orders","5"],"value":{"status":"late","total":1}},
    {"type":"set","key":["orders","6"],"value":{"status":"late","total":2}},
    {"type":"delete","key":["orders","3"]}]}'
expect 200
is 'the groups' "$(totals_of by_status)" '[[["late"],2,"3.00"],[["open"],2,"17.70"]]'

test_case 'a refused and a dry commit leave the totals as they were'
request POST /atomic '{"checks":[{"key":["orders","1"],"versionstamp":null}],"mutations":[
    {"type":"set","key":["orders","9"],"value":{"status":"late","total":1}}]}'
expect 409
request PUT '/kv/orders/9?dry=1' '{"status":"late","total":1}'
is 'the groups' "$(totals_of by_status)" '[[["late"],2,"3.00"],[["open"],2,"17.70"]]'

test_case 'sums are exact beyond what doubles hold'
request PUT /kv/orders/7 '{"status":"big","total":9007199254740993.25}'
request PUT /kv/orders/8 '{"status":"big","total":123456789012345678901234567890}'
request GET /kv/by_status/big
field '.sum["/total"]' 123456789012354686100489308883.25
request DELETE /kv/orders/8
request GET /kv/by_status/big
field '.sum["/total"]' 9007199254740993.25
request DELETE /kv/orders/7

test_case 'an entry without the number, or with more decimals, is left out of count and sum'
request PUT /kv/orders/7 '{"status":"odd","total":1.005}'
expect 201
request PUT /kv/orders/8 '{"status":"odd","total":"1"}'
request PUT /kv/orders/9 '{"status":"odd"}'
request GET /kv/by_status/odd
expect 404
declare_index '{"name":"strict","prefix":["bills"],"missing":"error","fields":[],
    "store":{"aggregate":{"sum":[{"path":"/total","scale":1}]}}}'
request PUT /kv/bills/1 '{"total":1.25}'
expect 422 not-indexable
field '[.index, .pointer]' '["strict","/total"]'
request PUT /kv/bills/1 '{"total":null}'
expect 422 not-indexable
request PUT /kv/bills/1 '{"total":1.50}'
request GET /kv/strict
body_is '{"count":1,"sum":{"/total":"1.5"}}'

test_case 'without fields there is one total, and without sums only a count'
declare_index '{"name":"tags","prefix":["posts"],"fields":[{"path":"/tags","each":true,"fold":"lower"}],
    "where":{"path":"/draft","ne":true},"store":{"aggregate":{"count":true}}}'
declare_index '{"name":"posts_total","prefix":["posts"],"fields":[],"store":{"aggregate":{"count":true}}}'
request PUT /kv/posts/1 '{"tags":["KV","kv","Deno"]}'
request PUT /kv/posts/2 '{"tags":["kv"]}'
request PUT /kv/posts/3 '{"tags":["kv"],"draft":true}'
request GET '/list?index=tags'
field '[.entries[] | [.key[1], .value]]' '[["deno",{"count":1}],["kv",{"count":2}]]'
request GET /indexes/tags/get/KV
body_is '{"count":2}'
request GET /kv/posts_total
body_is '{"count":3}'
request GET '/list?index=posts_total'
field '[.entries[].key]' '[["posts_total"]]'

test_case 'pages and bounds'
for n in 1 2 3 4 5; do request PUT "/kv/nums/$n" "{\"n\":$n}"; done
declare_index '{"name":"by_n","prefix":["nums"],"fields":["/n"],"store":{"aggregate":{"count":true}}}'
request GET '/list?index=by_n&limit=2'
field '[.entries[].key[1]]' '[1,2]'
cursor=$(value .cursor)
request GET "/list?index=by_n&limit=2&cursor=$cursor"
field '[.entries[].key[1]]' '[3,4]'
request GET '/list?index=by_n&reverse=true&limit=2'
field '[.entries[].key[1]]' '[5,4]'
cursor=$(value .cursor)
request GET "/list?index=by_n&limit=2&reverse=true&cursor=$cursor"
field '[.entries[].key[1]]' '[3,2]'
request GET '/list?index=by_n&start==2&end==4&fields=count'
field '[.entries[].value]' '[{"count":1},{"count":1}]'

test_case 'no client writes totals'
request PUT /kv/by_status/open '{"count":1}'
expect 409 index-owned-key
request DELETE /kv/by_status/open
expect 409 index-owned-key
request DELETE '/list?index=by_status&prefix=open'
expect 409
request PUT /indexes/by_status/get/open '{"count":1}'
expect 409

test_case 'an entry is not counted from the moment that it has expired'
declare_index '{"name":"sessions_total","prefix":["sessions"],"fields":[],"store":{"aggregate":{"count":true}}}'
request PUT '/kv/sessions/1' 1
request PUT '/kv/sessions/2?ttl=1h' 2
request GET /kv/sessions_total
body_is '{"count":2}'
request PUT '/kv/sessions/2?ttl=50ms' 2
until_status 404 GET /kv/sessions/2
request GET /kv/sessions_total
body_is '{"count":1}'
request PUT '/kv/sessions/1?ttl=1ms' 1
until_status 404 GET /kv/sessions/1
request GET /kv/sessions_total
expect 404

test_case 'a build adds up what is there, with changes meanwhile'
for n in $(seq 1 40); do printf '{"key":["items",%s],"value":{"g":%s,"total":0.5}}\n' "$n" "$((n % 3))"; done >"$work/items"
request POST /bulk "@$work/items" --header 'Content-Type: application/x-ndjson'
request POST '/indexes?paused=1' '{"name":"by_g","prefix":["items"],"fields":["/g"],
    "store":{"aggregate":{"sum":[{"path":"/total","scale":1}]}}}'
expect 202
request PUT /kv/items/=1 '{"g":7,"total":1}'
request DELETE /kv/items/=2
request POST /indexes/by_g/throttle '{"perSecond":30}'
request POST /indexes/by_g/resume
request PUT /kv/items/=40 '{"g":7,"total":2}'
request PUT /kv/items/=3 '{"g":7,"total":3}'
request POST /indexes/by_g/throttle '{"perSecond":null}'
until_field .state ready GET /indexes/by_g
is 'the groups' "$(totals_of by_g)" \
    '[[[0],12,"6.0"],[[1],12,"6.0"],[[2],12,"6.0"],[[7],3,"6.0"]]'

test_case 'one that is dropped and declared again counts from the beginning'
for n in 1 2 3; do
    request DELETE /indexes/by_g
    request POST /indexes '{"name":"by_g","prefix":["items"],"fields":["/g"],
        "store":{"aggregate":{"sum":[{"path":"/total","scale":1}]}}}' --header 'Prefer: wait=60'
    is 'the groups' "$(totals_of by_g)" \
        '[[[0],12,"6.0"],[[1],12,"6.0"],[[2],12,"6.0"],[[7],3,"6.0"]]'
done

test_case 'a build that meets an entry which must not be left out fails, and begins again'
request PUT /kv/strict2/1 '{"total":"x"}'
request PUT /kv/strict2/2 '{"total":2}'
declaration='{"name":"sum2","prefix":["strict2"],"missing":"error","fields":[],
    "store":{"aggregate":{"sum":["/total"]}}}'
request POST /indexes "$declaration"
until_field .state failed GET /indexes/sum2
request PUT /kv/strict2/1 '{"total":1}'
request POST /indexes "$declaration"
until_field .state ready GET /indexes/sum2
request GET /kv/sum2
body_is '{"count":2,"sum":{"/total":"3"}}'

test_case 'explanations pass over it'
request POST /explain '{"prefix":["orders"],"where":[{"path":"/status","eq":"open"}]}'
field '[.indexes[] | select(.index=="by_status") | .reasons[].code]' '["totals"]'

test_case 'declarations that make no sense say why'
request POST /indexes '{"name":"x","prefix":["a"],"fields":["/a"],"unique":true,"store":{"aggregate":{"count":true}}}'
expect 400 bad-index-definition
request POST /indexes '{"name":"x","prefix":["a"],"fields":["/a"],"store":{"aggregate":{"count":false}}}'
expect 400 bad-index-definition
request POST /indexes '{"name":"x","prefix":["a"],"fields":[],"store":{"aggregate":{"sums":[]}}}'
expect 400 bad-index-definition
field .didYouMean sum
request POST /indexes '{"name":"x","prefix":["a"],"fields":[],"store":{"aggregate":{"sum":[{"path":"/t","scale":21}]}}}'
expect 400 bad-index-definition
request POST /indexes '{"name":"x","prefix":["a"],"fields":[],"store":{"aggregate":{"sum":["/t",{"path":"/t"}]}}}'
expect 400 bad-index-definition
request POST /indexes '{"name":"x","prefix":["a"],"fields":[]}'
expect 400 bad-index-definition
request PATCH /indexes/by_status '{"store":"pointer"}'
expect 400 bad-index-definition
field .pointer /store

test_case 'totals are kept over a restart, and go with their index'
stop_server
start_server
is 'the groups' "$(totals_of by_status)" '[[["late"],2,"3.00"],[["open"],2,"17.70"]]'
request PUT /kv/orders/6 '{"status":"open","total":2}'
is 'the groups' "$(totals_of by_status)" '[[["late"],1,"1.00"],[["open"],3,"19.70"]]'
request DELETE /indexes/by_status
expect 204
request GET /kv/by_status/open
expect 404
finish

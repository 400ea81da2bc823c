#!/bin/bash
# Indexes whose entries are totals: how many entries each group has, and exact
# sums of their numbers, right in the commit of each write.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server --slow-ms 0
export KINDEX_URL=$url

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
answers 200 GET /indexes/by_status/get/open
body_is '{"count":3,"sum":{"/total":"17.80"}}'
request GET /kv/by_status/paid
body_is '{"count":1,"sum":{"/total":"-3.00"}}'
gives '[.entries[].key]' '[["by_status","open"],["by_status","paid"]]' GET '/list?prefix=by_status&keys=true'
gives .count 2 GET '/count?index=by_status'
gives .entries 2 GET '/indexes/by_status'

test_case 'a change moves an entry between groups, and an empty group is removed'
request PUT /kv/orders/3 '{"status":"open","total":3}'
request DELETE /kv/orders/2
is 'the groups' "$(totals_of by_status)" '[[["open"],3,"20.70"]]'
answers 404 key-not-found GET /indexes/by_status/get/paid
request GET /kv/by_status/open
tag=$(header_value ETag)
request PUT /kv/orders/3 '{"status":"open","total":3.00,"note":"the same numbers"}'
request GET /kv/by_status/open
header ETag "$tag"
answers 200 POST /atomic '{"mutations":[
    {"type":"set","key":["orders","5"],"value":{"status":"late","total":1}},
    {"type":"set","key":["orders","6"],"value":{"status":"late","total":2}},
    {"type":"delete","key":["orders","3"]}]}'
is 'the groups' "$(totals_of by_status)" '[[["late"],2,"3.00"],[["open"],2,"17.70"]]'

test_case 'a refused and a dry commit leave the totals as they were'
answers 409 POST /atomic '{"checks":[{"key":["orders","1"],"versionstamp":null}],"mutations":[
    {"type":"set","key":["orders","9"],"value":{"status":"late","total":1}}]}'
request PUT '/kv/orders/9?dry=1' '{"status":"late","total":1}'
is 'the groups' "$(totals_of by_status)" '[[["late"],2,"3.00"],[["open"],2,"17.70"]]'

test_case 'sums are exact beyond what doubles hold'
request PUT /kv/orders/7 '{"status":"big","total":9007199254740993.25}'
request PUT /kv/orders/8 '{"status":"big","total":123456789012345678901234567890}'
gives '.sum["/total"]' 123456789012354686100489308883.25 GET /kv/by_status/big
request DELETE /kv/orders/8
gives '.sum["/total"]' 9007199254740993.25 GET /kv/by_status/big
request DELETE /kv/orders/7

test_case 'an entry without the number, or with more decimals, is left out of count and sum'
answers 201 PUT /kv/orders/7 '{"status":"odd","total":1.005}'
request PUT /kv/orders/8 '{"status":"odd","total":"1"}'
request PUT /kv/orders/9 '{"status":"odd"}'
answers 404 GET /kv/by_status/odd
declare_index '{"name":"strict","prefix":["bills"],"missing":"error","fields":[],
    "store":{"aggregate":{"sum":[{"path":"/total","scale":1}]}}}'
answers 422 not-indexable PUT /kv/bills/1 '{"total":1.25}'
field '[.index, .pointer]' '["strict","/total"]'
answers 422 not-indexable PUT /kv/bills/1 '{"total":null}'
request PUT /kv/bills/1 '{"total":1.50}'
request GET /kv/strict
body_is '{"count":1,"sum":{"/total":"1.5"}}'

test_case 'totals without fields are one group, and without sums have only a count'
declare_index '{"name":"tags","prefix":["posts"],"fields":[{"path":"/tags","each":true,"fold":"lower"}],
    "where":{"path":"/draft","ne":true},"store":{"aggregate":{"count":true}}}'
declare_index '{"name":"posts_total","prefix":["posts"],"fields":[],"store":{"aggregate":{"count":true}}}'
request PUT /kv/posts/1 '{"tags":["KV","kv","Deno"]}'
request PUT /kv/posts/2 '{"tags":["kv"]}'
request PUT /kv/posts/3 '{"tags":["kv"],"draft":true}'
gives '[.entries[] | [.key[1], .value]]' '[["deno",{"count":1}],["kv",{"count":2}]]' GET '/list?index=tags'
request GET /indexes/tags/get/KV
body_is '{"count":2}'
request GET /kv/posts_total
body_is '{"count":3}'
gives '[.entries[].key]' '[["posts_total"]]' GET '/list?index=posts_total'

test_case 'lists of groups have pages and bounds'
for n in 1 2 3 4 5; do request PUT "/kv/nums/$n" "{\"n\":$n}"; done
declare_index '{"name":"by_n","prefix":["nums"],"fields":["/n"],"store":{"aggregate":{"count":true}}}'
gives '[.entries[].key[1]]' '[1,2]' GET '/list?index=by_n&limit=2'
cursor=$(value .cursor)
gives '[.entries[].key[1]]' '[3,4]' GET "/list?index=by_n&limit=2&cursor=$cursor"
gives '[.entries[].key[1]]' '[5,4]' GET '/list?index=by_n&reverse=true&limit=2'
cursor=$(value .cursor)
gives '[.entries[].key[1]]' '[3,2]' GET "/list?index=by_n&limit=2&reverse=true&cursor=$cursor"
gives '[.entries[].value]' '[{"count":1},{"count":1}]' GET '/list?index=by_n&start==2&end==4&fields=count'

test_case '/aggregate adds groups up: all, those under a prefix, and those between bounds'
declare_index '{"name":"by_day","prefix":["sales"],"fields":["/country",{"path":"/day","fold":"lower"}],
    "store":{"aggregate":{"sum":[{"path":"/n","scale":2},"/big"]}}}'
request GET '/aggregate?index=by_day'
body_is '{"count":0,"sum":{"/n":"0.00","/big":"0"},"groups":0,"leftOut":0}'
n=0
for sale in de,mon,0.1 de,tue,0.2 de,tue,-1 fr,mon,9007199254740993.25; do
    IFS=, read -r country day number <<<"$sale"
    n=$((n + 1))
    request PUT "/kv/sales/$n" "{\"country\":\"$country\",\"day\":\"$day\",\"n\":$number,\"big\":9007199254740993}"
done
request GET '/aggregate?index=by_day'
body_is '{"count":4,"sum":{"/n":"9007199254740992.55","/big":"36028797018963972"},"groups":3,"leftOut":0}'
request GET '/aggregate?index=by_day&prefix=de'
body_is '{"count":3,"sum":{"/n":"-0.70","/big":"27021597764222979"},"groups":2,"leftOut":0}'
request GET '/aggregate?index=by_day&prefix=de/TUE'
body_is '{"count":2,"sum":{"/n":"-0.80","/big":"18014398509481986"},"groups":1,"leftOut":0}'
gives '[.count, .groups]' '[2,1]' GET '/aggregate?index=by_day&prefix=de&start=de/n'
gives '[.count, .groups]' '[3,2]' GET '/aggregate?index=by_day&end=fr'
request GET '/aggregate?index=by_day&prefix=it'
body_is '{"count":0,"sum":{"/n":"0.00","/big":"0"},"groups":0,"leftOut":0}'
request GET '/aggregate?index=tags'
body_is '{"count":3,"groups":2,"leftOut":0}'
kindex aggregate by_day de
prints '{"count":3,"sum":{"/n":"-0.70","/big":"27021597764222979"},"groups":2,"leftOut":0}'
kindex aggregate by_day --start fr
prints '{"count":1,"sum":{"/n":"9007199254740993.25","/big":"9007199254740993"},"groups":1,"leftOut":0}'

test_case 'an invalid /aggregate is refused with the reason'
answers 400 bad-parameter GET /aggregate
field .parameter index
answers 404 index-not-found GET '/aggregate?index=nothing'
declare_index '{"name":"plain","prefix":["sales"],"fields":["/country"]}'
answers 400 bad-parameter GET '/aggregate?index=plain'
field .parameter index
answers 400 unknown-parameter GET '/aggregate?index=by_day&limit=1'
node -e 'for (let n = 0; n <= 10000; n++) console.log(JSON.stringify({ key: ["many", n], value: { g: n } }))' >"$work/many"
declare_index '{"name":"many_groups","prefix":["many"],"fields":["/g"],"store":{"aggregate":{"count":true}}}'
request POST /bulk "@$work/many" --header 'Content-Type: application/x-ndjson'
answers 400 bad-parameter GET '/aggregate?index=many_groups'
field .parameter prefix
request GET '/aggregate?index=many_groups&end==10000'
body_is '{"count":10000,"groups":10000,"leftOut":0}'

# reads PATH: how many entries the request reads, and its count.
reads() {
    request GET "$1"
    local count
    count=$(value tojson)
    request GET '/slow?limit=1'
    echo "$(value '.requests[0].entriesRead') $count"
}

test_case 'a count of a whole prefix is read from the index that has it'
for n in 1 2 3 4 5; do request PUT "/kv/heads/$n" "{\"n\":$n}"; done
request PUT '/kv/heads/deep/er' bytes --header 'Content-Type: application/octet-stream'
request PUT '/kv/heads' '{"n":6}'
is 'before' "$(reads '/count?prefix=heads')" '6 {"count":6}'
declare_index '{"name":"heads_total","prefix":["heads"],"fields":[],"store":{"aggregate":{"count":true}}}'
is 'after' "$(reads '/count?prefix=heads')" '1 {"count":6}'
is 'estimated' "$(reads '/count?prefix=heads&estimate=true')" '1 {"count":6,"exact":true}'
is 'a part' "$(reads '/count?prefix=heads&start=heads/3')" '4 {"count":4}'
is 'a longer prefix' "$(reads '/count?prefix=heads/deep')" '1 {"count":1}'
request DELETE /kv/heads/5
is 'after a removal' "$(reads '/count?prefix=heads')" '1 {"count":5}'
request PUT '/kv/heads/4?ttl=1ms' 4
until_status 404 GET /kv/heads/4
request GET '/count?prefix=heads'
body_is '{"count":4}'
for prefix in sums wheres depths; do for n in 1 2 3; do request PUT "/kv/$prefix/$n" "{\"n\":$n}"; done; done
declare_index '{"name":"sums_total","prefix":["sums"],"fields":[],"store":{"aggregate":{"sum":["/m"]}}}'
declare_index '{"name":"wheres_total","prefix":["wheres"],"fields":[],"where":{"path":"/n","gt":1},"store":{"aggregate":{"count":true}}}'
declare_index '{"name":"depths_total","prefix":["depths"],"fields":[],"depth":2,"store":{"aggregate":{"count":true}}}'
for prefix in sums wheres depths; do
    is "one that has not all of $prefix" "$(reads "/count?prefix=$prefix")" '3 {"count":3}'
done
request POST '/indexes?paused=1' '{"name":"paused_total","prefix":["sales"],"fields":[],"store":{"aggregate":{"count":true}}}'
is 'one that is built' "$(reads '/count?prefix=sales')" '4 {"count":4}'
request DELETE /indexes/paused_total

test_case 'explanations name the request that counts by totals'
count_of() {
    request POST /explain "$1"
    value '.count'
}
is 'of a prefix' "$(count_of '{"prefix":["heads"]}')" '{"request":"/count?prefix=heads","index":"heads_total"}'
is 'of a group' "$(count_of '{"prefix":["orders"],"where":[{"path":"/status","eq":"open"}]}')" null
declare_index '{"name":"counted","prefix":["orders"],"fields":["/status"],"store":{"aggregate":{"count":true}}}'
is 'of a group' "$(count_of '{"prefix":["orders"],"where":[{"path":"/status","eq":"open"}]}')" \
    '{"request":"/aggregate?index=counted&prefix=open","index":"counted"}'
request GET '/aggregate?index=counted&prefix=open'
open=$(value .count)
request GET '/count?prefix=orders'
orders=$(value .count)
[ "$open" -lt "$orders" ] || is 'the group' "$open" "less than $orders"
is 'of what it leaves out' "$(count_of '{"prefix":["orders"],"where":[{"path":"/status","eq":"open"},{"path":"/total","gt":1}]}')" null
is 'of its condition' "$(count_of '{"prefix":["wheres"],"where":[{"path":"/n","gt":1}]}')" \
    '{"request":"/aggregate?index=wheres_total","index":"wheres_total"}'
is 'in an order' "$(count_of '{"prefix":["heads"],"order":["/n"]}')" null
request POST /explain '{"prefix":["many"]}'
declaration=$(value .countDeclaration)
is 'the advice' "$(jq -c '[.prefix,.fields,.store]' <<<"$declaration")" '[["many"],[],{"aggregate":{"count":true}}]'
request POST '/indexes?paused=1' "$declaration"
gives '[.count, .countDeclaration]' '[null,null]' POST /explain '{"prefix":["many"]}'
request DELETE "/indexes/$(jq -r .name <<<"$declaration")"
declare_index "$declaration"
is 'its count' "$(count_of '{"prefix":["many"]}' | jq -r .request)" '/count?prefix=many'
gives .countDeclaration null POST /explain '{"prefix":["heads"]}'
# The number of groups is estimated: it is far beyond the limit.
declare_index '{"name":"wide_groups","prefix":["wide"],"fields":["/g"],"store":{"aggregate":{"count":true}}}'
wide='{"prefix":["wide"],"where":[{"path":"/g","ge":0}]}'
request PUT /kv/wide/=0 '{"g":0}'
is 'of few groups' "$(count_of "$wide" | jq -r .index)" wide_groups
sed 's/"many"/"wide"/;p;s/,\([0-9]*\)\]/,\1.5]/;s/"g":\([0-9]*\)/"g":\1.25/;p;s/\.5\]/.75]/;s/\.25/.5/' "$work/many" >"$work/wide"
request POST /bulk "@$work/wide" --header 'Content-Type: application/x-ndjson'
is 'of groups that are too many' "$(count_of "$wide")" null

test_case 'the command line declares totals'
kindex index add sales_by_country sales country --sum n:2,/big --where '{"path":"/n","exists":true}' --wait
ends 0
request GET /indexes/sales_by_country
field .store '{"aggregate":{"count":true,"sum":[{"path":"/n","scale":2},{"path":"/big","scale":0}]}}'
kindex index add sales_total sales --count --wait
ends 0
kindex count sales
prints 4
kindex aggregate sales_total -o table
is 'the table' "$(awk '{ print $1, $2 }' "$work/out" | paste -sd'|')" 'count 4|groups 1|leftOut 0'
kindex index add sales_other sales --count --store value
ends 2
complains '--store excludes --count'
kindex index add sales_other sales
ends 2

test_case 'a dry declaration warns of a sum over numbers that no entry has'
request POST '/indexes?dry=1' '{"name":"dry","prefix":["sales"],"fields":[],"store":{"aggregate":{"count":true,"sum":[{"path":"/bigg"},{"path":"/n","scale":2},{"path":""}]}}}'
expect 200
field '.warnings | length' 1
field '.warnings[0] | startswith("the summed number /bigg was found in none of the ") and endswith("; did you mean /big?")' true

test_case 'a dry declaration counts groups, and estimates those of a sample'
for ((n = 0; n < 6; n++)); do
    echo "{\"key\":[\"trees\",$n],\"value\":{\"group\":$((n % 2))}}"
done >"$work/lines"
for ((n = 0; n < 8000; n++)); do
    echo "{\"key\":[\"woods\",$n],\"value\":{\"group\":$((n % 7)),\"own\":$n}}"
done >>"$work/lines"
kindex import "$work/lines"
ends 0
groups_of() { # PREFIX FIELD
    request POST '/indexes?dry=1' "{\"name\":\"dry\",\"prefix\":[\"$1\"],\"fields\":[\"$2\"],\"store\":{\"aggregate\":{\"count\":true}}}"
    expect 200
}
groups_of trees /group
field '.estimate | [.exact, .covered, .entries]' '[true,6,2]'
field '.estimate.bytes < 200' true
groups_of woods /group
field '.estimate | [.exact, .entries]' '[false,7]'
groups_of woods /own
field '.estimate.entries | . > 2700 and . < 16000' true
request DELETE '/list?prefix=trees'
request DELETE '/list?prefix=woods'

test_case 'clients cannot write totals'
answers 409 index-owned-key PUT /kv/by_status/open '{"count":1}'
answers 409 index-owned-key DELETE /kv/by_status/open
answers 409 DELETE '/list?index=by_status&prefix=open'
answers 409 PUT /indexes/by_status/get/open '{"count":1}'

test_case 'totals do not count an entry from the moment of its expiry'
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
answers 404 GET /kv/sessions_total

test_case 'a build of totals counts the entries and the changes meanwhile'
for n in $(seq 1 40); do printf '{"key":["items",%s],"value":{"g":%s,"total":0.5}}\n' "$n" "$((n % 3))"; done >"$work/items"
request POST /bulk "@$work/items" --header 'Content-Type: application/x-ndjson'
answers 202 POST '/indexes?paused=1' '{"name":"by_g","prefix":["items"],"fields":["/g"],
    "store":{"aggregate":{"sum":[{"path":"/total","scale":1}]}}}'
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

test_case 'totals that are dropped and declared again count from the beginning'
for n in 1 2 3; do
    request DELETE /indexes/by_g
    request POST /indexes '{"name":"by_g","prefix":["items"],"fields":["/g"],
        "store":{"aggregate":{"sum":[{"path":"/total","scale":1}]}}}' --header 'Prefer: wait=60'
    is 'the groups' "$(totals_of by_g)" \
        '[[[0],12,"6.0"],[[1],12,"6.0"],[[2],12,"6.0"],[[7],3,"6.0"]]'
done

test_case 'a build of totals that meets an entry which must not be left out fails, and restarts'
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

test_case 'an explanation does not answer a query of entries by totals'
request POST /explain '{"prefix":["orders"],"where":[{"path":"/status","eq":"open"}]}'
field '[.indexes[] | select(.index=="by_status") | .reasons[].code]' '["totals","leaves-out"]'
field '[.indexes[] | select(.index=="counted") | .reasons[].code]' '["totals"]'

test_case 'contradictory declarations of totals are refused with the reason'
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
answers 400 bad-index-definition POST /indexes '{"name":"x","prefix":["a"],"fields":[]}'

test_case 'totals survive a restart, and go with their index'
stop_server
start_server --slow-ms 0
is 'the groups' "$(totals_of by_status)" '[[["late"],2,"3.00"],[["open"],2,"17.70"]]'
request PUT /kv/orders/6 '{"status":"open","total":2}'
is 'the groups' "$(totals_of by_status)" '[[["late"],1,"1.00"],[["open"],3,"19.70"]]'
answers 204 DELETE /indexes/by_status
answers 404 GET /kv/by_status/open
finish

#!/bin/bash
# Each write counts, by reason, the entries that an index leaves out.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url

declare_index() {
    request POST /indexes "$1" --header 'Prefer: wait=60'
    [ "$status" = 201 ] || expect 201
}

left_out() {
    request GET "/indexes/$1"
    value '.leftOut | del(.[] | select(. == 0)) // {}'
}

explain() {
    request POST /explain "$1"
    value '[.index, .request, (.indexes[] | select(.index == "by_date") | .leavesOut, .permanent), has("declaration")]'
}

declare_all() {
    declare_index '{"name":"by_date","prefix":["orders"],"fields":["/status","/date"]}'
    declare_index '{"name":"by_code","prefix":["orders"],"fields":["/code"],"unique":true}'
    declare_index '{"name":"by_tag","prefix":["orders"],"fields":[{"path":"/tags","each":true}],
        "where":[{"path":"/status","eq":"open"}]}'
    declare_index '{"name":"totals","prefix":["orders"],"fields":["/status"],
        "store":{"aggregate":{"count":true,"sum":[{"path":"/total","scale":2}]}}}'
}

long=$(printf '%3000s' '' | tr ' ' x)

test_case 'an index counts the entries that it leaves out, by reason'
declare_all
request PUT /kv/orders/1 '{"status":"open","date":1,"code":"a","tags":["x"],"total":1}'
request PUT /kv/orders/2 '{"status":"open","tags":[],"total":"ten"}'
request PUT /kv/orders/3 "{\"status\":\"paid\",\"date\":null,\"code\":\"$long\",\"total\":2.125}"
request PUT /kv/orders/4 '{"status":"open","date":4,"code":[],"tags":"x"}'
as_declared() {
    is by_date "$(left_out by_date)" '{"entries":2,"missing":1,"type":1}'
    is by_code "$(left_out by_code)" '{"entries":3,"missing":1,"type":1,"size":1}'
    is by_tag "$(left_out by_tag)" '{"entries":3,"where":1,"type":1,"empty":1}'
    is totals "$(left_out totals)" '{"entries":3,"type":3}'
}
as_declared

test_case 'totals say how many entries they leave out'
answers 200 GET '/aggregate?index=totals'
body_is '{"count":1,"sum":{"/total":"1.00"},"groups":1,"leftOut":3}'

test_case 'refused and dry commits leave the numbers as they are'
answers 409 POST /atomic '{"checks":[{"key":["orders","1"],"versionstamp":null}],"mutations":[
    {"type":"set","key":["orders","9"],"value":{}}]}'
request PUT '/kv/orders/9?dry=1' '{}'
as_declared

test_case 'a dry run counts the entries that the index would leave out'
request POST '/indexes?dry=1' '{"name":"dry","prefix":["orders"],"fields":["/date"]}'
field '.estimate.leftOut' '{"entries":2,"where":0,"missing":1,"type":1,"size":0,"empty":0}'

test_case 'the numbers survive a restart, and a verification finds the same'
stop_server
start_server
export KINDEX_URL=$url
as_declared
for index in by_date by_code by_tag totals; do
    kindex index verify $index
    ends 0
    is "$index" "$(jq .miscounted "$work/out")" 0
done
as_declared

test_case 'an index whose declaration was the last commit before a restart counts, too'
answers 201 POST /indexes '{"name":"late","prefix":["later"],"fields":["/a"]}'
stop_server
start_server
export KINDEX_URL=$url
answers 200 GET /indexes/late
field .leftOut '{"entries":0,"where":0,"missing":0,"type":0,"size":0,"empty":0}'
answers 201 PUT /kv/later/1 '{"b":1}'
answers 200 GET /indexes/late
field .leftOut.missing 1

test_case 'an index that is declared over the entries counts the same'
for index in by_date by_code by_tag totals; do
    answers 204 DELETE /indexes/$index
done
declare_all
as_declared

test_case 'changes, removals and expiry of an entry are counted'
request PUT /kv/orders/3 '{"status":"paid","date":3,"code":"c","total":2}'
is by_date "$(left_out by_date)" '{"entries":1,"missing":1}'
is by_code "$(left_out by_code)" '{"entries":2,"missing":1,"type":1}'
request PUT '/kv/orders/5?ttl=200ms' '{"status":"open"}'
expired() { [ "$(left_out by_date)" = '{"entries":1,"missing":1}' ]; }
wait_until expired
is 'after the expiry' "$(left_out by_date)" '{"entries":1,"missing":1}'
request DELETE /kv/orders/2
is by_date "$(left_out by_date)" '{}'
is by_tag "$(left_out by_tag)" '{"entries":2,"where":1,"type":1}'

test_case 'an index answers a query on its first fields while it leaves nothing out'
is 'when nothing is' "$(explain '{"prefix":["orders"],"where":{"path":"/status","eq":"open"}}')" \
    '["by_date","/list?index=by_date&prefix=open",0,{"missing":"error"},false]'
is 'when the value is longer than a key' "$(explain "{\"prefix\":[\"orders\"],\"where\":{\"path\":\"/status\",\"eq\":\"$long\"}}")" \
    '[null,null,null,null,false]'
request GET '/list?index=by_date&prefix=open'
field '[.entries[].key[-1]]' '["1","4"]'
request PUT /kv/orders/6 '{"status":"open"}'
is 'when an entry is' "$(explain '{"prefix":["orders"],"where":{"path":"/status","eq":"open"}}')" \
    '[null,null,null,null,true]'
request DELETE /kv/orders/6
answers 200 PATCH /indexes/by_date '{"missing":"error"}' --header 'Prefer: wait=60'
answers 422 not-indexable PUT /kv/orders/6 '{"status":"open"}'
is 'for ever' "$(explain '{"prefix":["orders"],"where":{"path":"/status","eq":"open"}}')" \
    '["by_date","/list?index=by_date&prefix=open",null,null,false]'

test_case 'the command line shows the numbers'
kindex index ls
is 'the column' "$(awk '$1 == "by_tag" { print $3, $4 }' "$work/out")" '1 2'
kindex doctor
is doctor "$(awk '$2 == "by_tag" || $2 == "by_date"' "$work/out" | tr -s ' ')" \
    'ok by_date ready
warn by_tag ready: leaves out 1 entries'

finish

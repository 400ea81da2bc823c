#!/bin/bash
# Lists of several ranges: the values of `in`, and the ranges of a document, in
# one order or one after another, without an entry twice.
. "$(dirname "$0")/../lib/http.sh"
start_server

# found PARAMETERS: the last parts of the keys that the list shows.
found() {
    request GET "/list?$1"
    [ "$status" = 200 ] || expect 200
    value '[.entries[].key[-1] | tostring] | join(" ")'
}
# posted DOCUMENT: the same.
posted() {
    request POST /list "$1"
    [ "$status" = 200 ] || expect 200
    value '[.entries[].key[-1] | tostring] | join(" ")'
}

request POST /atomic "$(jq -nc '{mutations: [range(1;13) | {type: "set", key: ["orders", .], value:
    {status: ["open", "paid", "held", "Gone"][. % 4], time: (. * 7 % 13), tags: [. % 3, . % 5], n: .}}]}')"
request POST /indexes '{"name":"by_status","prefix":["orders"],"fields":["/status","/time"],"store":"value"}'
request POST /indexes '{"name":"by_tag","prefix":["orders"],"fields":[{"path":"/tags","each":true},"/time"]}'
request POST /indexes '{"name":"by_folded","prefix":["orders"],"fields":[{"path":"/status","fold":"lower"},"/time"]}'
for index in by_status by_tag by_folded; do
    until_field .state ready GET "/indexes/$index"
done
# What the lists should be, made of all entries.
request GET /list?prefix=orders
cp "$answer" "$work/all"
# wanted FILTER ORDER: their numbers.
wanted() { jq -r "[.entries[].value | select($1)] | $2 | map(.n | tostring) | join(\" \")" "$work/all"; }
some='.status == "open" or .status == "paid" or .status == "held"'

test_case 'one page has the newest entries of several values of an index'
three='index=by_status&in=open&in=paid&in=held'
is 'by time' "$(found "$three&order=merge")" "$(wanted "$some" 'sort_by(.time)')"
is 'the newest' "$(found "$three&order=merge&reverse=1&limit=4")" "$(wanted "$some" 'sort_by(-.time)[:4]')"
is 'one after another' "$(found "$three")" "$(wanted "$some" \
    '[.[] | .rank = ({open: 0, paid: 1, held: 2}[.status])] | sort_by(.rank, .time)')"
is 'by name' "$(found "$three&order=concat")" "$(found "$three")"
is 'one value' "$(found 'index=by_status&in=open&order=merge')" "$(found 'index=by_status&prefix=open')"
is 'a value that no entry has' "$(found 'index=by_status&in=none&in=open&order=merge')" "$(found 'index=by_status&prefix=open')"
is 'the same value twice' "$(found 'index=by_status&in=open&in=open&order=merge')" "$(found 'index=by_status&prefix=open')"
is 'as it is folded' "$(found 'index=by_folded&in=OPEN&in=gone&order=merge')" \
    "$(wanted '.status == "open" or .status == "Gone"' 'sort_by(.time)')"
is 'after a prefix' "$(found 'index=by_status&prefix=open&in==7&in==1&in==2')" \
    "$(for time in 7 1 2; do wanted ".status == \"open\" and .time == $time" .; done | xargs)"
is 'two values each' "$(found 'index=by_status&in=%5B%22open%22,7%5D&in=%5B%22paid%22,7%5D')" \
    "$(wanted '(.status == "open" or .status == "paid") and .time == 7' .)"
found "$three&order=merge&keys=1&limit=1" >"$work/out"
field '.entries[0] | keys' '["key","versionstamp"]'
found "$three&order=merge&fields=n&limit=1" >"$work/out"
field '.entries[0].value | keys' '["n"]'

test_case 'pages of several ranges continue where the last one ended, also when entries change'
for order in merge concat; do
    for reverse in 0 1; do
        list="$three&order=$order&reverse=$reverse"
        pages='' cursor=''
        until [ "$cursor" = null ]; do
            pages+="$(found "$list&limit=2${cursor:+&cursor=$cursor}") "
            request GET "/list?$list&limit=2${cursor:+&cursor=$cursor}"
            cursor=$(value .cursor)
        done
        is "$order $reverse" "$(xargs <<<"$pages")" "$(found "$list")"
    done
done
found "$three&order=merge&limit=3" >"$work/out"
cursor=$(value .cursor)
last=$(value '.entries[-1].key[1]')
request DELETE "/kv/orders/=$last"
is 'the entry before is gone' "$(found "$three&order=merge&cursor=$cursor")" "$(wanted "$some" 'sort_by(.time)[3:]')"
request PUT "/kv/orders/=$last" "$(jq -c ".entries[] | select(.key[1] == $last) | .value" "$work/all")"
answers 400 cursor-mismatch GET "/list?$three&cursor=$cursor"
answers 400 cursor-mismatch GET "/list?index=by_status&in=open&in=held&order=merge&cursor=$cursor"

test_case 'an entry in several of the ranges is shown once, at the first place'
tags='any(.tags[]; . == 0 or . == 1 or . == 2)'
is 'merged' "$(found 'index=by_tag&in==0&in==1&in==2&order=merge')" "$(wanted "$tags" 'sort_by(.time)')"
is 'in turn' "$(found 'index=by_tag&in==2&in==1&in==0')" "$(wanted "$tags" \
    '[.[] | .rank = (if any(.tags[]; . == 2) then 0 elif any(.tags[]; . == 1) then 1 else 2 end)] | sort_by(.rank, .time)')"
pages='' cursor=''
until [ "$cursor" = null ]; do
    request GET "/list?index=by_tag&in==0&in==1&in==2&order=merge&limit=1${cursor:+&cursor=$cursor}"
    pages+="$(value '.entries[].key[1]') "
    cursor=$(value .cursor)
done
is 'over pages' "$(xargs <<<"$pages")" "$(wanted "$tags" 'sort_by(.time)')"

test_case 'POST /list takes ranges of any kind'
is 'of entries' "$(posted '{"ranges":[{"prefix":["orders"],"start":["orders",7],"reverse":true},{"prefix":["orders"]}]}')" \
    '12 11 10 9 8 7 1 2 3 4 5 6'
is 'merged' "$(posted '{"ranges":[{"start":["orders",3],"end":["orders",7]},{"start":["orders",5],"end":["orders",9]}],"order":"merge"}')" '3 4 5 6 7 8'
is 'of an index, with bounds' "$(posted '{"order":"merge","ranges":[{"index":"by_status","prefix":["open"],"start":["open",5]},{"index":"by_status","prefix":["paid"],"start":["paid",5]}]}')" \
    "$(wanted '(.status == "open" or .status == "paid") and .time >= 5' 'sort_by(.time)')"
is 'of several' "$(posted '{"ranges":[{"index":"by_status","prefix":["open"]},{"index":"by_tag","prefix":[1]},{"prefix":["orders"]}]}')" \
    "$(jq -r '[.entries[].value | .rank = (if .status == "open" then [0, .time] elif any(.tags[]; . == 1) then [1, .time] else [2, .n] end)] | sort_by(.rank) | map(.n | tostring) | join(" ")' "$work/all")"
posted '{"ranges":[{"prefix":["orders"]}],"limit":2,"keys":true}' >"$work/out"
field '[.entries[0] | has("value"), has("key")]' '[false,true]'
is 'the next page' "$(posted "$(jq -c '{ranges: [{prefix: ["orders"]}], limit: 2, cursor: .cursor}' "$answer")")" '3 4'
posted '{"ranges":[{"prefix":["orders"]}],"fields":["/n"],"limit":1}' >"$work/out"
field '.entries[0].value' '{"n":1}'
field '.cursor | type' string

test_case 'a list of several ranges takes conditions, streams, and is there on the command line'
is 'a condition' "$(found "$three&order=merge&where=%7B%22path%22:%22/n%22,%22gt%22:6%7D")" \
    "$(wanted "($some) and .n > 6" 'sort_by(.time)')"
field .read 9
request GET "/list?$three&order=merge" '' -H 'Accept: application/x-ndjson'
is 'a stream' "$(jq -c 'select(.key) | .key[1]' "$answer" | xargs)" "$(wanted "$some" 'sort_by(.time)')"
is 'its end' "$(tail -1 "$answer")" '{"end":true,"count":9}'
is 'the command line' "$("$KINDEX" ls --index by_status --in open,paid,held --order merge -o raw --url "$url" | xargs)" \
    "$(wanted "$some" 'sort_by(.time) | map({n: "orders/=\(.n)"})')"

test_case 'an explanation offers a list of several ranges'
asked='{"prefix":["orders"],"where":[{"path":"/status","in":["paid","open"]}]'
request POST /explain "$asked,\"order\":[\"/time\"],\"reverse\":true}"
field .index by_status
field .request '/list?index=by_status&in=paid&in=open&order=merge&reverse=true'
field '.indexes[] | select(.index == "by_status") | [.rows, .exact]' '[6,true]'
is 'it is right' "$(request GET "$(value .request)"; value '[.entries[].key[1] | tostring] | join(" ")')" \
    "$(wanted '.status == "open" or .status == "paid"' 'sort_by(-.time)')"
gives .request '/list?index=by_status&in=open&in=paid' POST /explain "$asked,\"order\":[\"/status\",\"/time\"]}"
request POST /explain '{"prefix":["orders"],"where":[{"path":"/status","in":["paid","open"]},{"path":"/time","eq":7}]}'
field '.request | contains("&in=%5B%22paid%22,7%5D") or contains("&in=paid/=7")' true
request POST /explain '{"prefix":["orders"],"where":{"path":"/tags","each":true,"in":[0,1]},"order":["/time"]}'
field .request '/list?index=by_tag&in==0&in==1&order=merge'
gives .request null POST /explain '{"prefix":["orders"],"where":{"path":"/status","in":["paid",null]}}'

test_case 'contradictory parameters of several ranges are refused with the way to do it'
refused() {
    answers 400 bad-parameter GET "/list?$1"
    field .parameter "$2"
    field ".detail | contains(\"$3\")" true
}
refused 'in=open' in 'name it by index'
refused 'index=by_status&order=merge' order 'give them by in'
refused "$three&order=newest" order 'takes concat or merge'
refused "$three&start=open" in 'POST /list'
refused 'index=by_status&in=' in 'has no value'
answers 400 bad-json GET '/list?index=by_status&in=open&in=%5B'
answers 400 bad-parameter GET "/list?index=by_status&in=open&in=%5B%22paid%22,7%5D&order=merge"
field '.detail | contains("different numbers of values")' true
answers 400 bad-parameter GET "/list?index=by_status$(printf '&in=a%d' {1..65})"
field '.detail | contains("at most 64 ranges")' true
answers 200 GET "/list?index=by_status$(printf '&in=a%d' {1..63})&in=open&order=merge&limit=1"
answers 404 index-not-found GET '/list?index=none&in=open'
bad() {
    request POST /list "$1"
    expect 400 "$2"
    field .pointer "$3"
}
bad '{}' bad-request null
bad '{"ranges":[]}' bad-request /ranges
bad '{"ranges":[{"prefix":["a"]},{"prefix":1}]}' bad-key /ranges/1/prefix
bad '{"ranges":[{"prefx":["a"]}]}' unknown-member /ranges/0/prefx
bad '{"ranges":[{"prefix":["a"]}],"order":"newest"}' bad-request /order
bad '{"ranges":[{"prefix":["a"]},{"start":["a"]}]}' bad-request /ranges/1
bad '{"ranges":[{"prefix":["a"]},{"index":"by_tag"}],"order":"merge"}' bad-request /ranges/1
bad '{"ranges":[{"prefix":["a"]},{"prefix":["b"],"reverse":true}],"order":"merge"}' bad-request /ranges/1
answers 400 bad-request POST /list "$(jq -nc '{ranges: [range(65) | {prefix: [.]}]}')"
answers 404 index-not-found POST /list '{"ranges":[{"prefix":["orders"]},{"index":"none"}]}'

finish

#!/bin/bash
# Counts take the selection of a list.
. "$(dirname "$0")/../lib/http.sh"
start_server

counted() {
    request GET "/count?$1"
    [ "$status" = 200 ] || expect 200
    value .count
}

test_case 'a count of an empty store is 0'
is 'the count' "$(counted '')" 0

for i in {0..5}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(900) | {type: "set", key: ["c", . + 900 * $i], value: {even: (. % 2 == 0)}}]}')"
done

test_case 'a count of a range is exact, also over more than one slice'
is 'all' "$(counted '')" 5400
is 'a prefix' "$(counted prefix=c)" 5400
is 'another prefix' "$(counted prefix=d)" 0
is 'start and end' "$(counted 'start=c/=100&end=c/=4100')" 4000
is 'prefix and start' "$(counted 'prefix=c&start=c/=5399')" 1

test_case 'index entries count as entries, and an index can be counted'
request POST /indexes '{"name":"by_even","prefix":["c"],"fields":["/even"]}'
until_field .state ready GET /indexes/by_even
is 'all' "$(counted '')" 10800
is 'the index' "$(counted index=by_even)" 5400
is 'one value' "$(counted 'index=by_even&prefix==true')" 2700
is 'raw' "$(counted 'prefix=by_even/=false')" 2700

test_case 'an estimated count counts few entries exactly, and says so'
gives . '{"count":400,"exact":true}' GET '/count?prefix=c&start=c/=5000&estimate=true'
gives . '{"count":0,"exact":true}' GET '/count?prefix=d&estimate=1'
request GET '/count?prefix=c&estimate=true'
field .exact false
field '.count >= 2000 and .count <= 16200' true
gives '.exact == false and .count >= 2000 and .count <= 16200' true GET '/count?index=by_even&estimate=true'
gives . '{"count":2700}' GET '/count?index=by_even&prefix==true&estimate=false'
answers 404 index-not-found GET '/count?index=none&estimate=true'

test_case 'the command line marks an estimate'
is 'a count' "$("$KINDEX" count c/=1 --estimate --url "$url")" 0
is 'an estimate' "$("$KINDEX" count c --estimate --url "$url" | grep -cE '^~[0-9]+$')" 1

test_case 'a count with invalid parameters or of an absent index is refused'
answers 400 bad-parameter GET '/count?estimate=maybe'
answers 400 unknown-parameter GET '/count?limit=10'
answers 404 index-not-found GET '/count?index=none'
answers 400 bad-parameter GET '/count?start=c/=2&end=c/=1'

finish

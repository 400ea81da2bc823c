#!/bin/bash
# Data of 0.1.0, whose program took -0 for another value than 0 (tests/data/0.1.0-zeros,
# made by upgrade_data.js make-zeros): an index that holds -0 is built again beside the old
# one, which is read meanwhile; others stay as they are.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/upgrade.sh"
version=0.1.0-zeros
unpack
cp -r "$old/data" "$work/data"
: >"$log"
start_server
waiting() {
    request GET /indexes
    jq -e '[.indexes[] | select(.name != "unique_twice") | select(.state | IN("building", "migrating"))] == [] and
        (.indexes[] | select(.name == "unique_twice").migration.state) == "conflicted"' "$answer" >"$work/null"
}
# by INDEX [MORE]: the last parts of the keys that a list by the index shows.
by() {
    request GET "/list?index=$1${2:+&$2}"
    value '[.entries[].key[1] | tostring] | join(" ")'
}
# keys PREFIX: the second parts of all keys under it.
keys() {
    request GET "/list?prefix=$1"
    value '[.entries[].key[1] | if type == "object" then .value else . end | tostring] | join(" ")'
}
migrated() {
    sed -n 's/.*event=index-outdated index=\([^ ]*\).*action=migrate.*/\1/p' "$log" | sort -u | tr '\n' ' '
}

test_case 'indexes without -0 stay as they were, and are not built again'
for name in unique_free by_free by_key conflicting; do
    request GET "/indexes/$name"
    field '.state | IN("ready", "conflicted")' true
    field .migration null
done
is 'by key' "$(keys by_key)" '-0 0'
is 'the old values' "$(by unique_free)" 'zero one'

test_case 'indexes that were paused or migrating still are'
for name in moving storing; do
    request GET "/indexes/$name"
    field .state migrating
    field .pace.paused true
    request POST "/indexes/$name/resume"
done

test_case 'indexes with -0 are rebuilt'
wait_until waiting
is 'migrated' "$(migrated)" 'by_hand by_n by_n_down by_s_n moving storing totals unique_single unique_twice where_minus where_zero '
is 'by n' "$(by by_n prefix==0)" 'deno minus zero'
is 'by n, -0 asked for' "$(by by_n prefix==-0)" 'deno minus zero'
is 'its keys' "$(keys by_n)" '-1 0 0 0 1'
is 'from 0 down' "$(by by_n_down 'start==0')" 'deno minus zero less'
is 'by s and n' "$(by by_s_n prefix=minus/=0)" minus
is 'where n is 0' "$(by where_zero)" 'minus zero'
is 'where n is at least -0' "$(by where_minus)" 'minus one zero'
is 'the single one' "$(by unique_single)" 'minus one'
request GET /indexes/unique_single/get/=0
body_is '{"n":-0.0}'
gives '[.entries[] | [.key[1], .value.count]]' '[[-1,1],[0,3],[1,1]]' GET '/list?prefix=totals'
is 'the moved one' "$(by moving)" 'less minus one zero'
gives .store value GET '/indexes/storing'
proves 'data directory with -0 in indexes' 0.1.0

test_case 'hand-kept index entries for -0 become those for 0'
is 'the keys' "$(keys by_hand)" '0 1'
answers 409 index-owned-key PUT /kv/by_hand/=-0/minus '"minus"'
answers 200 PUT /kv/by_hand/=0/minus '"minus"'

test_case 'a unique index in which 0 and -0 collide stays in its old form, and is conflicted'
gives '[.state, .entries, .migration.state]' '["migrating",4,"conflicted"]' GET /indexes/unique_twice
is 'its entries' "$(by unique_twice)" 'less minus zero one'
request GET /indexes/unique_twice/get/=-0
body_is '{"n":-0.0}'
request GET /indexes/unique_twice/get/=0
body_is '{"n":0}'
gives '[.conflicts[] | .value, (.keys | map(.[1]))]' '[[0],["minus","zero"]]' GET /indexes/unique_twice/conflicts
answers 409 unique-violation PUT /kv/twice/more '{"n":-0.0}'
request POST /explain '{"prefix":["twice"],"where":{"path":"/n","eq":0}}'
field '.indexes[] | select(.index == "unique_twice").reasons[].code' not-ready

test_case 'a second start changes no index again'
stop_server
: >"$log"
start_server
wait_until waiting
is 'migrated' "$(migrated)" ''
is 'its entries' "$(by unique_twice)" 'less minus zero one'
is 'by n' "$(by by_n prefix==0)" 'deno minus zero'

test_case 'a migration that was undone begins again with a patch'
request DELETE /indexes/unique_twice/migration
gives .state ready GET /indexes/unique_twice
answers 202 PATCH /indexes/unique_twice '{}'
wait_until waiting

test_case 'a unique index gets the present form when its conflict of 0 and -0 is resolved'
request PUT /kv/twice/minus '{"n":5}'
until_field .state ready GET /indexes/unique_twice
is 'its entries' "$(by unique_twice)" 'less zero one minus'
is 'wrong ones' "$(wrong)" ''
for name in $(names); do
    request DELETE "/indexes/$name"
done
is 'wrong ones' "$(names)" ''
finish

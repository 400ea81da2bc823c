#!/bin/bash
# Indexes whose last field is the versionstamp: each entry once, at its last change.
. "$(dirname "$0")/../lib/http.sh"
start_server

declare_index() {
    request POST /indexes "$1"
    until_field .state ready GET "/indexes/$(jq -r .name <<<"$1")"
}

# The keys that a list by an index shows, without the prefix.
listed() {
    request GET "/list?index=$1"
    value '[.entries[].key[1:] | join("/")]'
}

test_case 'each entry is in the index once, at its last change'
request PUT /kv/docs/old 1
declare_index '{"name":"changes","prefix":["docs"],"fields":[{"versionstamp":true}]}'
request GET /indexes/changes
field .fields '[{"versionstamp":true}]'
request PUT /kv/docs/a '{"n":1}'
request PUT /kv/docs/b '{"n":2}'
is 'the order' "$(listed changes)" '["old","a","b"]'
request PATCH /kv/docs/a '{"n":3}'
is 'after a patch' "$(listed changes)" '["old","b","a"]'
request DELETE /kv/docs/old
is 'after a removal' "$(listed changes)" '["b","a"]'
request POST /atomic '{"mutations":[{"type":"set","key":["docs","c"],"value":1},{"type":"sum","key":["docs","c"],"value":1},{"type":"set","key":["docs","b"],"value":2}]}'
is 'after a commit of several' "$(listed changes)" '["a","b","c"]'
request GET /indexes/changes
field .entries 3

test_case 'the versionstamp of an entry is a part of the key in the index'
request GET '/list?prefix=changes'
is 'the parts' "$(value '[.entries[].key[2]]')" '["a","b","c"]'
field '[.entries[] | .key[1] == .versionstamp] | all' true
request GET /kv/docs/a
stamp=$(header_value ETag)
stamp=${stamp//\"/}
request GET "/kv/changes/$stamp/a"
expect 200

test_case 'a list from a versionstamp on has what was changed since'
request GET "/list?index=changes&start=$stamp"
field '[.entries[].key[1]]' '["a","b","c"]'
request GET "/list?index=changes&prefix=$stamp"
field '[.entries[].key[1]]' '["a"]'
request PUT /kv/docs/d 4
request GET "/list?index=changes&reverse=true&limit=1"
field '[.entries[].key[1]]' '["d"]'

test_case 'a touch is a change'
request POST /atomic '{"mutations":[{"type":"touch","key":["docs","a"],"ttl":"1h"}]}'
expect 200
is 'the order' "$(listed changes)" '["b","c","d","a"]'

test_case 'fields before it make a feed for each of their values'
declare_index '{"name":"feeds","prefix":["notes"],"fields":[{"path":"/of","fold":"lower"},{"versionstamp":true}],"store":"value","where":{"path":"/draft","ne":true}}'
request PUT /kv/notes/1 '{"of":"Ada","n":1}'
request PUT /kv/notes/2 '{"of":"bob","n":2}'
request PUT /kv/notes/3 '{"of":"ada","n":3}'
first=$(header_value ETag)
first=${first//\"/}
request PUT /kv/notes/4 '{"of":"ada","n":4,"draft":true}'
request GET '/list?index=feeds&prefix=ADA'
field '[.entries[].value.n]' '[1,3]'
request PATCH /kv/notes/1 '{"n":5}'
request GET "/list?index=feeds&prefix=ada&start=ada/$first"
field '[.entries[].value.n]' '[3,5]'
request PATCH /kv/notes/3 '{"of":"bob"}'
request GET '/list?index=feeds&prefix=bob'
field '[.entries[].value.n]' '[2,3]'

test_case 'it is found by a query for the entries in the order of their changes'
request POST /explain '{"prefix":["docs"],"order":[{"versionstamp":true}],"reverse":true}'
field .request '/list?index=changes&reverse=true'
request POST /explain '{"prefix":["notes"],"where":[{"path":"/of","eq":"bob"}],"order":[{"versionstamp":true}]}'
field '.declaration.fields' '[{"path":"/of"},{"versionstamp":true}]'
request POST /explain '{"prefix":["docs"],"where":{"path":"","eq":4}}'
field '[.indexes[] | select(.index == "changes") | .reasons[].code]' '["first-field-unused","conditions-left"]'

test_case 'the versionstamp is the last field, once, and of no unique index'
refused() {
    request POST /indexes "{\"name\":\"x\",\"prefix\":[\"docs\"],$1}"
    expect 400 bad-index-definition
}
refused '"fields":[{"versionstamp":true},"/n"]'
field .pointer /fields/1
refused '"fields":[{"versionstamp":true},{"versionstamp":true}]'
refused '"fields":[{"versionstamp":true,"path":"/n"}]'
refused '"fields":[{"versionstamp":true,"key":1}]'
refused '"fields":[{"versionstamp":true,"fold":"lower"}]'
refused '"fields":[{"versionstamp":false}]'
refused '"fields":[{"versionstamp":1}]'
refused '"fields":[{"versionstamp":true}],"unique":true'
request PATCH /indexes/changes '{"unique":true}'
expect 400 bad-index-definition

test_case 'a dry run shows what it would have'
request POST '/indexes?dry=1' '{"name":"x","prefix":["docs"],"fields":[{"versionstamp":true}]}'
field '[.estimate.entries, .warnings]' '[4,[]]'

test_case 'its entries may be written only as they are'
request PUT "/kv/changes/$stamp/zz" '"zz"'
expect 409 index-owned-key

test_case 'it is verified, and migrates to another store'
request POST /indexes/changes/verify
until_field .state done GET /indexes/changes/verify
field '[.done, .missing, .dangling, .stale]' '[8,0,0,0]'
request PATCH /indexes/changes '{"store":"value"}'
until_field .state ready GET /indexes/changes
request PUT /kv/docs/e 1
is 'the order' "$(listed changes)" '["b","c","d","a","e"]'

test_case 'an expired entry is not in it'
request PUT '/kv/docs/f?ttl=50ms' 1
until_field '[.entries[].key[1]] | contains(["f"])' false GET '/list?index=changes'

test_case 'a removal leaves a tombstone, after all that was changed before'
declare_index '{"name":"log","prefix":["t"],"fields":[{"versionstamp":true}],"tombstones":"168h","where":{"path":"/hidden","ne":true}}'
request GET /indexes/log
field .tombstones 7d
request PUT /kv/t/a '{"n":1}'
request PUT /kv/t/b '{"n":2}'
request DELETE /kv/t/a
stamp=$(header_value ETag)
request GET '/list?index=log'
field '[.entries[] | [.key[1], .value.n, .deleted]]' '[["b",2,null],["a",null,true]]'
request GET '/list?index=log&keys=true'
field '[.entries[] | has("deleted")]' '[false,true]'
request GET '/list?index=log&fields=n'
field '[.entries[] | has("value")]' '[true,false]'
request GET '/indexes/log'
field .entries 2
request GET '/list?prefix=log'
field '[.entries[] | [.key[2], .value, .deleted]]' '[["b","b",null],["a",null,true]]'

test_case 'so does leaving the where, and an expiry'
request PATCH /kv/t/b '{"hidden":true}'
request GET '/list?index=log&reverse=1&limit=1'
field '[.entries[] | [.key[1], .deleted]]' '[["b",true]]'
request PUT '/kv/t/c?ttl=30ms' '{"n":3}'
until_field '[.entries[] | [.key[1], .deleted]]' '[["c",true]]' GET '/list?index=log&reverse=1&limit=1'
request GET '/list?index=log'
field '[.entries[].versionstamp] | . == (sort | unique)' true

test_case 'an entry that is written again follows its tombstone'
request PUT /kv/t/a '{"n":4}'
request GET '/list?index=log'
field '[.entries[] | [.key[1], .deleted]]' '[["a",true],["b",true],["c",true],["a",null]]'

test_case 'changes of a range pass over tombstones'
request DELETE '/list?index=log&start=0&limit=10'
expect 200
request GET /kv/t/a
expect 404 key-not-found
request GET '/list?index=log'
field '[.entries[] | [.key[1], .deleted]]' '[["a",true],["b",true],["c",true],["a",true]]'

test_case 'they survive a restart, a migration and a verification'
request PATCH /indexes/log '{"store":"value"}'
until_field .state ready GET /indexes/log
request POST '/indexes/log/verify?repair=true'
until_field .state done GET /indexes/log/verify
field '[.missing, .dangling, .stale]' '[0,0,0]'
stop_server
start_server
request GET '/list?index=log'
field '[.entries[] | [.key[1], .deleted]]' '[["a",true],["b",true],["c",true],["a",true]]'

test_case 'it is not offered for queries of entries'
request POST /explain '{"prefix":["t"],"order":[{"versionstamp":true}]}'
field '[.indexes[] | select(.index == "log") | .reasons[].code]' '["partial","tombstones"]'

test_case 'tombstones are a time, and need a versionstamp'
refused '"fields":["/n"],"tombstones":"7d"'
for time in '"7"' '"d"' '7' '"0d"' '"-1d"' '"3661d"' '"99999999999999999999d"' '"1w"' null; do
    refused '"fields":[{"versionstamp":true}],"tombstones":'"$time"
    field .pointer /tombstones
done

test_case 'they are removed when their time is up'
declare_index '{"name":"brief","prefix":["s"],"fields":[{"versionstamp":true}],"tombstones":"20ms"}'
request PUT /kv/s/a 1
request DELETE /kv/s/a
until_field .entries 0 GET /indexes/brief

test_case 'a dropped index takes its tombstones with it'
request DELETE /indexes/log
expect 204
request GET /kv/t/a
expect 404 key-not-found
declare_index '{"name":"log","prefix":["t"],"fields":[{"versionstamp":true}],"tombstones":"7d"}'
request GET '/list?index=log'
field '[.entries[].key[1]]' '["b"]'
finish

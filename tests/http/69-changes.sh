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

test_case 'an index of changes has each entry once, at its last change'
request PUT /kv/docs/old 1
declare_index '{"name":"changes","prefix":["docs"],"fields":[{"versionstamp":true}]}'
gives .fields '[{"versionstamp":true}]' GET /indexes/changes
request PUT /kv/docs/a '{"n":1}'
request PUT /kv/docs/b '{"n":2}'
is 'the order' "$(listed changes)" '["old","a","b"]'
request PATCH /kv/docs/a '{"n":3}'
is 'after a patch' "$(listed changes)" '["old","b","a"]'
request DELETE /kv/docs/old
is 'after a removal' "$(listed changes)" '["b","a"]'
request POST /atomic '{"mutations":[{"type":"set","key":["docs","c"],"value":1},{"type":"sum","key":["docs","c"],"value":1},{"type":"set","key":["docs","b"],"value":2}]}'
is 'after a commit of several' "$(listed changes)" '["a","b","c"]'
gives .entries 3 GET /indexes/changes

test_case 'the versionstamp of an entry is a part of its key in an index of changes'
request GET '/list?prefix=changes'
is 'the parts' "$(value '[.entries[].key[2]]')" '["a","b","c"]'
field '[.entries[] | .key[1] == .versionstamp] | all' true
request GET /kv/docs/a
stamp=$(header_value ETag)
stamp=${stamp//\"/}
answers 200 GET "/kv/changes/$stamp/a"

test_case 'a list from a versionstamp on has the entries that changed since'
gives '[.entries[].key[1]]' '["a","b","c"]' GET "/list?index=changes&start=$stamp"
gives '[.entries[].key[1]]' '["a"]' GET "/list?index=changes&prefix=$stamp"
request PUT /kv/docs/d 4
gives '[.entries[].key[1]]' '["d"]' GET "/list?index=changes&reverse=true&limit=1"

test_case 'a touch is a change'
answers 200 POST /atomic '{"mutations":[{"type":"touch","key":["docs","a"],"ttl":"1h"}]}'
is 'the order' "$(listed changes)" '["b","c","d","a"]'

test_case 'fields before the versionstamp make a feed for each of their values'
declare_index '{"name":"feeds","prefix":["notes"],"fields":[{"path":"/of","fold":"lower"},{"versionstamp":true}],"store":"value","where":{"path":"/draft","ne":true}}'
request PUT /kv/notes/1 '{"of":"Ada","n":1}'
request PUT /kv/notes/2 '{"of":"bob","n":2}'
request PUT /kv/notes/3 '{"of":"ada","n":3}'
first=$(header_value ETag)
first=${first//\"/}
request PUT /kv/notes/4 '{"of":"ada","n":4,"draft":true}'
gives '[.entries[].value.n]' '[1,3]' GET '/list?index=feeds&prefix=ADA'
request PATCH /kv/notes/1 '{"n":5}'
gives '[.entries[].value.n]' '[3,5]' GET "/list?index=feeds&prefix=ada&start=ada/$first"
request PATCH /kv/notes/3 '{"of":"bob"}'
gives '[.entries[].value.n]' '[2,3]' GET '/list?index=feeds&prefix=bob'

test_case 'an index of changes is found by a query for entries in the order of their changes'
request POST /explain '{"prefix":["docs"],"order":[{"versionstamp":true}],"reverse":true}'
field .request '/list?index=changes&reverse=true'
request POST /explain '{"prefix":["notes"],"where":[{"path":"/of","eq":"bob"}],"order":[{"versionstamp":true}]}'
field '.declaration.fields' '[{"path":"/of"},{"versionstamp":true}]'
request POST /explain '{"prefix":["docs"],"where":{"path":"","eq":4}}'
field '[.indexes[] | select(.index == "changes") | .reasons[].code]' '["first-field-unused","conditions-left"]'

test_case 'the versionstamp is the last field of an index, once, and of no unique one'
refused() {
    answers 400 bad-index-definition POST /indexes "{\"name\":\"x\",\"prefix\":[\"docs\"],$1}"
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
answers 400 bad-index-definition PATCH /indexes/changes '{"unique":true}'

test_case 'a dry declaration of an index of changes shows what it would have'
request POST '/indexes?dry=1' '{"name":"x","prefix":["docs"],"fields":[{"versionstamp":true}]}'
field '[.estimate.entries, .warnings]' '[4,[]]'

test_case 'entries of an index of changes may be written only as they are'
answers 409 index-owned-key PUT "/kv/changes/$stamp/zz" '"zz"'

test_case 'an index of changes is verified, and migrates to another store'
request POST /indexes/changes/verify
until_field .state done GET /indexes/changes/verify
field '[.done, .missing, .dangling, .stale]' '[8,0,0,0]'
request PATCH /indexes/changes '{"store":"value"}'
until_field .state ready GET /indexes/changes
request PUT /kv/docs/e 1
is 'the order' "$(listed changes)" '["b","c","d","a","e"]'

test_case 'an index of changes has no expired entry'
request PUT '/kv/docs/f?ttl=50ms' 1
until_field '[.entries[].key[1]] | contains(["f"])' false GET '/list?index=changes'

test_case 'a removal leaves a tombstone, after all earlier changes'
declare_index '{"name":"log","prefix":["t"],"fields":[{"versionstamp":true}],"tombstones":"168h","where":{"path":"/hidden","ne":true}}'
gives .tombstones 7d GET /indexes/log
request PUT /kv/t/a '{"n":1}'
request PUT /kv/t/b '{"n":2}'
request DELETE /kv/t/a
stamp=$(header_value ETag)
gives '[.entries[] | [.key[1], .value.n, .deleted]]' '[["b",2,null],["a",null,true]]' GET '/list?index=log'
gives '[.entries[] | has("deleted")]' '[false,true]' GET '/list?index=log&keys=true'
gives '[.entries[] | has("value")]' '[true,false]' GET '/list?index=log&fields=n'
gives .entries 2 GET '/indexes/log'
gives '[.entries[] | [.key[2], .value, .deleted]]' '[["b","b",null],["a",null,true]]' GET '/list?prefix=log'

test_case 'an entry that expires or leaves the where leaves a tombstone'
request PATCH /kv/t/b '{"hidden":true}'
gives '[.entries[] | [.key[1], .deleted]]' '[["b",true]]' GET '/list?index=log&reverse=1&limit=1'
request PUT '/kv/t/c?ttl=30ms' '{"n":3}'
until_field '[.entries[] | [.key[1], .deleted]]' '[["c",true]]' GET '/list?index=log&reverse=1&limit=1'
gives '[.entries[].versionstamp] | . == (sort | unique)' true GET '/list?index=log'

test_case 'an entry that is written again follows its tombstone'
request PUT /kv/t/a '{"n":4}'
gives '[.entries[] | [.key[1], .deleted]]' '[["a",true],["b",true],["c",true],["a",null]]' GET '/list?index=log'

test_case 'changes of a range pass over tombstones'
answers 200 DELETE '/list?index=log&start=0&limit=10'
answers 404 key-not-found GET /kv/t/a
gives '[.entries[] | [.key[1], .deleted]]' '[["a",true],["b",true],["c",true],["a",true]]' GET '/list?index=log'

test_case 'tombstones survive a restart, a migration and a verification'
request PATCH /indexes/log '{"store":"value"}'
until_field .state ready GET /indexes/log
request POST '/indexes/log/verify?repair=true'
until_field .state done GET /indexes/log/verify
field '[.missing, .dangling, .stale]' '[0,0,0]'
stop_server
start_server
gives '[.entries[] | [.key[1], .deleted]]' '[["a",true],["b",true],["c",true],["a",true]]' GET '/list?index=log'

test_case 'an index with tombstones is not offered for queries of entries'
request POST /explain '{"prefix":["t"],"order":[{"versionstamp":true}]}'
field '[.indexes[] | select(.index == "log") | .reasons[].code]' '["partial","tombstones"]'

test_case 'a tombstone time needs a versionstamp field'
refused '"fields":["/n"],"tombstones":"7d"'
for time in '"7"' '"d"' '7' '"0d"' '"-1d"' '"3661d"' '"99999999999999999999d"' '"1w"' null; do
    refused '"fields":[{"versionstamp":true}],"tombstones":'"$time"
    field .pointer /tombstones
done

test_case 'tombstones are removed when they expire'
declare_index '{"name":"brief","prefix":["s"],"fields":[{"versionstamp":true}],"tombstones":"20ms"}'
request PUT /kv/s/a 1
request DELETE /kv/s/a
until_field .entries 0 GET /indexes/brief

test_case 'a dropped index takes its tombstones with it'
answers 204 DELETE /indexes/log
answers 404 key-not-found GET /kv/t/a
declare_index '{"name":"log","prefix":["t"],"fields":[{"versionstamp":true}],"tombstones":"7d"}'
gives '[.entries[].key[1]]' '["b"]' GET '/list?index=log'
finish

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
finish

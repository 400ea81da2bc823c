#!/bin/bash
# PATCH /list: every entry of a range, or of an index, is patched, a part in each
# commit.
. "$(dirname "$0")/../lib/http.sh"
start_server

request POST /indexes '{"name":"by_state","prefix":["jobs"],"fields":["/state"]}'
request POST /indexes '{"name":"by_tag","prefix":["jobs"],"fields":[{"path":"/tags","each":true,"fold":"lower"}]}'
request POST /indexes '{"name":"by_n","prefix":["jobs"],"fields":["/n"],"unique":true}'
for n in 0 1 2 3 4 5; do
    request PUT "/kv/jobs/=$n" "{ \"n\":$n,\"state\":\"s$((n % 2))\",\"tags\":[\"a\",\"b\"]}"
done
merge=(-H 'Content-Type: application/merge-patch+json')
operations=(-H 'Content-Type: application/json-patch+json')
patch() { # QUERY BODY PATCHED MORE [CURL-OPTION...]
    answers 200 PATCH "/list?$1" "$2" "${@:5}"
    field '[.ok, .patched, .more]' "[true,$3,$4]"
}
values() { # FILTER TEXT
    gives "[.entries[].value$1]" "$2" GET '/list?prefix=jobs'
}

test_case 'PATCH of a range with dry=1 counts, and changes nothing'
patch 'index=by_state&prefix=s1&dry=1' '{"state":"gone"}' 3 false "${merge[@]}"
field '[.versionstamp, .dry]' '[null,true]'
patch 'index=by_state&prefix=s1&limit=2&dry=1' '{"state":"gone"}' 2 true
patch "index=by_state&prefix=s1&limit=2&dry=1&cursor=$(value .cursor)" '{"state":"gone"}' 1 false
patch 'prefix=jobs&dry=1' '{}' 6 false
values .state '["s0","s1","s0","s1","s0","s1"]'

test_case 'PATCH by an index changes entries of a value, which move in the index that found them'
patch 'index=by_state&prefix=s1' '{"state":"s2"}' 3 false "${merge[@]}"
field 'has("cursor")' false
stamp=$(value .versionstamp)
values .state '["s0","s2","s0","s2","s0","s2"]'
request GET '/list?index=by_state&prefix=s2'
field '[.entries[] | [.key[1], .versionstamp]]' "[[1,\"$stamp\"],[3,\"$stamp\"],[5,\"$stamp\"]]"
request GET '/kv/jobs/=1'
body_is '{ "n":1,"state":"s2","tags":["a","b"]}'
patch 'index=by_state&start=s1' '{"state":"s3"}' 3 false
patch 'index=by_state&start=s3&end=s4' '{"state":"s2"}' 3 false

test_case 'PATCH by a unique index applies operations in its order, though they move entries in it'
patch 'index=by_n&prefix=[]' '[{"op":"sum","path":"/n","value":1}]' 6 false "${operations[@]}"
values .n '[1,2,3,4,5,6]'
gives '[.entries[].value.n]' '[1,2,3,4,5,6]' GET '/list?index=by_n'

test_case 'PATCH of a range changes a part in each commit, and the cursor continues'
patch 'prefix=jobs&limit=4' '[{"op":"set","path":"/seen","value":true}]' 4 true "${operations[@]}"
first=$(value .cursor)
values .seen '[true,true,true,true,null,null]'
patch "prefix=jobs&limit=4&cursor=$first" '[{"op":"set","path":"/seen","value":true}]' 2 false "${operations[@]}"
values .seen '[true,true,true,true,true,true]'

test_case 'PATCH by an index changes an entry with several values once, also in parts'
patch 'index=by_tag&start=A' '[{"op":"sum","path":"/once","value":1}]' 6 false "${operations[@]}"
patch 'index=by_tag&start=A&limit=4' '[{"op":"sum","path":"/once","value":1}]' 4 true "${operations[@]}"
patched=0 parts=0
while [ "$(value .more)" = true ] && [ $((parts += 1)) -lt 9 ]; do
    request PATCH "/list?index=by_tag&start=A&limit=1&cursor=$(value .cursor)" '[{"op":"sum","path":"/once","value":1}]' "${operations[@]}"
    expect 200
    patched=$((patched + $(value .patched)))
done
is 'the others' $patched 2
values .once '[2,2,2,2,2,2]'

test_case 'PATCH of a range with a ttl and without a body changes only expiries'
request PUT /kv/jobs/text 'no JSON' -H 'Content-Type: text/plain'
patch 'prefix=jobs&ttl=1h' '' 7 false
gives '[.entries[].expiresAt > 0] | unique' '[true]' GET '/list?prefix=jobs'
patch 'prefix=jobs&ttl=none' '' 7 false
gives '[.entries[].expiresAt] | unique' '[null]' GET '/list?prefix=jobs'
request DELETE /kv/jobs/text

test_case 'an entry that refuses its patch refuses the whole part of the range, and is named'
request PUT '/kv/jobs/=9' '{"n":"x"}'
patch 'prefix=jobs&limit=2' '[{"op":"sum","path":"/n","value":10}]' 2 true "${operations[@]}"
request PATCH "/list?prefix=jobs&cursor=$(value .cursor)" '[{"op":"sum","path":"/n","value":10}]' "${operations[@]}"
expect 409 type-mismatch
field '[.attemptedKey, .key]' '[["jobs",9],null]'
values .n '[11,12,3,4,5,6,"x"]'
answers 409 out-of-bounds PATCH '/list?prefix=jobs' '[{"op":"sum","path":"/n","value":1,"max":11}]' "${operations[@]}"
field '[.attemptedKey, .present]' '[["jobs",0],11]'
answers 409 unique-violation PATCH '/list?index=by_state&prefix=s0' '{"n":1}'
field '[.attemptedKey, .index]' '[["jobs",2],"by_n"]'
request DELETE '/kv/jobs/=9'
request PUT /kv/mixed/b x -H 'Content-Type: text/plain'
answers 409 type-mismatch PATCH '/list?prefix=mixed' '{"a":1}'
field .attemptedKey '["mixed","b"]'

test_case 'a PATCH of a range repeated under a key gets the first answer, and changes nothing'
key=(-H 'Idempotency-Key: "patch-1"' "${operations[@]}")
patch 'prefix=jobs&limit=2' '[{"op":"sum","path":"/n","value":100}]' 2 true "${key[@]}"
cursor=$(value .cursor)
patch 'prefix=jobs&limit=2' '[{"op":"sum","path":"/n","value":100}]' 2 true "${key[@]}"
header Idempotency-Replayed true
field .cursor "$cursor"
values .n '[111,112,3,4,5,6]'
request PATCH '/list?prefix=jobs&limit=3' '[{"op":"sum","path":"/n","value":100}]' "${key[@]}"
expect 422 idempotency-key-reused

test_case 'a PATCH of a range answers with the patched entries if the client prefers them'
prefer=(-H 'Prefer: return=representation')
for n in 1 2 3; do request PUT "/kv/shown/$n" "{\"n\":$n}"; done
patch 'prefix=shown&limit=2' '[{"op":"sum","path":"/n","value":1}]' 2 true "${operations[@]}" "${prefer[@]}"
header Preference-Applied return=representation
field '([.entries[].versionstamp] | unique) == [.versionstamp]' true
returned=$(value .entries)
gives .entries "$returned" GET '/list?prefix=shown&limit=2'
patch 'prefix=shown&limit=1' '{"seen":true}' 1 true "${prefer[@]}" -H 'Idempotency-Key: "patch-2"'
field '[.entries[].value]' '[{"n":2,"seen":true}]'
patch 'prefix=shown&limit=1' '{"seen":true}' 1 true "${prefer[@]}" -H 'Idempotency-Key: "patch-2"'
field 'has("entries")' false
patch 'prefix=shown&dry' '{"n":7}' 3 false "${prefer[@]}"
field '[.entries[] | [.value.n, .versionstamp]]' '[[7,null],[7,null],[7,null]]'
patch 'prefix=shown' '{"seen":null}' 3 false
field 'has("entries")' false

test_case 'a PATCH of a range with contradictory parameters is refused, and the parameter is named'
while IFS='|' read -r query body expected name; do
    request PATCH "/list?$query" "$body"
    # shellcheck disable=SC2086
    expect $expected
    [ -z "$name" ] || field .parameter "$name"
done <<'END'
|{}|400 bad-parameter|
prefix=|{}|400 bad-parameter|
index=by_state|{}|400 bad-parameter|
prefix=jobs||400 bad-json|
prefix=jobs|{|400 bad-json|
prefix=jobs&limit=0|{}|400 bad-parameter|limit
prefix=jobs&limit=1001|{}|400 bad-parameter|limit
prefix=jobs&ttl=soon|{}|400 bad-parameter|ttl
prefix=jobs&reverse=1|{}|400 unknown-parameter|reverse
prefix=jobs&cursor=x|{}|400 cursor-invalid|cursor
index=none&prefix=a|{}|404 index-not-found|
prefix=by_state|{}|409 index-owned-key|
END
answers 400 cursor-mismatch PATCH "/list?prefix=other&cursor=$cursor" '{}'
answers 415 unsupported-media-type PATCH '/list?prefix=jobs' '{}' -H 'Content-Type: text/plain'
header Accept-Patch 'application/json, application/merge-patch+json, application/json-patch+json'
answers 400 bad-value PATCH '/list?prefix=jobs' '[{"op":"spam","path":""}]' "${operations[@]}"
answers 400 bad-request PATCH '/list?prefix=jobs' '{}' -H 'If-Match: *'
answers 200 PATCH '/list?prefix=nothing' '{}'
field '[.patched, .more]' '[0,false]'

test_case 'PATCH of a range needs the rights to write, list and read all that may change'
stop_server
start_server --token-file "$work/token"
admin=$(cat "$work/token")
try() { # SCOPES PREFIX QUERY STATUS [CODE SCOPE]
    request POST /tokens "{\"name\":\"t\",\"grants\":[{\"scopes\":$1,\"prefix\":$2}]}" --oauth2-bearer "$admin"
    token=$(value .token)
    request PATCH "/list?$3" '{}' --oauth2-bearer "$token"
    expect "$4" "${@:5:1}"
    [ $# -lt 6 ] || field .scope "$6"
}
for query in 'index=by_tag&prefix=a' prefix=jobs 'index=by_tag&prefix=a&dry=1' 'prefix=jobs&dry=1'; do
    try '["write","list","read"]' '["jobs"]' "$query" 200
    try '["write","list"]' '["jobs"]' "$query" 403 forbidden read
    try '["write","read"]' '["jobs"]' "$query" 403 forbidden list
    try '["list","read"]' '["jobs"]' "$query" 403 forbidden write
    try '["write","list","read"]' '["by_tag"]' "$query" 403 forbidden write
    try '["write","list","read"]' '["jobs",1]' "$query" 403 forbidden write
done
all='["write","list","read"]'
try "$all" '["jobs"]' 'index=none&prefix=a' 403 forbidden
try "$all" '["jobs"]' 'prefix=by_tag' 409 index-owned-key
try "$all" '["job"]' 'start=job&end=jobs/=9' 403 forbidden
try "$all" '["jobs"]' 'prefix=[]' 403 forbidden

test_case 'a patching token does not learn which other entry has a unique value'
request POST /tokens "{\"name\":\"t\",\"grants\":[{\"scopes\":$all,\"prefix\":[\"jobs\",3]},{\"scopes\":[\"read\"],\"prefix\":[\"none\"]}]}" --oauth2-bearer "$admin"
token=$(value .token)
request PUT '/kv/jobs/=3/a' '{"n":50}' --oauth2-bearer "$token"
answers 409 unique-violation PATCH '/list?prefix=["jobs",3]' '{"n":111}' --oauth2-bearer "$token"
field '[.attemptedKey, .existingKey]' '[["jobs",3,"a"],null]'

finish

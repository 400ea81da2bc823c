#!/bin/bash
# What checks of POST /atomic can say about entries and about ranges.
. "$(dirname "$0")/../lib/http.sh"
start_server

# CHECK...: asks whether a commit with these checks would hold.
ask() {
    local checks
    checks=$(printf ',%s' "$@")
    request POST /atomic "{\"dry\":true,\"checks\":[${checks:1}]}"
}
holds() {
    ask "$@"
    expect 200
}
# CHECK FOUND: fails, and the answer names it with what was found.
fails() {
    ask "$1"
    expect 409 check-failed
    field '.failedChecks' "[$2]"
}

request PUT /kv/old '{"stock":3,"tags":["a"],"name":"Ada"}'
old=$(value .versionstamp)
request PUT /kv/new 7
new=$(value .versionstamp)

test_case 'a check with exists holds while the entry is there, or is not'
holds '{"key":["old"],"exists":true}' '{"key":["none"],"exists":false}'
fails '{"key":["old"],"exists":false}' "{\"check\":0,\"key\":[\"old\"],\"expected\":null,\"actual\":\"$old\"}"
fails '{"key":["none"],"exists":true}' '{"check":0,"key":["none"],"exists":true,"actual":null}'

test_case 'a check with atMost holds while the entry is not newer'
holds "{\"key\":[\"old\"],\"atMost\":\"$old\"}" "{\"key\":[\"old\"],\"atMost\":\"$new\"}" "{\"key\":[\"none\"],\"atMost\":\"$old\"}"
fails "{\"key\":[\"new\"],\"atMost\":\"$old\"}" "{\"check\":0,\"key\":[\"new\"],\"atMost\":\"$old\",\"actual\":\"$new\"}"

test_case 'a check with where has the comparisons of declarations'
where() { echo "{\"key\":[\"${2:-old}\"],\"where\":$1}"; }
while read -r condition; do
    holds "$(where "$condition")"
done <<'END'
{"path":"/stock","eq":3}
{"path":"/stock","ne":4}
{"path":"/stock","in":[1,3]}
{"path":"/stock","gt":2,"lt":4}
{"path":"/stock","ge":3,"le":3}
{"path":"/tags","exists":true}
{"path":"/none","exists":false}
[{"path":"/name","ge":"A"},{"path":"/stock","exists":true}]
END
holds "$(where '{"path":"","ge":7}' new)"
fails "$(where '[{"path":"/name","eq":"Ada"},{"path":"/stock","ge":5}]')" \
    "{\"check\":0,\"key\":[\"old\"],\"where\":{\"path\":\"/stock\",\"ge\":5},\"found\":3,\"actual\":\"$old\"}"
fails "$(where '{"path":"/none","eq":null}')" \
    "{\"check\":0,\"key\":[\"old\"],\"where\":{\"path\":\"/none\",\"eq\":null},\"actual\":\"$old\"}"
fails "$(where '{"path":"/none","exists":false}' none)" \
    '{"check":0,"key":["none"],"where":{"path":"/none","exists":false},"actual":null}'

test_case 'a failed check with where does not show a long value'
request PUT /kv/long "\"$(head -c 2000 /dev/zero | tr '\0' x)\""
ask "$(where '{"path":"","eq":"y"}' long)"
field '.failedChecks[0] | has("found")' false

test_case 'a check with where sees the fields of values of JavaScript, and none of bytes or a KvU64'
request POST /atomic '{"mutations":[{"type":"set","key":["typed"],"typed":{"type":"Date","value":"2023-04-23T00:00:00.000Z"}},{"type":"set","key":["u"],"typed":{"type":"KvU64","value":"5"}}]}'
holds "$(where '{"path":"","gt":1600000000000}' typed)"
ask "$(where '{"path":"","ge":5}' u)"
expect 409 check-failed

test_case 'conditions look at the state before the commit, and each that fails is named'
request POST /atomic '{"checks":[{"key":["new"],"where":{"path":"","ge":5}},{"key":["old"],"exists":true},{"key":["none"],"exists":true},{"prefix":["room"],"none":true}],
    "mutations":[{"type":"sum","key":["new"],"value":-5},{"type":"set","key":["room",1],"value":1}]}'
expect 409 check-failed
field '[.failedChecks[].check]' '[2]'
answers 200 POST /atomic '{"checks":[{"key":["new"],"where":{"path":"","ge":5}},{"prefix":["room"],"none":true}],
    "mutations":[{"type":"sum","key":["new"],"value":-5},{"type":"set","key":["room",1],"value":1}]}'
room=$(value .versionstamp)

test_case 'a check with none holds while no entry is under the prefix'
fails '{"prefix":["room"],"none":true}' "{\"check\":0,\"prefix\":[\"room\"],\"key\":[\"room\",1],\"none\":true,\"actual\":\"$room\"}"
holds '{"prefix":["room",1],"none":true}' '{"prefix":["roo"],"none":true}'
request PUT '/kv/soon/1?ttl=1ms' 1
until_status 404 GET /kv/soon/1
holds '{"prefix":["soon"],"none":true}'

test_case 'a check of a prefix with atMost holds while no entry under it is newer'
request PUT /kv/room/2 2
second=$(value .versionstamp)
holds "{\"prefix\":[\"room\"],\"atMost\":\"$second\"}" "{\"prefix\":[\"empty\"],\"atMost\":\"$old\"}"
fails "{\"prefix\":[\"room\"],\"atMost\":\"$room\"}" "{\"check\":0,\"prefix\":[\"room\"],\"key\":[\"room\",\"2\"],\"atMost\":\"$room\",\"actual\":\"$second\"}"

test_case 'a check of a prefix with atMost ignores entries that were removed'
request DELETE /kv/room/2
holds "{\"prefix\":[\"room\"],\"atMost\":\"$room\"}"

test_case 'a check of a prefix sees the entries of an index, and refuses one that is being built'
request POST /indexes '{"name":"by_name","prefix":["users"],"fields":["/name"]}'
holds '{"prefix":["by_name"],"none":true}'
request PUT /kv/users/1 '{"name":"Bo"}'
ask '{"prefix":["by_name","Bo"],"none":true}'
field '.failedChecks[0].key' '["by_name","Bo","1"]'

# digest QUERY: the digest of the page, for checks below.
digest() {
    request GET "/list?$1&keys=true&digest=true"
    value .digest
}
# is_digest RANGE DIGEST: a check of the range.
is_digest() { echo "{$1,\"digest\":\"$2\"}"; }

test_case 'a check with a digest holds while the list is what it was'
for n in 1 2 3 4; do request PUT /kv/seats/=$n "$n"; done
all='"prefix":["seats"]'
whole=$(is_digest "$all" "$(digest prefix=seats)")
first=$(is_digest "$all,\"limit\":2" "$(digest 'prefix=seats&limit=2')")
last=$(is_digest "$all,\"limit\":2,\"reverse\":true" "$(digest 'prefix=seats&limit=2&reverse=true')")
middle=$(is_digest '"start":["seats",2],"end":["seats",4]' "$(digest 'start=seats/=2&end=seats/=4')")
after=$(is_digest "$all,\"start\":[\"seats\",4]" "$(digest 'prefix=seats&start=seats/=4')")
none=$(is_digest '"prefix":["seats",1]' "$(digest prefix=seats/=1)")
holds "$whole" "$first" "$last" "$middle" "$after" "$none"
request GET '/list?prefix=seats&limit=2'
request GET "/list?prefix=seats&limit=9&digest=true&cursor=$(value .cursor)"
second=$(value .digest)
holds "$(is_digest '"start":["seats",3],"end":["seats",9]' "$second")"
field '.failedChecks' null

test_case 'a digest names the check, and is not that of other entries'
fails "$(is_digest "$all" "$second")" "{\"check\":0,\"digest\":\"$second\",\"actual\":null}"
ask "$(is_digest "$all" "$(digest 'prefix=seats&reverse=true')")"
expect 409 check-failed

# changed NUMBERS: which of these checks fail now.
changed() {
    ask "$whole" "$first" "$last" "$middle" "$after" "$none"
    field '[.failedChecks[]?.check]' "$1"
}
test_case 'a digest fails once an entry was added, changed or removed, in its part of the range'
request PUT /kv/seats/=3.5 3.5
changed '[0,2,3]'
request DELETE /kv/seats/=3.5
changed '[]'
request PUT /kv/seats/=1 1
changed '[0,1]'
request DELETE /kv/seats/=4
changed '[0,1,2,4]'
request PUT '/kv/seats/=1/x?ttl=1ms' 1
until_status 404 GET /kv/seats/=1/x
changed '[0,1,2,4]'
request PUT /kv/seats/=1/x 1
changed '[0,1,2,4,5]'

test_case 'a digest fails once one of its entries has expired'
request PUT '/kv/passing/1?ttl=1s' 1
passing=$(is_digest '"prefix":["passing"]' "$(digest prefix=passing)")
until_status 404 GET /kv/passing/1
ask "$passing"
expect 409 check-failed

test_case 'a digest stands with a range, and is of a page of keys'
while read -r check; do
    ask "$check"
    expect 400 bad-request
    field .pointer /checks/0
done <<END
{"key":["seats",1],"digest":"$second"}
{"digest":"$second"}
{"prefix":["seats"],"none":true,"digest":"$second"}
{"prefix":["seats"],"none":true,"limit":1}
{"prefix":["seats"],"none":true,"start":["seats",1]}
{"start":["seats",1],"digest":"$second"}
{"prefix":["seats"],"start":["seats",1],"end":["seats",2],"digest":"$second"}
{"prefix":["seats"],"key":["seats"],"digest":"$second"}
END
for digest in '"ab"' "\"${second}00\"" "\"${second:2}zz\"" 5; do
    answers 400 bad-request POST /atomic "{\"checks\":[{\"prefix\":[],\"digest\":$digest}]}"
    field .pointer /checks/0/digest
done
for other in index=by_name 'where=%7B%22path%22:%22%22,%22eq%22:1%7D' share=0.5; do
    answers 400 bad-parameter GET "/list?digest=true&$other"
    field .parameter digest
done
request GET '/list?prefix=seats&digest=true' '' -H 'Accept: application/x-ndjson'
expect 400 bad-parameter
answers 400 bad-parameter GET '/list?digest=yes'

test_case 'rows read by range checks count against the budget of the commit'
for block in $(seq 0 10); do
    request POST /atomic "{\"mutations\":[$(seq -s, -f '{"type":"set","key":["many",%g],"value":1}' $((block * 1000)) $((block * 1000 + 999)))]}"
done
last=$(value .versionstamp)
many="{\"prefix\":[\"many\"],\"atMost\":\"$last\"}"
ask "$many"
expect 200
ask "$many$(printf ",$many%.0s" $(seq 15))"
expect 413 commit-too-large
field .detail 'the commit costs more than its budget of 150000000 units; nothing was changed'
ask "{\"prefix\":[\"many\"],\"atMost\":\"$old\"}"
field '.failedChecks[0].key' '["many",0]'

test_case 'contradictory members of a check are refused, with a pointer'
while IFS='|' read -r check pointer; do
    ask "$check"
    expect 400 bad-request
    field .pointer "/checks/0$pointer"
done <<'END'
{"key":["a"]}|
{"key":["a"],"exists":true,"versionstamp":null}|
{"key":["a"],"prefix":["b"],"none":true}|
{"key":["a"],"none":true}|
{"prefix":["a"],"exists":true}|
{"prefix":["a"],"none":false}|/none
{"key":["a"],"atMost":null}|/atMost
{"key":["a"],"exists":1}|/exists
{"key":["a"],"where":[]}|/where
{"key":["a"],"where":{"path":"/a"}}|/where
{"key":["a"],"where":{"path":"/a","gt":null}}|/where/gt
{"key":["a"],"where":[{"path":"a","eq":1}]}|/where/0/path
END

test_case 'a check needs the right to read its key, or to list its prefix'
stop_server
start_server --token-file "$work/token"
admin=$(cat "$work/token")
token() { # SCOPES: a token for the prefix ["room"]
    request POST /tokens "{\"name\":\"t\",\"grants\":[{\"scopes\":$1,\"prefix\":[\"room\"]}]}" --oauth2-bearer "$admin"
    token=$(value .token)
}
try() { # CHECK STATUS CODE
    request POST /atomic "{\"checks\":[$1]}" --oauth2-bearer "$token"
    expect "$2" "$3"
}
token '["read","write"]'
try '{"key":["room",1],"exists":false}' 409 check-failed
try '{"prefix":["room"],"none":true}' 403 forbidden
token '["list","write"]'
try '{"prefix":["room"],"none":true}' 409 check-failed
try '{"prefix":["rooms"],"none":true}' 403 forbidden
try '{"prefix":[],"none":true}' 403 forbidden
try '{"key":["room",1],"where":{"path":"","eq":1}}' 403 forbidden

finish

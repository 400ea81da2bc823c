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

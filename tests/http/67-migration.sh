#!/bin/bash
# PATCH gives an index another declaration, while it is read and written:
# the old form stays until the new one is there, and no answer is wrong, missing
# or stale meanwhile.
. "$(dirname "$0")/../lib/http.sh"
start_server

for i in {0..4}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | {type: "set", key: ["u", . + 1000 * $i],
        value: {email: "user\(. + 1000 * $i)@x.org", n: 0}}]}')"
done
request POST /indexes '{"name":"by_email","prefix":["u"],"fields":["/email"],"unique":true}'
until_field .state ready GET /indexes/by_email

# Reads two entries by way of the index until there is a file $work/stop: one
# that no client changes, and one that it has just written.
watch_answers() {
    local n=0 got stamp
    while [ ! -e "$work/stop" ]; do
        n=$((n + 1))
        stamp=$(curl -s -X PUT "$url/kv/u/=77" -d "{\"email\":\"user77@x.org\",\"n\":$n}")
        stamp=${stamp##*\"versionstamp\":\"}
        expect_answer 'prefix=user77@x.org' "{\"entries\":[{\"key\":[\"u\",77],\"value\":{\"email\":\"user77@x.org\",\"n\":$n},\"versionstamp\":\"${stamp%%\"*}\"}],\"cursor\":null}"
        got=$(curl -s "$url/list?index=by_email&prefix=user4321@x.org")
        [[ $got == '{"entries":[{"key":["u",4321],"value":{"email":"user4321@x.org","n":0},"versionstamp":"'*'"}],"cursor":null}' ]] ||
            echo "$got" >>"$work/wrong"
        echo "$n" >"$work/answers"
    done
}

expect_answer() {
    local got
    got=$(curl -s "$url/list?index=by_email&$1")
    [ "$got" = "$2" ] || echo "$got instead of $2" >>"$work/wrong"
}

# The count is rewritten each time: for a moment the file is empty.
answered() { [ "$(cat "$work/answers")" -ge "$1" ] 2>"$work/null"; }

# migrate PATCH: the answer is 202 while it runs. However short that is, some
# answers lie between it and the next one.
migrate() {
    awaited=$((awaited + 3))
    wait_until answered "$awaited"
    request PATCH /indexes/by_email "$1"
    [ "$status" = 202 ] || expect 200
    until_field .state ready GET /indexes/by_email
    field .entries 5000
}

row_is() {
    gives '[.entries[] | [.key, .value]]' "[$1]" GET '/list?start=by_email/user4321@x.org&end=by_email/user4322@x.org'
}

whole='{"email":"user4321@x.org","n":0}'
touch "$work/wrong"
echo 0 >"$work/answers"
awaited=0
watch_answers &
watcher=$!

test_case 'an index of pointers migrates to copies'
row_is '[["by_email","user4321@x.org"],4321]'
before=$(value '.entries[0].versionstamp')
migrate '{"store":"value"}'
field .store value
row_is "[[\"by_email\",\"user4321@x.org\"],$whole]"
field ".entries[0].versionstamp > \"$before\"" true
gives .n 0 GET /indexes/by_email/get/user4321@x.org

test_case 'an index of copies migrates to some of the members'
migrate '{"store":{"fields":["/n"]}}'
field .store '{"fields":["/n"]}'
row_is '[["by_email","user4321@x.org"],{"n":0}]'
request GET /indexes/by_email/get/user4321@x.org
body_is "$whole"

test_case 'an index migrates to one that is not unique'
migrate '{"unique":false}'
row_is '[["by_email","user4321@x.org",4321],{"n":0}]'
answers 409 index-not-unique GET /indexes/by_email/get/user4321@x.org

test_case 'an index migrates to a unique one, with pointers'
migrate '{"unique":true,"store":null}'
row_is '[["by_email","user4321@x.org"],4321]'
request GET /indexes/by_email/get/user4321@x.org
header Content-Location /kv/u/=4321

test_case 'an index migrates from every form to every other'
for patch in '{"store":"value","unique":false}' '{"store":"pointer"}' \
    '{"store":{"fields":["/email"]}}' '{"store":{"fields":["/n"]}}' \
    '{"store":"value"}' '{"store":"pointer","unique":true}'; do
    migrate "$patch"
done
row_is '[["by_email","user4321@x.org"],4321]'

test_case 'no answer was wrong, missing or stale during the migrations'
touch "$work/stop"
wait $watcher
is 'the wrong answers' "$(head -3 "$work/wrong")" ''
is 'many answers' "$(answered "$awaited" && echo yes)" yes

test_case 'a migration to the present form changes nothing'
request PATCH /indexes/by_email '{"store":"pointer","name":"by_email"}' -H 'Content-Type: application/merge-patch+json'
expect 200
field .state ready
answers 200 PATCH /indexes/by_email '{}'

test_case 'a migrating index shows and accepts its old form, and shows its new one and how far it is'
request POST /indexes/by_email/pause
answers 202 PATCH /indexes/by_email '{"store":"value"}'
field '[.state, .store, .migration.state, .migration.to]' '["migrating","pointer","building",{"unique":true,"store":"value"}]'
field '.migration.build | [.done, .total]' '[0,5000]'
row_is '[["by_email","user4321@x.org"],4321]'
request PUT /kv/u/=4321 '{"email":"user4321@x.org","n":1}'
gives .n 1 GET /indexes/by_email/get/user4321@x.org
row_is '[["by_email","user4321@x.org"],4321]'
answers 200 PUT /kv/by_email/user4321@x.org 4321
answers 409 index-owned-key PUT /kv/by_email/user4321@x.org '{"email":"user4321@x.org","n":1}'
answers 202 PATCH /indexes/by_email '{"store":"value"}'

test_case 'a second migration of a migrating index is refused'
answers 409 index-migrating PATCH /indexes/by_email '{"unique":false}'
field .index by_email

test_case 'a migration can be undone'
answers 200 DELETE /indexes/by_email/migration
field '[.state, .store, has("migration")]' '["ready","pointer",false]'
row_is '[["by_email","user4321@x.org"],4321]'
answers 404 no-migration DELETE /indexes/by_email/migration
answers 202 PATCH /indexes/by_email '{"unique":false}'
gives '[.state, .unique]' '["ready",true]' DELETE /indexes/by_email/migration
row_is '[["by_email","user4321@x.org"],4321]'

test_case 'a migration continues after a restart'
answers 202 PATCH /indexes/by_email '{"store":"value"}'
stop_server
start_server
gives '[.state, .store]' '["migrating","pointer"]' GET /indexes/by_email
request POST /indexes/by_email/resume
until_field .store value GET /indexes/by_email
row_is '[["by_email","user4321@x.org"],{"email":"user4321@x.org","n":1}]'

test_case 'a client that prefers to wait gets the index in its new form'
answers 200 PATCH /indexes/by_email '{"store":"pointer"}' -H 'Prefer: wait=30'
field '[.state, .store]' '["ready","pointer"]'

test_case 'the name cannot be changed, and the result must be a declaration'
while IFS='|' read -r patch pointer; do
    answers 400 bad-index-definition PATCH /indexes/by_email "$patch"
    is "the pointer for $patch" "$(value '.pointer // ""')" "$pointer"
done <<'END'
[]|
{"prefix":["by_email","x"]}|/prefix
{"fields":[]}|
{"name":"other"}|/name
{"depth":-1}|/depth
{"where":[{"path":"/n","greater":1}]}|/where/0/greater
{"missing":"wrong"}|/missing
{"store":"copy"}|/store
{"unique":1}|/unique
{"colour":1}|/colour
END
answers 400 bad-json PATCH /indexes/by_email '{"store":'
for type in text/plain application/json-patch+json; do
    answers 415 unsupported-media-type PATCH /indexes/by_email '[]' -H "Content-Type: $type"
    header Accept-Patch 'application/json, application/merge-patch+json'
done
answers 400 unknown-parameter PATCH /indexes/by_email?dry=1 '{}'
answers 404 index-not-found PATCH /indexes/nothing '{"unique":true}'
answers 404 index-not-found DELETE /indexes/nothing/migration
gives '[.state, .store, .unique]' '["ready","pointer",true]' GET /indexes/by_email

test_case 'duplicates stop a migration to unique: they are listed, and the old form stays'
request PUT /kv/d/1 '{"v":"same"}'
request PUT /kv/d/2 '{"v":"other"}'
request PUT /kv/d/3 '{"v":"same"}'
request POST /indexes '{"name":"by_v","prefix":["d"],"fields":["/v"]}'
until_field .state ready GET /indexes/by_v
answers 202 PATCH /indexes/by_v '{"unique":true}' -H "Prefer: wait=$patience"
field '[.state, .unique, .migration.state, .build.etaSeconds]' '["migrating",false,"conflicted",null]'
is 'the end of the events' "$(curl -sN -m "$patience" -H 'Accept: text/event-stream' "$url/indexes/by_v" |
    grep -A1 '^event: settled' | sed -n 's/^data: //p' | jq -c .migration.state)" '"conflicted"'
gives '.checks[] | select(.name == "indexes") | .state' warning GET '/readyz?verbose=true'
gives '[.entries[].key[1]]' '["2","1","3"]' GET /list?index=by_v
request GET /indexes/by_v/conflicts
field '.conflicts | length' 1
field '.conflicts[0] | [.value, .keys]' '[["same"],[["d","1"],["d","3"]]]'
answers 409 unique-violation PUT /kv/d/4 '{"v":"same"}'

test_case 'a migration to unique completes when the last duplicate is resolved'
answers 200 PATCH /kv/d/3 '{"v":"another"}'
until_field .unique true GET /indexes/by_v
field .state ready
request GET /indexes/by_v/get/same
header Content-Location /kv/d/1

test_case 'a dropped index takes its migration along'
request POST /indexes/by_v/pause
answers 202 PATCH /indexes/by_v '{"unique":false,"store":"value"}'
answers 204 DELETE /indexes/by_v
answers 404 index-not-found GET /indexes/by_v
answers 201 PUT /kv/by_v/same 1

finish

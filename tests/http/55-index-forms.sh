#!/bin/bash
# Every form that a declaration can have, and what it makes of entries.
. "$(dirname "$0")/../lib/http.sh"
start_server

declare_index() {
    answers 201 POST /indexes "$1"
}

# The keys of an index's entries, without the name.
entries_of() {
    curl -s "$url/list?prefix=$1" | jq -c '[.entries[].key[1:]]'
}

test_case 'an index with each has one entry for each element, and one for equal elements'
declare_index '{"name":"by_tag","prefix":["p"],"fields":[{"path":"/tags","each":true,"fold":"lower"}]}'
field '.fields' '[{"path":"/tags","fold":"lower","each":true}]'
answers 201 PUT /kv/p/1 '{"tags":["Red","blue","RED",3,null,{"a":1},["x"]]}'
request PUT /kv/p/2 '{"tags":["red"]}'
is 'the entries' "$(entries_of by_tag)" '[["blue","1"],["red","1"],["red","2"],[3,"1"]]'
gives '[.entries[].key]' '[["p","1"],["p","2"]]' GET '/list?index=by_tag&prefix=RED'
request PATCH /kv/p/1 '{"tags":["green","blue"]}'
is 'the entries' "$(entries_of by_tag)" '[["blue","1"],["green","1"],["red","2"]]'
gives .entries 3 GET /indexes/by_tag
for tags in '[]' '"red"' 'null' '{"0":"red"}'; do
    request PUT /kv/p/1 "{\"tags\":$tags}"
    is "the entries for $tags" "$(entries_of by_tag)" '[["red","2"]]'
done
request DELETE /kv/p/2
is 'the entries' "$(entries_of by_tag)" '[]'

test_case 'a unique index with each gives every element to one entry'
declare_index '{"name":"by_mail","prefix":["u"],"fields":[{"path":"/mails","each":true}],"unique":true}'
answers 201 PUT /kv/u/1 '{"mails":["a@x","b@x","a@x"]}'
answers 409 unique-violation PUT /kv/u/2 '{"mails":["c@x","b@x"]}'
field '[.index, .value, .existingKey, .attemptedKey]' '["by_mail",["b@x"],["u","1"],["u","2"]]'
is 'the entries' "$(entries_of by_mail)" '[["a@x"],["b@x"]]'
request GET /indexes/by_mail/get/b@x
header Content-Location /kv/u/1
request POST /atomic '{"mutations":[{"type":"set","key":["u","1"],"value":{"mails":["b@x"]}},{"type":"set","key":["u","2"],"value":{"mails":["a@x","c@x"]}}]}'
expect 200
is 'the entries' "$(entries_of by_mail)" '[["a@x"],["b@x"],["c@x"]]'
request GET /indexes/by_mail/get/a@x
header Content-Location /kv/u/2

test_case 'an array with more than 1000 elements is refused, and the index is named'
jq -nc '{tags: [range(1000)]}' >"$work/thousand"
answers 201 PUT /kv/p/many "@$work/thousand"
gives .count 1000 GET '/count?index=by_tag'
jq -nc '{tags: [range(1001)]}' >"$work/more"
answers 422 not-indexable PUT /kv/p/more "@$work/more"
field '[.index, .pointer, .attemptedKey, .mutation]' '["by_tag","/tags",["p","more"],0]'
field '.detail | contains("\"/tags\" has 1001 elements; a field with each has at most 1000")' true
answers 404 key-not-found GET /kv/p/more
request DELETE /kv/p/many
gives .count 0 GET '/count?index=by_tag'

test_case 'a commit whose index entries cost more than its budget is refused, and leaves none'
budget='budget of 150000000 units'
declare_index '{"name":"by_word","prefix":["text"],"fields":[{"path":"","each":true}]}'
words() { # FIRST COUNT: so many entries with a thousand words each
    jq -nc --argjson first "$1" --argjson count "$2" '{mutations: [range($first; $first + $count) | {type: "set", key: ["text", .], value: [range(1000)]}]}' >"$work/words"
}
words 0 40
answers 413 commit-too-large POST /atomic "@$work/words"
field ".detail | contains(\"$budget\")" true
gives .count 0 GET '/count?index=by_word'
for first in 0 20 40; do
    words "$first" 20
    answers 200 POST /atomic "@$work/words"
done
gives .count 60000 GET '/count?index=by_word'

test_case 'DELETE of a range ends early where the budget ends, and the same request, or the cursor, continues'
answers 200 DELETE '/list?prefix=text'
field '[.more, .deleted > 10, .deleted < 60, (.cursor | type)]' '[true,true,true,"string"]'
deleted=$(value .deleted)
request GET '/count?index=by_word'
field .count $(((60 - deleted) * 1000))
answers 400 cursor-invalid DELETE "/list?prefix=text&dry=true&cursor=$(jq -nr '"x"')"
gives '[.more, .deleted > 10]' '[true,true]' DELETE '/list?prefix=text'
deleted=$((deleted + $(value .deleted)))
request DELETE "/list?prefix=text&cursor=$(value .cursor)"
deleted=$((deleted + $(value .deleted)))
[ "$(value .more)" = false ] || request DELETE "/list?prefix=text&cursor=$(value .cursor)"
gives .count 0 GET '/count?prefix=text'
words 0 20
request POST /atomic "@$work/words"
words 20 20
request POST /atomic "@$work/words"
is 'kindex del --prefix deletes all' "$(KINDEX_URL=$url "$KINDEX" del --prefix text 2>&1)" "40 deleted"
gives .count 0 GET '/count?index=by_word'

test_case 'the budget of a commit counts the bytes of index entries, too'
declare_index '{"name":"copies","prefix":["docs"],"fields":[{"path":"/tags","each":true}],"store":"value"}'
document() { # TAGS BYTES
    jq -nc --argjson tags "$1" --argjson bytes "$2" \
        '{tags: [range($tags)], text: ("x" * $bytes)}'
}
document 100 900000 >"$work/heavy"
answers 413 commit-too-large PUT /kv/docs/a "@$work/heavy"
field ".detail | contains(\"$budget\")" true
gives .count 0 GET '/count?index=copies'
answers 404 GET /kv/docs/a
document 15 900000 >"$work/heavy"
answers 201 PUT /kv/docs/a "@$work/heavy"
gives .count 15 GET '/count?index=copies'

test_case 'a build that meets an entry which no commit could store fails, and names the entry'
document 100 900000 >"$work/heavy"
answers 201 PUT /kv/papers/a "@$work/heavy"
request POST /indexes '{"name":"papers_copies","prefix":["papers"],"fields":[{"path":"/tags","each":true}],"store":"value"}' "${json[@]}" -H 'Prefer: wait=10'
field .state failed
too_much='an entry cannot be indexed, because to store it with its index entries costs more than the 150000000 units of a commit: ["papers","a"]'
field .failure "$too_much"
answers 200 GET /kv/papers/a

test_case 'a migration that meets an entry beyond the budget fails, and the index stays as it was'
request POST /indexes '{"name":"papers_tags","prefix":["papers"],"fields":[{"path":"/tags","each":true}]}' "${json[@]}" -H 'Prefer: wait=10'
field .state ready
request PATCH /indexes/papers_tags '{"store":"value"}' "${json[@]}" -H 'Prefer: wait=10'
failed_so=$(jq -nc --arg failure "$too_much" '["migrating","pointer",100,"failed","value",$failure]')
told='[.state, .store, .entries, .migration.state, .migration.to.store, .migration.failure]'
field "$told" "$failed_so"
stop_server
start_server
gives "$told" "$failed_so" GET /indexes/papers_tags
gives '.checks[] | select(.name == "indexes") | .state' warning GET '/readyz?verbose=true'
answers 200 PUT /kv/papers/a "@$work/heavy"
request GET '/kv/papers_tags/=7/a'
body_is '"a"'

test_case 'a failed migration is cleared when it is undone or restarted'
answers 200 DELETE /indexes/papers_tags/migration
field '[.state, .store, .migration, .failure]' '["ready","pointer",null,null]'
answers 404 no-migration DELETE /indexes/papers_tags/migration
gives .migration.state failed PATCH /indexes/papers_tags '{"store":"value"}' "${json[@]}" -H 'Prefer: wait=10'
document 15 900000 >"$work/heavy"
answers 200 PUT /kv/papers/a "@$work/heavy"
request PATCH /indexes/papers_tags '{"store":"value"}' "${json[@]}" -H 'Prefer: wait=10'
field '[.state, .store, .entries, .migration, .failure]' '["ready","value",15,null,null]'
answers 200 PUT /kv/papers/a "@$work/heavy"

test_case 'a range delete removes large values a few at a time'
document 0 900000 >"$work/plain"
for i in {1..50}; do
    answers 201 PUT "/kv/large/=$i" "@$work/plain"
done
gives '[.deleted < 50, .deleted > 10, .more]' '[true,true,true]' DELETE '/list?prefix=large'
gives .more false DELETE '/list?prefix=large'
gives .count 0 GET '/count?prefix=large'

test_case 'parts of the key can be fields of an index, alone and with others'
declare_index '{"name":"by_day","prefix":["log"],"depth":2,"fields":[{"key":2},"/level",{"key":1,"fold":"lower"}],"unique":true}'
request PUT /kv/log/Web/=7 '{"level":"warn"}'
request PUT /kv/log/db/=7 '{"level":"info"}'
request PUT /kv/log/db/=6 '{"level":"warn"}'
is 'the entries' "$(entries_of by_day)" '[[6,"warn","db"],[7,"info","db"],[7,"warn","web"]]'
request GET /indexes/by_day/get/=7/warn/WEB
header Content-Location /kv/log/Web/=7
answers 409 unique-violation PUT /kv/log/WEB/=7 '{"level":"warn"}'
declare_index '{"name":"by_second","prefix":["deep"],"fields":[{"key":2}]}'
request PUT /kv/deep/a 'bytes' -H 'Content-Type: text/plain'
request PUT /kv/deep/a/b 'bytes' -H 'Content-Type: text/plain'
request PUT /kv/deep/a/=hex:00ff/c 1
is 'the entries' "$(entries_of by_second)" '[[{"type":"Uint8Array","value":"AP8","byteLength":2},"a",{"type":"Uint8Array","value":"AP8","byteLength":2},"c"],["b","a","b"]]'

test_case 'casefold knows more pairs of letters than toLowerCase'
declare_index '{"name":"by_street","prefix":["s"],"fields":[{"path":"/street","fold":"casefold"}],"unique":true}'
answers 201 PUT /kv/s/1 '{"street":"Straße"}'
answers 409 unique-violation PUT /kv/s/2 '{"street":"STRASSE"}'
field .value '["strasse"]'
request GET /indexes/by_street/get/STRASSE
header Content-Location /kv/s/1

test_case 'bigints and dates in the kv-utils form keep their order'
declare_index '{"name":"by_big","prefix":["b"],"fields":["/n"]}'
i=0
for n in '{"type":"bigint","value":"12345678901234567890"}' '{"type":"bigint","value":"-5"}' 2 '{"type":"Date","value":"1970-01-01T00:00:00.001Z"}' \
    '{"type":"Date","value":"1969-12-31T23:59:59.000Z"}' '"x"' '{"type":"bigint","value":"7"}' '{"type":"bigint","value":"x"}' '{"type":"Date","value":"soon"}' '{"type":"bigint"}'; do
    answers 201 PUT "/kv/b/$((i++))" "{\"n\":$n}"
done
gives '[.entries[].key[1]]' '["5","1","6","0","4","3","2"]' GET '/list?index=by_big'
gives '[.entries[] | .key[1] | numbers]' '[-1000,1,2]' GET '/list?prefix=by_big'

# lines of a condition and the numbers of the values that it lets in
cat >"$work/conditions" <<'END'
{"path":"/v","eq":1}|[2]
{"path":"/v","eq":null}|[1]
{"path":"/v","ne":1}|[0,1,3,4,5,6,7,8]
{"path":"/v","in":[1,"a",null]}|[1,2,5]
{"path":"/v","exists":true}|[1,2,3,4,5,6,7,8]
{"path":"/v","exists":false}|[0]
{"path":"/v","gt":1}|[3,8]
{"path":"/v","ge":1.0}|[2,3,8]
{"path":"/v","lt":2}|[2]
{"path":"/v","le":"a"}|[4,5]
{"path":"/v","gt":1,"le":2}|[3,8]
[{"path":"/v","eq":2},{"path":"/w","exists":false}]|[3]
[]|[0,1,2,3,4,5,6,7,8]
{"path":"/v","eq":{"type":"bigint","value":"1"}}|[]
END

test_case 'where of an index takes the entries that fulfil its conditions, and no others'
i=0
while IFS='|' read -r where _; do
    i=$((i + 1))
    declare_index "{\"name\":\"w$i\",\"prefix\":[\"w\"],\"fields\":[{\"key\":1}],\"where\":$where}"
done <"$work/conditions"
i=0
for v in '{}' '{"v":null}' '{"v":1}' '{"v":2}' '{"v":"1"}' '{"v":"a"}' '{"v":true}' '{"v":[1]}' '{"v":2,"w":"x"}'; do
    request PUT "/kv/w/=$((i++))" "$v"
done
i=0
while IFS='|' read -r where wanted; do
    i=$((i + 1))
    is "the entries of $where" "$(curl -s "$url/list?prefix=w$i" | jq -c '[.entries[].key[1]]')" "$wanted"
done <"$work/conditions"
gives .where '[{"path":"/v","gt":1},{"path":"/v","le":2}]' GET /indexes/w11
request PUT /kv/w/=2 '{"v":9}'
is 'entries that no longer meet it' "$(entries_of w1)" '[]'
request PUT /kv/w/=2 '{"v":1}'
is 'and does again' "$(entries_of w1)" '[[2,2]]'

test_case 'a unique index is unique among the entries of its where'
declare_index '{"name":"by_active","prefix":["a"],"fields":["/name"],"unique":true,"where":{"path":"/status","eq":"active"}}'
request PUT /kv/a/1 '{"name":"ada","status":"gone"}'
answers 201 PUT /kv/a/2 '{"name":"ada","status":"active"}'
answers 409 unique-violation PATCH /kv/a/1 '{"status":"active"}'

test_case 'missing=error refuses a value that cannot be indexed, and points to it'
declare_index '{"name":"by_due","prefix":["i"],"fields":["/due",{"path":"/to","each":true},{"key":1}],"missing":"error"}'
answers 201 PUT /kv/i/1 '{"due":1,"to":["a","b"]}'
answers 201 PUT /kv/i/2 '{"due":1,"to":[]}'
while IFS='|' read -r body pointer; do
    answers 422 not-indexable PUT /kv/i/3 "$body"
    field '[.index, .attemptedKey, .mutation]' '["by_due",["i","3"],0]'
    is "the pointer for $body" "$(value .pointer)" "$pointer"
done <<'END'
{}|/due
{"due":null,"to":[]}|/due
{"due":[],"to":[]}|/due
{"due":1}|/to
{"due":1,"to":"a"}|/to
{"due":1,"to":["a",null]}|/to/1
7|/due
END
answers 422 not-indexable PUT /kv/i/3 x -H 'Content-Type: text/plain'
request POST /atomic '{"mutations":[{"type":"set","key":["other"],"value":1},{"type":"set","key":["i","9"],"value":{"to":[]}}]}'
expect 422 not-indexable
field '[.mutation, .pointer]' '[1,"/due"]'
answers 404 key-not-found GET /kv/other
answers 422 not-indexable PATCH /kv/i/1 '{"due":null}'
is 'the entries' "$(entries_of by_due)" '[[1,"a","1","1"],[1,"b","1","1"]]'
answers 422 not-indexable PUT /kv/i/3 "{\"due\":\"$(printf '%03000d' 0)\",\"to\":[1]}"
answers 204 DELETE /kv/i/1

test_case 'a build that finds what missing=error forbids fails, and says where'
request PUT /kv/old/1 '{"n":1}'
request PUT /kv/old/2 '{}'
request POST /indexes '{"name":"by_old","prefix":["old"],"fields":["/n"],"missing":"error"}'
until_field .state failed GET /indexes/by_old
field '.failure | contains("[\"old\",\"2\"]") and contains("/n")' true
field '[.skipped, .skippedKeys]' '[1,[["old","2"]]]'

test_case 'a failed build counts all entries to correct, and a long key leaves space for the reason'
long=$(printf '%01900d' 0)
for n in "$long" 1 2 3 4 5 6; do
    request PUT "/kv/olds/$n" '{"n":null}'
done
request PUT /kv/olds/7 '{"n":1}'
request POST /indexes '{"name":"by_olds","prefix":["olds"],"fields":["/n"],"missing":"error"}' "${json[@]}" -H 'Prefer: wait=10'
field '[.state, .skipped, .skippedKeys[]]' '["failed",7,["olds","1"],["olds","2"],["olds","3"],["olds","4"],["olds","5"]]'
field '.failure | contains("null, an array or an object is at \"/n\": [\"olds\",\"000")' true
request DELETE /indexes/by_olds

test_case 'reads by a failed index say how to repair it, and the repair works'
answers 409 index-not-ready GET /list?index=by_old
field .state failed
field '.detail | contains("has failed") and contains("[\"old\",\"2\"]")' true
field '.hint | contains("correct the entry that its error names, then declare the index again")' true
request PUT /kv/old/2 '{"n":2}'
request PUT /kv/old/1 '{"n":3}'
answers 409 index-not-ready GET /list?index=by_old
answers 200 POST '/indexes?dry=1' '{"name":"by_old","prefix":["old"],"fields":["/n"],"missing":"error"}'
field '[.estimate.entries, .warnings]' '[2,[]]'
gives .state failed GET /indexes/by_old
answers 409 index-exists POST /indexes '{"name":"by_old","prefix":["old"],"fields":["/n"]}'
request POST /indexes '{"name":"by_old","prefix":["old"],"fields":["/n"],"missing":"error"}'
[ "$status" = 202 ] || expect 201
until_field .state ready GET /indexes/by_old
field '[.entries, .failure]' '[2,null]'
gives '[.entries[].key]' '[["by_old",2,"2"],["by_old",3,"1"]]' GET /list?prefix=by_old
gives '[.entries[].key[1]]' '["2","1"]' GET /list?index=by_old

test_case 'the failure of an index shows as many whole characters of a long key as fit'
long=$(printf 'é%.0s' {1..300})
request PUT "/kv/long/$long" '{}'
request PUT "/kv/longer/x$long" '{}'
for prefix in long longer; do
    request POST /indexes "{\"name\":\"by_$prefix\",\"prefix\":[\"$prefix\"],\"fields\":[\"/n\"],\"missing\":\"error\"}"
    until_field .state failed GET "/indexes/by_$prefix"
    field '.failure | test("^an entry cannot be indexed.*: \\[\"long.*é$")' true
done

test_case 'an index with store fields holds a JSON object of these members'
declare_index '{"name":"cards","prefix":["c"],"fields":["/mail"],"unique":true,"store":{"fields":["/name","/address/city","/address/zip~1code","/tags"]}}'
field '.store' '{"fields":["/name","/address/city","/address/zip~1code","/tags"]}'
request PUT /kv/c/1 '{"mail":"a@x","name":"Ada","age":36,"address":{"city":"London","street":"St James","zip/code":7},"tags":[1,{"a":2}]}'
request GET /kv/cards/a@x
body_is '{"name":"Ada","address":{"city":"London","zip/code":7},"tags":[1,{"a":2}]}'
request GET '/indexes/cards/get/a@x?fields=/name,/address/city'
body_is '{"name":"Ada","address":{"city":"London"}}'
header Content-Location /kv/c/1
gives .age 36 GET /indexes/cards/get/a@x
gives '.entries | map([.key, .value.age])' '[[["c","1"],36]]' GET '/list?index=cards'
request PUT /kv/c/1 '{"mail":"a@x","name":null,"address":"London"}'
request GET /kv/cards/a@x
body_is '{"name":null}'
request PUT /kv/c/1 '{"mail":"a@x"}'
request GET /kv/cards/a@x
body_is '{}'

test_case 'hand-kept entries must equal those of an index with store fields'
request POST /atomic '{"mutations":[{"type":"set","key":["c","2"],"value":{"mail":"b@x","name":"Bo"}},{"type":"set","key":["cards","b@x"],"value":{"name":"Bo"}}]}'
expect 200
request POST /atomic '{"mutations":[{"type":"set","key":["c","3"],"value":{"mail":"c@x","name":"Cy"}},{"type":"set","key":["cards","c@x"],"value":{"name":"Bo"}}]}'
expect 409 index-owned-key
field .holds '{"name":"Cy"}'

test_case 'an index built later is the same as one kept from the beginning'
forms='"prefix":["c"],"fields":[{"path":"/mail","fold":"lower"}],"store":{"fields":["/name"]},"where":{"path":"/name","exists":true}'
request POST /indexes "{\"name\":\"built\",$forms}"
until_field .state ready GET /indexes/built
gives '.entries | map([.key, .value])' '[[["built","b@x","2"],{"name":"Bo"}]]' GET '/list?prefix=built'

test_case 'every form of an index survives a restart'
declared='[.indexes[] | {name, prefix, depth, fields, unique, store, missing, where}]'
request GET /indexes
before=$(value "$declared")
stop_server
start_server
request GET /indexes
is 'the declarations' "$(value "$declared")" "$before"
request PUT /kv/p/1 '{"tags":["x","Y"]}'
is 'the entries' "$(entries_of by_tag)" '[["x","1"],["y","1"]]'

finish

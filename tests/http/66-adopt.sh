#!/bin/bash
# Indexes that a program has kept by hand, as in Deno's guide, are taken over by
# declaration: correct entries stay, wrong ones are repaired, and all are counted.
. "$(dirname "$0")/../lib/http.sh"
start_server

adopt() {
    request POST /indexes "$1"
    [ "$status" = 202 ] || expect 201
}

counts() {
    request GET "/indexes/$1"
    value '.adopt | [.kept, .mended, .added, .removed]'
}

tag_of() {
    request GET "$1"
    header_value ETag
}

put() {
    request PUT "$1" "$2"
    [ "$status" = 201 ] || expect 201
}

# ---- Pointers ----------------------------------------------------------------

put /kv/users/ada '{"id":"ada","email":"Ada@x.org","favoriteColor":"blue"}'
put /kv/users/bob '{"id":"bob","email":"bob@x.org","favoriteColor":"green"}'
put /kv/users/carl '{"id":"carl","email":"carl@x.org","favoriteColor":"blue"}'
put /kv/users/dan '{"id":"dan","email":"dan@x.org","favoriteColor":"red"}'
put /kv/users_by_email/ada@x.org '"ada"'                     # right
put /kv/users_by_email/bob@x.org '"bob" '                    # right
put /kv/users_by_email/carl@x.org '"bob"'                    # wrong
put /kv/users_by_email/gone@x.org '"gone"'                   # dangling
put /kv/users_by_email/old/style '"ada"'                     # of no shape
put /kv/users_by_favorite_color/blue/ada '"ada"'             # right
put /kv/users_by_favorite_color/green/bob '["users","bob"]'  # wrong
put /kv/users_by_favorite_color/blue/dan '"dan"'             # dangling
ada=$(tag_of /kv/users_by_email/ada@x.org)
carl=$(tag_of /kv/users_by_email/carl@x.org)
color=$(tag_of /kv/users_by_favorite_color/blue/ada)

email='"name":"users_by_email","prefix":["users"],"fields":[{"path":"/email","fold":"lower"}],"unique":true'

test_case 'a declaration without adopt is refused if there are entries under its name'
answers 409 index-name-used POST /indexes "{$email}"
field '.hint | contains("\"adopt\": true")' true
answers 400 bad-index-definition POST /indexes "{$email,\"adopt\":1}"
field .pointer /adopt

test_case 'a dry declaration with adopt counts what it would do, and does nothing'
answers 200 POST '/indexes?dry=1' "{$email,\"adopt\":true}"
field '.adopt | [.kept, .mended, .added, .removed, .done]' '[2,1,1,2,true]'
field .adopt.samples.mended '[["users_by_email","carl@x.org"]]'
field .adopt.samples.added '[["users_by_email","dan@x.org"]]'
field '.adopt.samples.removed | length' 2
request POST '/indexes?dry=1' '{"name":"users_by_favorite_color","prefix":["users"],"fields":["/favoriteColor"],"adopt":true}'
field '.adopt | [.kept, .mended, .added, .removed]' '[1,1,2,1]'
answers 409 index-name-used POST '/indexes?dry=1' "{$email}"
gives .indexes '[]' GET /indexes
answers 200 GET /kv/users_by_email/gone@x.org
is 'the tag of carl' "$(tag_of /kv/users_by_email/carl@x.org)" "$carl"

test_case 'a declaration with adopt takes over hand-kept pointers'
adopt "{$email,\"adopt\":true}"
until_field .state ready GET /indexes/users_by_email
field '[.entries, .adopt.kept, .adopt.mended, .adopt.added, .adopt.removed, .adopt.done]' '[4,2,1,1,2,true]'
field .adopt.samples.mended '[["users_by_email","carl@x.org"]]'
field .adopt.samples.added '[["users_by_email","dan@x.org"]]'
field '.adopt.samples.removed | sort' '[["users_by_email","gone@x.org"],["users_by_email","old","style"]]'
field '.adopt.samples.kept | length' 2
request GET /list?prefix=users_by_email
field '[.entries[] | [.key[1], .value]]' '[["ada@x.org","ada"],["bob@x.org","bob"],["carl@x.org","carl"],["dan@x.org","dan"]]'

test_case 'a correct adopted entry keeps its versionstamp, a repaired one gets another'
is 'the tag of ada' "$(tag_of /kv/users_by_email/ada@x.org)" "$ada"
is 'another tag for carl' "$([ "$(tag_of /kv/users_by_email/carl@x.org)" != "$carl" ] && echo yes)" yes
request POST /atomic "{\"checks\":[{\"key\":[\"users_by_email\",\"ada@x.org\"],\"versionstamp\":$ada}],\"mutations\":[]}"
expect 200

test_case 'the declaration of an adopted index again is the same index, with adopt or without'
answers 200 POST /indexes "{$email,\"adopt\":true}"
answers 200 POST /indexes "{$email}"
field .adopt.kept 2

test_case 'pointers of an index that is not unique are adopted'
adopt '{"name":"users_by_favorite_color","prefix":["users"],"fields":["/favoriteColor"],"adopt":true}'
until_field .state ready GET /indexes/users_by_favorite_color
is 'the counts' "$(counts users_by_favorite_color)" '[1,1,2,1]'
request GET /list?prefix=users_by_favorite_color
field '[.entries[] | [.key[1:][], .value]]' '[["blue","ada","ada"],["blue","carl","carl"],["green","bob","bob"],["red","dan","dan"]]'
is 'the tag' "$(tag_of /kv/users_by_favorite_color/blue/ada)" "$color"
gives '[.entries[].value.id]' '["ada","carl"]' GET '/list?index=users_by_favorite_color&prefix=blue'

test_case 'an adopted index is an index like any other'
answers 409 unique-violation PUT /kv/users/eve '{"email":"ADA@x.org"}'
answers 200 PATCH /kv/users/ada '{"email":"ada@y.org"}'
answers 404 GET /kv/users_by_email/ada@x.org
answers 409 index-owned-key PUT /kv/users_by_email/zoe '"zoe"'

# ---- Copies ------------------------------------------------------------------

test_case 'a declaration with adopt takes over copies, regardless of the commits that wrote them'
one='{"id":"one", "email":"one@x.org"}'
answers 200 POST /atomic "{\"mutations\":[
    {\"type\":\"set\",\"key\":[\"people\",\"one\"],\"value\":$one},
    {\"type\":\"set\",\"key\":[\"people_by_email\",\"one@x.org\"],\"value\":$one}]}"
put /kv/people/two '{"id":"two","email":"two@x.org"}'
put /kv/people_by_email/two@x.org '{"email":"two@x.org", "id":"two"}'
put /kv/people/six '{"id":"six","email":"six@x.org"}'
put /kv/people_by_email/six@x.org '{"id":"six","email":"six@x.org","old":true}'
put /kv/people_by_email/ten@x.org '{"id":"ten","email":"ten@x.org"}'
two=$(tag_of /kv/people_by_email/two@x.org)
person=$(tag_of /kv/people/two)
request POST '/indexes?dry=1' '{"name":"people_by_email","prefix":["people"],"fields":["/email"],"unique":true,"store":"value","adopt":true}'
field '.adopt | [.kept, .mended, .added, .removed]' '[2,1,0,1]'
adopt '{"name":"people_by_email","prefix":["people"],"fields":["/email"],"unique":true,"store":"value","adopt":true}'
until_field .state ready GET /indexes/people_by_email
is 'the counts' "$(counts people_by_email)" '[2,1,0,1]'
request GET /list?prefix=people_by_email
field '[.entries[].value.id]' '["one","six","two"]'
field '.entries[1].value | has("old")' false

test_case 'an adopted copy stays as it was; through the index it is the entry itself'
request GET /kv/people_by_email/two@x.org
body_is '{"email":"two@x.org", "id":"two"}'
header ETag "$two"
request GET /indexes/people_by_email/get/two@x.org
body_is '{"id":"two","email":"two@x.org"}'
header ETag "$person"
gives '[.entries[].versionstamp]' "[$person]" GET '/list?index=people_by_email&prefix=two@x.org'

test_case 'an adopted copy becomes one like the others when its entry is written'
request PATCH /kv/people/two '{"name":"Two"}'
person=$(header_value ETag)
request GET /kv/people_by_email/two@x.org
header ETag "$person"
field .name Two

# ---- Duplicates, and nothing to adopt ------------------------------------------

test_case 'an adopted value with several owners is a conflict; its keys can still be read'
put /kv/m/a '{"v":"same"}'
put /kv/m/b '{"v":"same"}'
put /kv/m_by_v/same '"b"'
request POST '/indexes?dry=1' '{"name":"m_by_v","prefix":["m"],"fields":["/v"],"unique":true,"adopt":true}'
field '[(.adopt | .kept, .mended, .added, .removed), .estimate.conflicts]' '[1,0,0,0,1]'
adopt '{"name":"m_by_v","prefix":["m"],"fields":["/v"],"unique":true,"adopt":true}'
until_field .state conflicted GET /indexes/m_by_v
is 'the counts' "$(counts m_by_v)" '[1,0,0,0]'
gives '.conflicts[0].keys' '[["m","b"],["m","a"]]' GET /indexes/m_by_v/conflicts
request GET /kv/m_by_v/same
body_is '"b"'
gives '.entries | length' 1 GET /list?prefix=m_by_v
answers 409 index-not-ready GET /list?index=m_by_v
request DELETE /kv/m/b
request GET /kv/m_by_v/same
body_is '"a"'
gives .state ready GET /indexes/m_by_v

test_case 'a declaration with adopt and nothing to adopt is one without'
adopt '{"name":"fresh","prefix":["m"],"fields":["/v"],"adopt":true}'
until_field .state ready GET /indexes/fresh
field 'has("adopt")' false

test_case 'adoption removes an index entry with a ttl whose primary entry is gone'
put '/kv/e_by_v/1?ttl=1h' '"x"'
put '/kv/e_by_v/2?ttl=1h' '"y"'
put '/kv/e/y?ttl=1h' '{"v":"2"}'
adopt '{"name":"e_by_v","prefix":["e"],"fields":["/v"],"unique":true,"adopt":true}'
until_field .state ready GET /indexes/e_by_v
is 'the counts' "$(counts e_by_v)" '[1,0,0,1]'
gives .count 1 GET /count?prefix=e_by_v

test_case 'an index cannot adopt what another covers as entries'
put /kv/h/1/x '"x"'
answers 400 bad-index-definition POST /indexes '{"name":"h","prefix":[],"fields":["/v"],"adopt":true}'

# ---- Live ------------------------------------------------------------------

test_case 'entries can be read during an adoption, and writes follow the rules of the index'
for i in {0..4}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | . + 1000 * $i | {type: "set", key: ["n", .], value: {v: "v\(.)", x: 1}}]}')"
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | . + 1000 * $i | {type: "set", key: ["n_by_v", "v\(.)"], value: (if . % 10 == 0 then 0 else . end)}]}')"
done
tag=$(tag_of /kv/n_by_v/v4999)
request POST '/indexes?dry=1' '{"name":"n_by_v","prefix":["n"],"fields":["/v"],"unique":true,"adopt":true}'
field '.adopt | [.kept, .mended, .added, .removed]' '[4501,499,0,0]'
adopt '{"name":"n_by_v","prefix":["n"],"fields":["/v"],"unique":true,"adopt":true}'
for i in {4900..4999}; do
    answers 200 GET "/kv/n_by_v/v$i"
done
header ETag "$tag"
answers 409 index-owned-key PUT /kv/n_by_v/v4999 7
field .holds 4999
answers 200 PUT /kv/n_by_v/v4999 4999
request POST /atomic '{"mutations":[{"type":"delete","key":["n",4998]},{"type":"delete","key":["n_by_v","v4998"]}]}'
expect 200
answers 404 GET /kv/n_by_v/v4998
answers 200 PATCH /kv/n/=4997 '{"v":"new"}'
answers 404 GET /kv/n_by_v/v4997
request GET /kv/n_by_v/new
body_is 4997
answers 409 index-owned-key DELETE /list?prefix=n_by_v
for i in {1..6}; do
    kill -KILL "$server"
    { wait "$server"; } 2>"$work/null"
    start_server
    request GET "/kv/n_by_v/v$((i * 7 + 1))"
    body_is "$((i * 7 + 1))"
done
until_field .state ready GET /indexes/n_by_v
field '.adopt | .removed + .added' 0
field '.adopt | .kept + .mended >= 4998' true
field .entries 4999
request GET '/list?prefix=n_by_v' '' -H 'Accept: application/x-ndjson'
is 'wrong pointers' "$(jq -c 'select(.key and .key[1] != "v\(.value)" and .key[1] != "new")' "$answer")" ''
is 'the tag' "$(tag_of /kv/n_by_v/v4999)" "$tag"

# A paused adopting index over two entries with one value, which have both been
# written since: the first has its row, the other one waits for the value.
two_owners() { # PREFIX
    request PUT "/kv/$1/e1" '{"m":"v"}'
    request PUT "/kv/$1/e2" '{"m":"v"}'
    request PUT "/kv/$1_by_m/zzz" '"e9"'
    request POST '/indexes?paused=1' "{\"name\":\"$1_by_m\",\"prefix\":[\"$1\"],\"fields\":[\"/m\"],\"unique\":true,\"adopt\":true}"
    expect 202
    request PUT "/kv/$1/e1" '{"m":"v","x":1}'
    answers 200 PUT "/kv/$1/e2" '{"m":"v","x":1}'
}

test_case 'both owners of a value that is being adopted can change in one commit'
two_owners both
request POST /atomic '{"mutations":[{"type":"set","key":["both","e1"],"value":{"m":"w1"}},{"type":"set","key":["both","e2"],"value":{"m":"w2"}}]}'
expect 200
request POST /indexes/both_by_m/resume
until_field .state ready GET /indexes/both_by_m
field '[.entries, .conflicts]' '[2,null]'
request GET /indexes/both_by_m/get/w2
body_is '{"m":"w2"}'

test_case 'both owners of a value that is being adopted can be deleted in one commit'
two_owners none
gives .deleted 2 DELETE /list?prefix=none
request POST /indexes/none_by_m/resume
until_field .state ready GET /indexes/none_by_m
field '[.entries, .conflicts]' '[0,null]'

finish

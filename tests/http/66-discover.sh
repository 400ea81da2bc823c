#!/bin/bash
# Indexes that an application keeps by hand are found, with their faults, and
# adopted by the declarations that discovery prints.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url

# Users as the guide's insertUser stores them: pointers by e-mail, copies by
# colour.
colours=(blue green red)
users() {
    for n in {10..39}; do
        user="{\"id\":\"u$n\",\"email\":\"User$n@x.org\",\"favoriteColor\":\"${colours[n % 3]}\"}"
        printf '{"key":["users","u%s"],"value":%s}\n' "$n" "$user"
        printf '{"key":["users_by_email","user%s@x.org"],"value":"u%s"}\n' "$n" "$n"
        printf '{"key":["users_by_favorite_color","%s","u%s"],"value":%s}\n' \
            "${colours[n % 3]}" "$n" "$user"
    done
}
given < <(users)
kindex import -
ends 0
input=/dev/null

test_case 'the indexes of the guide are found, with their declarations'
answers 200 POST /indexes/discover
field '[.indexes[].declaration]' '[{"name":"users_by_email","prefix":["users"],"fields":[{"path":"/email","fold":"lower"}],"unique":true,"adopt":true},{"name":"users_by_favorite_color","prefix":["users"],"fields":[{"path":"/favoriteColor"}],"store":"value","adopt":true}]'
field '[.indexes[] | [.holds, .rewrites, .entries, .agree]]' '[["parts",false,30,30],["copy",false,30,30]]'
field '[.surveyed, .leftOut]' '[90,0]'
kindex index discover
ends 0

test_case 'each kind of fault is counted, named and status 4; nothing is written'
answers 204 DELETE /kv/users_by_email/user11@x.org
answers 201 PUT /kv/users_by_email/gone@x.org '"u99"'
answers 201 PUT /kv/users_by_email/old@x.org '"u12"'
answers 201 PUT /kv/users/u98 '{"id":"u98","email":"user13@x.org"}'
request GET '/list?limit=1000'
before=$(value '[.entries[] | [.key, .value, .versionstamp]]')
answers 200 POST /indexes/discover
field '[.indexes[0] | .entries, .agree, .dangling, .missing, .stale, .duplicate]' '[31,29,1,1,1,1]'
field '[.indexes[0].samples[] | [.damage, .indexKey[1], .key[1]]]' \
    '[["missing","user11@x.org","u11"],["dangling","gone@x.org","u99"],["stale","old@x.org","u12"],["duplicate","user13@x.org","u98"]]'
kindex index discover users
ends 0
prints "$(printf '%-28s %9s %9s %9s %9s %9s %9s         HOLDS   PREFIX FIELDS' 'KEPT BY HAND' ENTRIES AGREE dangling missing stale duplicate)"
kindex index discover -o table
ends 4
is 'the examples' "$(grep -c ' of users/u' <<<"$out")" 4
request GET '/list?limit=1000'
is 'the entries' "$(value '[.entries[] | [.key, .value, .versionstamp]]')" "$before"

test_case 'a store at an address is examined like that of a server, and left as it is'
mkdir "$work/temporary"
kindex index discover -o json
own=$(jq -c .indexes "$work/out")
export TMPDIR=$work/temporary KINDEX_URL=http://127.0.0.1:1 KINDEX_TOKEN_FILE=/none
kindex index discover -o json --from "$url"
ends 4
is 'what was found' "$(jq -c .indexes "$work/out")" "$own"
is 'what remains of the copy' "$(ls "$TMPDIR")" ''
kindex index discover users_by_email --from "$url"
ends 0
kindex index discover --from http://127.0.0.1:1
ends 5
is 'what remains of the copy' "$(ls "$TMPDIR")" ''
kindex index discover --token-file "$work/none"
ends 2
unset TMPDIR KINDEX_TOKEN_FILE
export KINDEX_URL=$url
request GET '/list?limit=1000'
is 'the entries' "$(value '[.entries[] | [.key, .value, .versionstamp]]')" "$before"

test_case 'index apply adopts what discovery prints, and repairs it'
answers 204 DELETE /kv/users/u98
kindex index discover -o declarations
ends 4
printf '%s' "$out" >"$work/indexes.json"
kindex index apply "$work/indexes.json" --wait
ends 0
request GET /indexes/users_by_email
field '[.state, .adopt.kept, .adopt.added, .adopt.removed]' '["ready",29,1,2]'
request GET /indexes/users_by_favorite_color
field '[.state, .adopt.kept, .adopt.added, .adopt.removed]' '["ready",30,0,0]'
kindex index verify users_by_email
ends 0
answers 200 GET /indexes/users_by_email/get/user11@x.org
answers 404 GET /kv/users_by_email/gone@x.org

test_case 'the entries of declared indexes are not proposed again'
answers 200 POST /indexes/discover
field .indexes '[]'
field .surveyed 30

test_case 'an index may have the name of the route'
request POST /indexes '{"name":"discover","prefix":["users"],"fields":["/id"]}' -H "Prefer: wait=30"
expect 201
answers 200 GET /indexes/discover
field .name discover
answers 204 DELETE /indexes/discover

test_case 'what the route does not know is refused'
answers 400 unknown-parameter POST '/indexes/discover?dry=1'
answers 400 POST '/indexes/discover?prefix=%5B1'

finish

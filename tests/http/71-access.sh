#!/bin/bash
# Every route, over both protocols, with tokens of every scope, for keys inside
# of their prefix, at its edge and outside: access_walk.js has the table.
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
start_server --token-file "$work/token"
token=$(cat "$work/token")
node "$here/access_walk.js" "$url" "$token" "$KINDEX" >"$work/walk" 2>&1
tail -40 "$work/walk" | grep FAILED
good=0 bad=0
read -r good _ bad _ < <(tail -1 "$work/walk")

test_case 'each token can do exactly what its scopes and prefixes allow'
is 'wrong cells' "$bad" 0
is 'thousands of cells' "$((${good:-0} > 8000))" 1

test_case 'the log has the denials, and neither secrets nor keys'
is 'denials' "$(($(grep -c 'event=audit-denied' "$log") > 50))" 1
is 'secrets' "$(grep -cF -- "${token:24}" "$log")" 0
is 'tokens' "$(grep -c 'kindex_' "$log")" 0

test_case 'the name of an advised index reveals nothing about names of others'
request POST /indexes '{"name":"a_by_n","prefix":["b"],"fields":["/n"]}' --oauth2-bearer "$token"
answers 201 POST /tokens '{"name":"lister","grants":[{"scopes":["list"],"prefix":["a"]}]}' --oauth2-bearer "$token"
lister=$(value .token)
question='{"prefix":["a"],"where":[{"path":"/n","eq":1}]}'
gives .declaration.name a_by_n_2 POST /explain "$question" --oauth2-bearer "$token"
gives .declaration.name a_by_n POST /explain "$question" --oauth2-bearer "$lister"

test_case 'a 404 reports entries under a key only to clients that may list them'
tell=(--header 'Prefer: return=representation')
holder() {
    answers 201 POST /tokens "{\"name\":\"holder\",\"grants\":$1}" --oauth2-bearer "$token"
    holder=$(value .token)
}
request PUT /kv/a/under/k 1 --oauth2-bearer "$token"
request PUT /kv/a/owner '{"m":1}' --oauth2-bearer "$token"
request POST /indexes '{"name":"a_by_m","prefix":["a"],"fields":["/m"]}' --oauth2-bearer "$token"
holder '[{"scopes":["read","list","write"],"prefix":["a"]}]'
answers 404 key-not-found GET /kv/a/under '' --oauth2-bearer "$holder"
field .listedAt /list?prefix=a/under
answers 404 key-not-found DELETE /kv/a/under '' --oauth2-bearer "$holder" "${tell[@]}"
field .listedAt /list?prefix=a/under
until_status 404 GET /kv/a_by_m/=1 '' --oauth2-bearer "$holder"
field .listedAt /list?prefix=a_by_m/=1
holder '[{"scopes":["read","write"],"prefix":["a"]},{"scopes":["list"],"prefix":["a","other"]}]'
answers 404 key-not-found GET /kv/a/under '' --oauth2-bearer "$holder"
field '[.detail, .listedAt]' '["There is no entry [\"a\",\"under\"].",null]'
answers 404 key-not-found DELETE /kv/a/under '' --oauth2-bearer "$holder" "${tell[@]}"
field '.listedAt' null
stop_server

test_case 'a token that may not read learns nothing that depends on stored entries'
rm -r "$work/data"
start_server --token-file "$work/token"
node "$here/access_secrets.js" "$url" "$token" >"$work/secrets" 2>&1
grep FAILED "$work/secrets"
is 'the requests' "$(tail -1 "$work/secrets")" '40 passed, 0 failed'
holder '[{"scopes":["write"],"prefix":["a"]}]'
answers 200 PUT /kv/a/new 1 --oauth2-bearer "$holder"
answers 403 forbidden DELETE /kv/a/new '' --oauth2-bearer "$holder" "${tell[@]}"
answers 204 DELETE /kv/a/new '' --oauth2-bearer "$holder"
answers 403 forbidden PATCH /kv/a/new '{"a":1}' --oauth2-bearer "$holder"
field '[.scope, .prefix]' '["read",["a","new"]]'
answers 403 forbidden DELETE /list?prefix=a '' --oauth2-bearer "$holder"
field '[.scope, .prefix]' '["list",["a"]]'
holder '[{"scopes":["write"],"prefix":["a"]},{"scopes":["read","list"],"prefix":["a","shown"]}]'
answers 201 PUT /kv/a/shown 1 --oauth2-bearer "$holder"

test_case 'a write of bytes names indexes only to a token that may read by them'
request POST /indexes '{"name":"by_size","prefix":["a"],"fields":["/size"]}' --oauth2-bearer "$token"
answers 200 PUT /kv/a/shown text -H 'Content-Type: text/plain' --oauth2-bearer "$holder"
header Kindex-Not-Indexed ''
holder '[{"scopes":["write","read"],"prefix":["a"]}]'
request PUT /kv/a/shown text -H 'Content-Type: text/plain' --oauth2-bearer "$holder"
header Kindex-Not-Indexed 'a_by_x, by_size'
stop_server

test_case 'an index is dropped only by a token that may also write its name, by every route'
rm -r "$work/data"
start_server --token-file "$work/token"
answers 200 POST /atomic '{"mutations":[
    {"type":"set","key":["people","ada"],"value":{"mail":"a@x.org"}},
    {"type":"set","key":["by_mail","a@x.org"],"value":["people","ada"]}]}' --oauth2-bearer "$token"
for declaration in '{"name":"by_mail","prefix":["people"],"fields":["/mail"],"unique":true,"adopt":true}' \
    '{"name":"places_by_city","prefix":["places"],"fields":["/city"]}'; do
    answers 201 POST /indexes "$declaration" --oauth2-bearer "$token" --header 'Prefer: wait=60'
done
holder '[{"scopes":["index","read"],"prefix":["people"]},{"scopes":["index","read"],"prefix":["places"]}]'
answers 403 forbidden DELETE /indexes/by_mail '' --oauth2-bearer "$holder"
for query in 'prune=true&dry=1' prune=true; do
    answers 200 PUT "/indexes?$query" '{}' --oauth2-bearer "$holder"
    field .indexes '[]'
done
gives '[.state, .entries]' '["ready",1]' GET /indexes/by_mail '' --oauth2-bearer "$token"
holder '[{"scopes":["index"],"prefix":["people"]},{"scopes":["index"],"prefix":["by_mail"]}]'
for query in 'prune=true&dry=1' prune=true; do
    answers 200 PUT "/indexes?$query" '{}' --oauth2-bearer "$holder"
    field '.indexes | map([.name, .change])' '[["by_mail","dropped"]]'
done
gives keys '["places_by_city"]' GET '/indexes?declarations=1' '' --oauth2-bearer "$token"
stop_server

test_case 'counts and conflicts of an index are shown to tokens that may list its entries'
rm -r "$work/data"
start_server --token-file "$work/token"
request POST /atomic '{"mutations":[
    {"type":"set","key":["people","ada"],"value":{"n":1}},
    {"type":"set","key":["people","bob"],"value":{"n":1}},
    {"type":"set","key":["pets","cat"],"value":{"n":2}}]}' --oauth2-bearer "$token"
request POST /indexes '{"name":"twice","prefix":["people"],"fields":["/n"],"unique":true}' --oauth2-bearer "$token" --header 'Prefer: wait=60'
field '[.state, .conflicts]' '["conflicted",1]'
request POST '/indexes?paused=1' '{"name":"unbuilt","prefix":["people"],"fields":["/n"],"unique":true}' --oauth2-bearer "$token"
holder '[{"scopes":["read"],"prefix":["people"]}]'
refused() { # INDEX FILTER TEXT: what a look-up is refused with
    answers 409 index-not-ready GET "/indexes/$1/get/=1" '' --oauth2-bearer "$holder"
    field "$2" "$3"
}
refused twice '[.state, .conflicts, .listedAt]' '["conflicted",null,null]'
refused unbuilt '[.state, .build]' '["building",null]'
header Retry-After 1
holder '[{"scopes":["read","list"],"prefix":["people"]}]'
refused twice '[.state, .conflicts, .listedAt]' '["conflicted",1,"/indexes/twice/conflicts"]'
refused unbuilt '[.state, (.build | has("total"))]' '["building",true]'

test_case 'a migration to another prefix shows counts only to tokens that may list it'
request POST /indexes '{"name":"moved","prefix":["pets"],"fields":["/n"]}' --oauth2-bearer "$token" --header 'Prefer: wait=60'
request PATCH /indexes/moved '{"prefix":["people"],"unique":true}' --oauth2-bearer "$token" --header 'Prefer: wait=60'
field '[.migration.state, .conflicts]' '["conflicted",1]'
holder '[{"scopes":["read","list"],"prefix":["pets"]}]'
request GET /indexes/moved '' --oauth2-bearer "$holder"
field '[.migration.state, .migration.build, .conflicts, .entries]' '["conflicted",null,null,null]'
answers 403 forbidden GET /indexes/moved/conflicts '' --oauth2-bearer "$holder"
field '[.scope, .index]' '["list","moved"]'
gives '[.entries[].key]' '[["pets","cat"]]' GET '/list?index=moved' '' --oauth2-bearer "$holder"
holder '[{"scopes":["read","list"],"prefix":["pets"]},{"scopes":["list"],"prefix":["people"]}]'
gives '[.conflicts, .entries]' '[1,1]' GET /indexes/moved '' --oauth2-bearer "$holder"
gives '[.conflicts[].keys[][1]]' '["ada","bob"]' GET /indexes/moved/conflicts '' --oauth2-bearer "$holder"
stop_server

test_case 'the walk finds tokens that allow more than it believes, on every route'
rm -r "$work/data"
start_server --token-file "$work/token"
node "$here/access_walk.js" "$url" "$token" "$KINDEX" --plant >"$work/walk" 2>&1
read -r seen _ all unseen <"$work/walk"
is 'routes where it was not seen' "$unseen" ''
is 'routes where it was' "$seen" "$all"
is 'that is most of them' "$((seen > 25))" 1

test_case 'JSON Web Tokens and client certificates can do exactly what their grants allow'
stop_server
rm -r "$work/data"
. "$here/../lib/certificates.sh"
{ authority ours && issue server ours serverAuth && issue a ours clientAuth DNS:a.example.org &&
    for name in plain whole ada; do issue "$name" ours clientAuth "DNS:$name.example.org"; done; } \
    >"$work/openssl" 2>&1 || cat "$work/openssl"
node "$here/jwt.js" keys "$sheaf" ed:EdDSA >"$work/jwks"
node "$here/access_walk.js" --grants >"$work/grants"
start_server --token-file "$work/token" --tls-cert "$sheaf/server.pem" --tls-key "$sheaf/server.key" \
    --tls-client-ca "$sheaf/ours.pem" --grants "$work/grants" --jwt-keys "$work/jwks" --jwt-issuer id --jwt-audience kindex
node "$here/access_walk.js" "https://${url#http://}" "$token" "$KINDEX" --identities "$sheaf" >"$work/walk" 2>&1
tail -40 "$work/walk" | grep FAILED
good=0 bad=0
read -r good _ bad _ < <(tail -1 "$work/walk")
is 'wrong cells' "$bad" 0
is 'thousands of cells' "$((${good:-0} > 8000))" 1

finish

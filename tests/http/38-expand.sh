#!/bin/bash
# Reads that show the entries to which the shown ones refer, beside their values.
. "$(dirname "$0")/../lib/http.sh"
start_server

put() { # KEY VALUE
    request PUT "/kv/$1" "$2"
    expect 201
}
put users/ada '{"name":"Ada"}'
put users/bob '{"name":"Bob"}'
put shops/1 '{"city":"Bern"}'
answers 201 PUT /rules/orders '{"prefix":["orders"],"references":[{"path":"/user","to":["users"]},{"path":"/shop","to":["shops"],"as":"key"}]}'
put orders/1 '{"user":"ada","shop":["shops","1"]}'
put orders/2 '{"user":"bob"}'
put orders/3 '{"user":null}'

test_case 'an entry is shown with the one to which it refers'
request GET '/kv/orders/1?expand=/user'
expect 200
field '[.key, .value.user, .expanded["/user"].key, .expanded["/user"].value]' '[["orders","1"],"ada",["users","ada"],{"name":"Ada"}]'
field '[.versionstamp, .expanded["/user"].versionstamp | type]' '["string","string"]'
gives '.expanded | map_values(.value)' '{"/shop":{"city":"Bern"},"/user":{"name":"Ada"}}' GET '/kv/orders/1?expand=/shop,/user'
gives '.expanded' '{"/user":null}' GET '/kv/orders/3?expand=/user'
gives '.expanded' '{"/none":null}' GET '/kv/orders/1?expand=/none'
gives '[.value, .expanded["/user"].value.name]' '[{"shop":["shops","1"]},"Ada"]' GET '/kv/orders/1?expand=/user&fields=shop'
answers 404 key-not-found GET '/kv/orders/9?expand=/user'

test_case 'expand works for the entries of a page, of an index and of POST /get'
names='[.entries[] | .expanded["/user"] | if . then .value.name else . end]'
gives "$names" '["Ada","Bob",null]' GET '/list?prefix=orders&expand=/user'
gives "$names" '["Ada","Bob"]' GET '/list?index=orders.user&expand=/user'
gives "$names" '["Ada","Bob"]' GET '/list?index=orders.user&expand=/user&fields=shop'
gives "$names" '["Bob"]' GET '/list?prefix=orders&expand=/user&where=%7B%22path%22:%22/user%22,%22eq%22:%22bob%22%7D'
request GET '/list?prefix=orders&expand=/user' '' -H 'Accept: application/x-ndjson'
is 'the lines' "$(head -n 3 "$answer" | jq -c '.expanded["/user"].value.name' | tr '\n' ' ')" '"Ada" "Bob" null '
request POST /get '{"keys":[["orders","2"],["orders","9"]],"ranges":[{"prefix":["orders"],"limit":1}],"expand":["/user"]}'
expect 200
field '[.entries[0].expanded["/user"].value.name, .entries[1].value, .ranges[0].entries[0].expanded["/user"].value.name]' '["Bob",null,"Ada"]'

test_case 'without a rule, expand takes the prefix of the other entries'
put notes/1 '{"on":"ada","at":["users","bob"]}'
gives '.expanded["/on"]' null GET '/kv/notes/1?expand=/on'
gives '[.expanded[].value.name]' '["Ada","Bob"]' GET '/kv/notes/1?expand=/on:users,/at:users'
gives '.expanded["/at"]' null GET '/kv/notes/1?expand=/at:shops'

test_case 'a read that cannot be expanded is refused'
answers 400 bad-parameter GET '/kv/orders/1?expand=user'
answers 400 bad-parameter GET '/kv/orders/1?expand='
answers 400 bad-parameter GET '/kv/orders/1?expand=/user:=x'
answers 400 bad-parameter GET '/list?prefix=orders&expand=/user&keys=true'
answers 400 bad-parameter GET '/list?prefix=orders&expand=/user&preview=10'
answers 400 bad-parameter GET '/kv/orders/1?expand=/user,/user:users'
answers 400 bad-parameter GET "/kv/orders/1?expand=/1,/2,/3,/4,/5,/6,/7,/8,/9"
answers 400 bad-request POST /get '{"keys":[["orders","2"]],"expand":["user"]}'
answers 400 unknown-parameter GET '/count?prefix=orders&expand=/user'

test_case 'a page has at most 1000 expanded entries'
node -e 'for (let i = 0; i < 600; i++) console.log(JSON.stringify({ key: ["many", i], value: { user: "ada" } }))' >"$work/lines"
request POST /bulk "@$work/lines" -H 'Content-Type: application/x-ndjson'
expect 200
request GET '/list?prefix=many&limit=1000&expand=/user:users,/none:users'
field '[(.entries | length), (.cursor | type)]' '[500,"string"]'
answers 400 bad-request POST /get '{"ranges":[{"prefix":["many"],"limit":501}],"expand":["/a:users","/b:users"]}'

request GET '/list?prefix=many&expand=/user:users,/none:users' '' -H 'Accept: application/x-ndjson'
is 'the last line of a stream' "$(tail -n 1 "$answer" | jq -c .)" '{"end":true,"count":600}'

test_case 'an entry that the caller may not read looks like one that is absent'
stop_server
start_server --token-file "$work/token"
admin=$(cat "$work/token")
answers 201 POST /tokens '{"name":"orders","grants":[{"scopes":["read","list","write"],"prefix":["orders"]},{"scopes":["read"],"prefix":["users","bob"]}]}' --oauth2-bearer "$admin"
token=$(value .token)
request GET '/list?prefix=orders&expand=/user' '' --oauth2-bearer "$token"
expect 200
field "$names" '[null,"Bob",null]'
gives .expanded '{"/shop":null}' GET '/kv/orders/1?expand=/shop' '' --oauth2-bearer "$token"
request POST /get '{"keys":[["orders","1"]],"expand":["/user"]}' --oauth2-bearer "$token"
field '.entries[0].expanded' '{"/user":null}'
answers 202 POST /indexes '{"name":"by_name","prefix":["users"],"fields":["/name"],"store":"value"}' --oauth2-bearer "$admin"
answers 201 POST /tokens '{"name":"names","grants":[{"scopes":["read"],"prefix":["orders"]},{"scopes":["read"],"prefix":["by_name"]}]}' --oauth2-bearer "$admin"
token=$(value .token)
is_built() {
    request GET /indexes/by_name '' --oauth2-bearer "$admin"
    [ "$(value .state)" = ready ]
}
wait_until is_built
answers 403 forbidden GET /kv/by_name/Ada/ada '' --oauth2-bearer "$token"
gives .expanded '{"/user":null}' GET '/kv/orders/1?expand=/user:by_name/Ada' '' --oauth2-bearer "$token"

test_case 'a refused deletion names the referring entry only to a caller that may read it'
answers 201 POST /tokens '{"name":"users","grants":[{"scopes":["read","write","index","list"],"prefix":["users"]}]}' --oauth2-bearer "$admin"
token=$(value .token)
answers 409 referenced DELETE /kv/users/ada '' --oauth2-bearer "$token"
field '[.rule, has("existingKey"), (.detail | test("orders.,"))]' '["orders",false,false]'
answers 201 PUT /rules/carts '{"prefix":["carts"],"references":[{"path":"/user","to":["users"],"onDelete":"clear"}]}' --oauth2-bearer "$admin"
answers 201 POST /indexes '{"name":"carts_user","prefix":["carts"],"fields":["/user"],"missing":"error"}' --oauth2-bearer "$admin"
answers 201 PUT /kv/users/eve '{}' --oauth2-bearer "$admin"
answers 201 PUT /kv/carts/1 '{"user":"eve"}' --oauth2-bearer "$admin"
answers 422 not-indexable DELETE /kv/users/eve '' --oauth2-bearer "$token"
field '[.index, has("attemptedKey")]' '["carts_user",false]'
answers 422 not-indexable DELETE /kv/users/eve '' --oauth2-bearer "$admin"
field .attemptedKey '["carts","1"]'
answers 403 forbidden PUT /rules/people '{"prefix":["users"],"references":[{"path":"/shop","to":["shops"]}]}' --oauth2-bearer "$token"
answers 403 forbidden PUT '/rules/people?dry=1' '{"prefix":["users"],"references":[{"path":"/shop","to":["shops"]}]}' --oauth2-bearer "$token"
answers 201 PUT /rules/people '{"prefix":["users"],"references":[{"path":"/boss","to":["users"],"onDelete":"clear"}]}' --oauth2-bearer "$token"
answers 201 POST /tokens '{"name":"declarer","grants":[{"scopes":["read","index","list"],"prefix":["users"]}]}' --oauth2-bearer "$admin"
token=$(value .token)
answers 403 forbidden PUT /rules/chiefs '{"prefix":["users"],"references":[{"path":"/chief","to":["users"],"onDelete":"cascade"}]}' --oauth2-bearer "$token"
answers 201 PUT /rules/chiefs '{"prefix":["users"],"references":[{"path":"/chief","to":["users"]}]}' --oauth2-bearer "$token"
finish

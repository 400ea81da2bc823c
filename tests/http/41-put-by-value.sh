#!/bin/bash
# PUT /indexes/NAME/get/<value>: writes the entry that has a value.
. "$(dirname "$0")/../lib/http.sh"
start_server

request POST /indexes '{"name":"by_email","prefix":["users"],"fields":[{"path":"/email","fold":"lower"}],"unique":true}'
request POST /indexes '{"name":"by_color","prefix":["users"],"fields":["/color"]}'
request PUT /kv/users/ada '{"email":"ada@x.org","n":1}'
ada=$(value .versionstamp)
at=/indexes/by_email/get

test_case 'a PUT by value replaces the entry that has the value, under its own key'
answers 200 PUT $at/ADA@x.org '{"email":"Ada@x.org","n":2}'
request GET /kv/users/ada
body_is '{"email":"Ada@x.org","n":2}'
answers 200 PUT "$at?key=[\"ada@x.org\"]" '{"email":"ada@x.org","n":3}' -H 'Prefer: return=representation'
body_is '{"email":"ada@x.org","n":3}'
answers 200 PUT "$at/ada@x.org?new=users/other&ttl=1h" '{"email":"ada@x.org","n":4}'
request GET /kv/users/ada
find_header Kindex-Expires-At
is 'its time' "$((found > 0))" 1
answers 404 GET /kv/users/other

test_case 'a PUT by a value that no entry has answers 404, or makes the key of ?new'
answers 404 key-not-found PUT $at/bo@x.org '{"email":"bo@x.org"}'
field '[.detail, .index, .value]' '["no entry has the value [\"bo@x.org\"] in the index by_email; with ?new=KEY it is stored under KEY","by_email",["bo@x.org"]]'
answers 201 PUT "$at/bo@x.org?new=users/bo" '{"email":"bo@x.org"}'
header Location /kv/users/bo
request GET $at/bo@x.org
body_is '{"email":"bo@x.org"}'
answers 200 PUT "$at/bo@x.org?new=[\"users\",\"bo2\"]" '{"email":"bo@x.org","n":2}'
gives .count 2 GET '/count?prefix=users'

test_case 'a PUT by value with ?new replaces an entry under that key, as PUT /kv does'
answers 200 PUT "$at/bob@x.org?new=users/bo" '{"email":"bob@x.org"}'
answers 404 GET $at/bo@x.org

test_case 'a PUT by value whose body lacks the value is refused, and nothing is stored'
for body in '{"email":"other@x.org"}' '{"n":1}' '[]'; do
    for at_value in "$at/ada@x.org" "$at/new@x.org?new=users/new"; do
        answers 400 bad-value PUT "$at_value" "$body"
    done
done
field .detail 'the entry would not have the value ["new@x.org"] in the index by_email'
answers 400 bad-value PUT "$at/new@x.org?new=elsewhere/new" '{"email":"new@x.org"}'
gives .count 2 GET '/count?prefix=users'
answers 400 bad-value PUT $at/ada@x.org x -H 'Content-Type: text/plain'

test_case 'conditions of a PUT by value apply to the entry that has the value'
answers 412 precondition-failed PUT $at/ada@x.org '{"email":"ada@x.org"}' -H "If-Match: \"$ada\""
request GET $at/ada@x.org
answers 200 PUT $at/ada@x.org '{"email":"ada@x.org","n":5}' -H "If-Match: $(header_value ETag)"
answers 412 precondition-failed PUT "$at/ada@x.org?new=users/x" '{"email":"ada@x.org","n":6}' -H 'If-None-Match: *'
answers 201 PUT "$at/cy@x.org?new=users/cy" '{"email":"cy@x.org"}' -H 'If-None-Match: *'

test_case 'contradictory parameters of a PUT by value are refused, and named'
while IFS='|' read -r path expected name; do
    request PUT "/indexes/$path" '{"email":"a"}'
    # shellcheck disable=SC2086
    expect $expected
    [ -z "$name" ] || field .parameter "$name"
done <<'END'
by_email/get|400 bad-key|
by_email/get/a?new=|400 bad-parameter|new
by_email/get/a?new=users/%ff|400 bad-parameter|new
by_email/get/a?ttl=x|400 bad-parameter|ttl
by_email/get/a?dry=1|400 unknown-parameter|dry
by_email/get/a/b?new=users/a|400 bad-value|
by_color/get/a|409 index-not-unique|
none/get/a|404 index-not-found|
END
answers 400 bad-json PUT "$at/a?new=users/a" '{"email":'

# Each adds one by reading and replacing by the value.
test_case 'concurrent PUTs by one value make one entry, the first of them'
clients=()
for i in 1 2 3 4 5 6 7 8; do
    curl -s -o "$work/null" -w '%{http_code}\n' -X PUT "$url$at/dee@x.org?new=users/dee$i" -d '{"email":"dee@x.org"}' >"$work/code.$i" &
    clients+=($!)
done
wait "${clients[@]}"
is created "$(grep -lx 201 "$work"/code.* | wc -l)" 1
is replaced "$(grep -lx 200 "$work"/code.* | wc -l)" 7

test_case 'a PUT by value repeated under an Idempotency-Key gets the first answer, and makes no entry'
first=
for _ in 1 2; do
    answers 201 PUT "$at/eve@x.org?new=users/eve" '{"email":"eve@x.org"}' -H 'Idempotency-Key: "put-1"'
    header Location /kv/users/eve
    [ -n "$first" ] || first=$(value .versionstamp)
    field .versionstamp "$first"
    request PUT /kv/users/eve '{"email":"eva@x.org"}'
done
gives '[.entries[].key[1]]' '["eve"]' GET '/list?index=by_email&prefix=eva@x.org'

test_case 'a PUT by value that would take the value of another entry is refused'
request POST /indexes '{"name":"by_n","prefix":["users"],"fields":["/n"],"unique":true}'
until_field .state ready GET /indexes/by_n
answers 409 unique-violation PUT $at/bob@x.org '{"email":"bob@x.org","n":5}'
field .index by_n

finish

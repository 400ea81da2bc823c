#!/bin/bash
# Which index answers a query: the request it is given with gives just the
# entries asked for, the others say why they do not, and the declaration that is
# advised makes an index that does.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/explain.sh"
start_server

request POST /atomic "$(jq -nc '{mutations: [range(24) | {type: "set",
    key: ["users", ("u" + (100 + . | tostring)[1:])],
    value: ({name: "User \(.)", age: (20 + . % 8), email: "U\(.)@Example.org",
            active: (. % 2 == 0), home: {city: (["Paris", "Oslo", "paris"][. % 3])},
            tags: (if . % 4 == 0 then ["new", "odd", "new"] else ["old"] end)}
            + (if . < 20 then {rank: .} else {} end))}]}')"
for declaration in \
    '{"name":"by_age","prefix":["users"],"fields":["/age"]}' \
    '{"name":"by_city","prefix":["users"],"fields":[{"path":"/home/city","fold":"lower"},"/age"],"missing":"error"}' \
    '{"name":"by_email","prefix":["users"],"fields":[{"path":"/email","fold":"lower"}],"unique":true}' \
    '{"name":"by_tag","prefix":["users"],"fields":[{"path":"/tags","each":true},"/age"],"store":{"fields":["/name"]}}' \
    '{"name":"active","prefix":["users"],"fields":["/age"],"where":{"path":"/active","eq":true},"store":"value"}' \
    '{"name":"by_rank","prefix":["users"],"depth":1,"fields":["/active","/rank"]}' \
    '{"name":"by_total","prefix":["orders"],"fields":["/age"]}' \
    '{"name":"wide","prefix":[],"fields":["/age"]}'; do
    request POST /indexes "$declaration"
done
until_field '[.indexes[].state] | unique' '["ready"]' GET /indexes

test_case 'an explanation finds an equal value, folded as the index does'
is 'the user' "$(follow '{"prefix":["users"],"where":{"path":"/email","fold":"lower","eq":"u3@EXAMPLE.org"}}')" 'by_email: u03'
explain '{"prefix":["users"],"where":{"path":"/email","eq":"U3@Example.org"}}'
field '[.request, .index]' '[null,null]'
is 'why not' "$(reasons by_email)" '["folds","conditions-left"]'

test_case 'an explanation says how many entries its request reads, and whether it follows them'
explain '{"prefix":["users"],"where":{"path":"/age","eq":21}}'
field '.indexes[] | select(.index == "by_age")' '{"index":"by_age","answers":true,"request":"/list?index=by_age&prefix==21","rows":3,"exact":true,"followed":true}'
explain '{"prefix":["users"],"where":[{"path":"/age","eq":22},{"path":"/active","eq":true}]}'
field '[.index, (.indexes[] | select(.index == "active") | .rows, .followed)]' '["active",3,false]'

test_case 'an explanation finds ranges: greater, less, with and without the bound'
is 'gt' "$(follow '{"prefix":["users"],"where":{"path":"/age","gt":26}}')" 'by_age: u07 u15 u23'
is 'ge, lt' "$(follow '{"prefix":["users"],"where":{"path":"/age","ge":26,"lt":27}}')" 'by_age: u06 u14 u22'
is 'le' "$(follow '{"prefix":["users"],"where":{"path":"/age","le":20}}')" 'by_age: u00 u08 u16'
is 'two on one side' "$(follow '{"prefix":["users"],"where":[{"path":"/age","le":23},{"path":"/age","le":20},{"path":"/age","gt":19}]}')" 'by_age: u00 u08 u16'
is 'a contradiction' "$(follow '{"prefix":["users"],"where":{"path":"/age","gt":23,"lt":21}}')" 'by_age: '
is 'after an equal value' "$(follow '{"prefix":["users"],"where":[{"path":"/home/city","fold":"lower","eq":"PARIS"},{"path":"/age","gt":26}]}')" 'by_city: u15 u23'

test_case 'an explanation finds a range of one type, without values of others'
request PUT /kv/users/u90 '{"age":"old","email":"a","home":{"city":"Rome"}}'
request PUT /kv/users/u91 '{"age":true,"email":"b","home":{"city":"Rome"}}'
request PUT /kv/users/u92 '{"age":{"type":"bigint","value":"-5"},"email":"c","home":{"city":"Rome"}}'
is 'numbers from 27' "$(follow '{"prefix":["users"],"where":{"path":"/age","ge":27}}')" 'by_age: u07 u15 u23'
is 'numbers below 21' "$(follow '{"prefix":["users"],"where":{"path":"/age","lt":21}}')" 'by_age: u00 u08 u16'
is 'strings' "$(follow '{"prefix":["users"],"where":{"path":"/age","gt":"o"}}')" 'by_age: u90'
is 'strings below' "$(follow '{"prefix":["users"],"where":{"path":"/age","le":"old"}}')" 'by_age: u90'
is 'bigints' "$(follow '{"prefix":["users"],"where":{"path":"/age","gt":{"type":"bigint","value":"-6"}}}')" 'by_age: u92'
is 'bigints up to' "$(follow '{"prefix":["users"],"where":{"path":"/age","le":{"type":"bigint","value":"-5"}}}')" 'by_age: u92'
is 'bigints below' "$(follow '{"prefix":["users"],"where":{"path":"/age","lt":{"type":"bigint","value":"-5"}}}')" 'by_age: '
is 'booleans' "$(follow '{"prefix":["users"],"where":{"path":"/age","gt":false}}')" 'by_age: u91'
for key in u90 u91 u92; do request DELETE /kv/users/$key; done

test_case 'an explanation finds an order, and its reverse'
is 'by age' "$(follow '{"prefix":["users"],"where":{"path":"/age","ge":26},"order":["/age"]}')" 'by_age: u06 u14 u22 u07 u15 u23'
is 'reverse' "$(follow '{"prefix":["users"],"where":{"path":"/age","ge":26},"order":["/age",{"key":1}],"reverse":true}')" 'by_age: u23 u15 u07 u22 u14 u06'
is 'by what is equal and more' "$(follow '{"prefix":["users"],"where":[{"path":"/home/city","fold":"lower","eq":"oslo"},{"path":"/age","lt":22}],"order":[{"path":"/home/city","fold":"lower"},"/age"]}')" 'by_city: u16 u01'
explain '{"prefix":["users"],"where":{"path":"/age","ge":26},"order":["/name"]}'
is 'why not' "$(reasons by_age)" '["other-order"]'

test_case 'an explanation finds one of the elements of an array'
is 'new ones' "$(follow '{"prefix":["users"],"where":[{"path":"/tags","each":true,"eq":"new"},{"path":"/age","eq":20}]}')" 'by_tag: u00 u08 u16'
explain '{"prefix":["users"],"where":{"path":"/tags","each":true,"ge":"new"}}'
is 'a range of elements' "$(reasons by_tag)" '["leaves-out","repeats","conditions-left"]'
explain '{"prefix":["users"],"where":[{"path":"/tags","each":true,"eq":"new"},{"path":"/age","eq":20}],"fields":["/name"]}'
field '[.indexes[] | select(.index == "by_tag") | .followed]' '[false]'
gives '.entries[0].value' '{"name":"User 0"}' GET "$(value .request)"

test_case 'an index that leaves out entries of the query does not answer it'
explain '{"prefix":["users"],"depth":1,"where":{"path":"/active","eq":true}}'
is 'without a rank' "$(reasons by_rank)" '["leaves-out"]'
explain '{"prefix":["users"],"where":{"path":"/age","eq":20}}'
is 'its own condition' "$(reasons active)" '["partial"]'
is 'by the order' "$(follow '{"prefix":["users"],"depth":1,"where":{"path":"/active","eq":false},"order":["/rank"],"reverse":true}')" 'by_rank: u19 u17 u15 u13 u11 u09 u07 u05 u03 u01'
explain '{"prefix":["users"],"where":{"path":"/home/city","fold":"lower","eq":"oslo"}}'
field '.index' by_city

test_case 'an index answers only queries of the entries that it covers'
explain '{"prefix":["users"],"where":{"path":"/age","eq":20}}'
is 'others' "$(reasons by_total)" '["other-prefix"]'
is 'more' "$(reasons wide)" '["covers-more"]'
explain '{"prefix":[],"where":{"path":"/age","eq":20}}'
is 'fewer' "$(reasons by_age)" '["covers-less"]'
explain '{"prefix":["users"],"where":[{"path":"/active","eq":true},{"path":"/rank","ge":3}]}'
is 'of another depth' "$(reasons by_rank)" '["other-depth"]'

test_case 'an explanation names the conditions that are left for the client'
explain '{"prefix":["users"],"where":[{"path":"/age","eq":20},{"path":"/name","ne":"User 0"},{"path":"/rank","in":[1,"a",null]}]}'
field '.conditions as $all | [.indexes[] | select(.index == "by_age") | .answers, [.left[] | $all[.]]]' '[false,[{"path":"/name","ne":"User 0"},{"path":"/rank","in":[1,"a",null]}]]'

test_case 'an explanation answers a query of key parts without an index'
is 'from u21' "$(follow '{"prefix":["users"],"where":{"key":1,"ge":"u21"},"order":[{"key":1}]}')" 'null: u21 u22 u23'
is 'one' "$(follow '{"prefix":[],"where":[{"key":1,"eq":"users"},{"key":2,"lt":"u02"}]}')" 'null: u00 u01'
explain '{"prefix":["users"]}'
field '[.request, .index, .entries.answers, .entries.rows]' '["/list?prefix=users",null,true,24]'
field 'has("declaration")' false

test_case 'an index that would answer is advised, and answers once it is declared'
n=0
for query in \
    '"where":{"path":"/name","eq":"User 3"}' \
    '"where":{"path":"/email","fold":"casefold","eq":"U3@example.ORG"}' \
    '"where":[{"path":"/name","gt":"User 2","lt":"User 5"},{"path":"/active","eq":true}],"order":["/name"],"depth":1' \
    '"where":[{"path":"/age","gt":22},{"path":"/rank","gt":3}]' \
    '"where":[{"path":"/age","gt":22}],"order":["/rank"]' \
    '"where":[{"path":"/name","ne":"User 3"},{"path":"/rank","in":[1,2,30]}]' \
    '"where":{"path":"/rank","exists":false}' \
    '"order":["/home/city","/name"],"reverse":true' \
    '"where":{"path":"/tags","each":true,"eq":"odd"},"order":["/rank"]'; do
    explain "{\"prefix\":[\"users\"],$query}"
    is "there is none for $query" "$(value .request)" null
    declaration=$(value .declaration)
    name=$(value .declaration.name)
    request POST /indexes "$declaration"
    is "the advised $declaration" "${status:0:2}" 20
    until_field .state ready GET "/indexes/$name"
    explain "{\"prefix\":[\"users\"],$query}"
    is "the index for $query" "$(value .index)" "$name"
    answers 200 GET "$(value .request)"
    request DELETE "/indexes/$name"
    n=$((n + 1))
done
is 'queries' "$n" 9

test_case 'no index can be ordered by folded text and hold what is not'
explain '{"prefix":["users"],"where":[{"path":"/email","fold":"lower","ne":"x"}]}'
field '[.request, has("declaration")]' '[null,false]'

test_case 'an explanation reports an index that is not ready, and does not advise it again'
request POST /indexes '{"name":"twice","prefix":["users"],"fields":["/active"],"unique":true}'
until_field .state conflicted GET /indexes/twice
explain '{"prefix":["users"],"where":{"path":"/active","eq":true}}'
is 'the reason' "$(reasons twice)" '["not-ready"]'
field 'has("declaration")' false

test_case 'an explanation estimates many entries'
for i in 0 1 2; do
    request POST /atomic "$(jq -nc --argjson i $i '{mutations: [range(1000) | {type: "set", key: ["many", (. + $i * 1000)], value: {n: .}}]}')"
done
explain '{"prefix":["many"]}'
field '[.entries.exact, (.entries.rows >= 1000 and .entries.rows <= 6000)]' '[false,true]'

test_case 'a malformed query is refused, with a pointer'
answers 400 bad-request POST /explain '{"prefix":["users"],"where":{"path":"/x","neq":1}}'
field .pointer /where/neq
field '.detail | test("did you mean \"ne\"|did you mean \"eq\"")' true
answers 400 bad-request POST /explain '{"where":[]}'
answers 400 bad-request POST /explain '{"prefix":["users"],"order":[{"path":"/tags","each":true}]}'
field .pointer /order
answers 400 bad-request POST /explain '{"prefix":["users"],"where":[{"path":"/a","key":1,"eq":1}]}'
answers 400 bad-request POST /explain '{"prefix":["users"],"where":[{"path":"/a","gt":null}]}'
answers 400 bad-json POST /explain '{"prefix":["users"]'
answers 400 bad-request POST /explain '[]'
answers 400 unknown-parameter POST '/explain?limit=1' '{"prefix":[]}'
answers 405 method-not-allowed GET /explain

test_case 'a declaration refuses fold in its where, which is for queries'
request POST /indexes '{"name":"x","prefix":["users"],"fields":["/a"],"where":{"path":"/a","fold":"lower","eq":"x"}}'
expect 400 bad-index-definition
field .pointer /where/fold

finish

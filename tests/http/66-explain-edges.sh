#!/bin/bash
# Queries at the edges of what can be asked: the request that is given finds
# what was asked for, and no index says that it answers what it does not hold;
# the declaration that is advised can be declared as it stands; and what a dry
# declaration says of large and odd entries.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/explain.sh"
start_server

declare_index() {
    request POST /indexes "$1"
    [ "${status:0:2}" = 20 ] || expect 201
    until_field .state ready GET "/indexes/$(value .name)"
}

# Bigints have at most 255 bytes.
largest="{\"type\":\"bigint\",\"value\":\"$(node -p 'String(2n ** 2040n - 1n)')\"}"
long=$(head -c 3000 /dev/zero | tr '\0' x)

answers 200 POST /atomic "$(jq -nc --argjson largest "$largest" '{mutations: [
    {key: ["users", "a"], value: {e: "zed", n: 1, tags: ["x"], s: "[1]"}},
    {key: ["users", "b"], value: {e: "Bob", n: 2, tags: ["x", "y"], s: "[2"}},
    {key: ["users", "c"], value: {e: "amy", n: 3, tags: 7}},
    {key: ["b", 5], value: 1},
    {key: ["b", $largest], value: 1},
    {key: ["users_by_n", "kept by hand"], value: 1}
    ] | map(.type = "set")}')"
declare_index '{"name":"by_e","prefix":["users"],"fields":[{"path":"/e","fold":"lower"}]}'
declare_index '{"name":"by_n_tags","prefix":["users"],"fields":["/n","/tags"]}'
declare_index '{"name":"one_n","prefix":["users"],"fields":["/n"],"unique":true}'

test_case 'bounds of folded text are compared as they are folded'
is 'from Z and a' "$(follow '{"prefix":["users"],"where":[{"path":"/e","fold":"lower","ge":"B"},{"path":"/e","fold":"lower","ge":"a"}]}')" 'by_e: b a'
is 'up to a and Z' "$(follow '{"prefix":["users"],"where":{"path":"/e","le":"B","lt":"amz","fold":"lower"}}')" 'by_e: c'

test_case 'the numbers begin after the largest bigint'
is 'the bigint' "$(follow "{\"prefix\":[\"b\"],\"where\":{\"key\":1,\"eq\":$largest}}")" 'null: big'

test_case 'strings have no last one, in either order'
answers 200 POST /atomic '{"mutations":[{"type":"set","key":["last","a"],"value":{"t":"a"}},
    {"type":"set","key":["last","b"],"value":{"t":"\udbff\udfff"}},
    {"type":"set","key":["last","c"],"value":{"t":"\udbff\udfffz"}},
    {"type":"set","key":["last","d"],"value":{"t":{"type":"bigint","value":"-5"}}}]}'
declare_index '{"name":"last_up","prefix":["last"],"fields":["/t"]}'
is 'from a' "$(follow '{"prefix":["last"],"where":{"path":"/t","ge":"a"}}')" 'last_up: a b c'
is 'bigints' "$(follow '{"prefix":["last"],"where":{"path":"/t","lt":{"type":"bigint","value":"7"}}}')" 'last_up: d'
request DELETE /indexes/last_up
declare_index '{"name":"last_down","prefix":["last"],"fields":[{"path":"/t","order":"desc"}]}'
filtered() { # QUERY: the request that tests entries, and what it finds
    explain "$1"
    field .request null
    request GET "$(value .filtered)"
    value '[.entries[].key[1]] | sort | join(" ")'
}
is 'all strings but the last character and more' "$(filtered '{"prefix":["last"],"where":{"path":"/t","gt":"","lt":"\udbff\udfff"}}')" a
is 'from a' "$(filtered '{"prefix":["last"],"where":{"path":"/t","ge":"a"}}')" 'a b c'
is 'after a, down to z' "$(follow '{"prefix":["last"],"where":{"path":"/t","gt":"a","le":"\udbff\udfff"}}')" 'last_down: b'
request DELETE /indexes/last_down
request DELETE '/list?prefix=last'

test_case 'each NaN has its place among the bounds of key parts'
for part in =-NaN =-Infinity =-0 =0 =Infinity =NaN =true =5n; do request PUT "/kv/edge/$part" 1; done
edge() { # CONDITION: what the request finds
    explain "{\"prefix\":[\"edge\"],\"where\":{\"key\":1,$1}}"
    request GET "$(value .request)"
    value '[.entries[].key[1] | if type == "object" then .value else tostring end] | join(" ")'
}
nan='{"type":"number","value":"NaN"}' negative_nan='{"type":"number","value":"-NaN"}' negative_zero='{"type":"number","value":"-0"}'
is 'below 0' "$(edge '"lt":0')" '-NaN -Infinity -0'
is 'up to -0' "$(edge "\"le\":$negative_zero")" '-NaN -Infinity -0'
is 'after Infinity' "$(edge '"gt":{"type":"number","value":"Infinity"}')" NaN
is 'after NaN' "$(edge "\"gt\":$nan")" ''
is 'up to NaN' "$(edge "\"ge\":0,\"le\":$nan")" '0 Infinity NaN'
is 'NaN' "$(edge "\"eq\":$nan")" NaN
is '-NaN' "$(edge "\"eq\":$negative_nan")" -NaN
is 'up to -NaN' "$(edge "\"le\":$negative_nan")" -NaN
is 'after -NaN' "$(edge "\"gt\":$negative_nan,\"lt\":$negative_zero")" -Infinity
is 'bigints' "$(edge '"ge":{"type":"bigint","value":"1"}')" 5
is 'up to the largest bigint' "$(edge "\"le\":$largest")" 5
request DELETE '/list?prefix=edge'

test_case 'a string in a query that looks like JSON is a string'
declare_index '{"name":"by_s","prefix":["users"],"fields":["/s"]}'
is 'an array' "$(follow '{"prefix":["users"],"where":{"path":"/s","eq":"[1]"}}')" 'by_s: a'
is 'the beginning of one' "$(follow '{"prefix":["users"],"where":{"path":"/s","gt":"[1]"}}')" 'by_s: b'

test_case 'an element of an array is no value of the field'
explain '{"prefix":["users"],"where":[{"path":"/tags","each":true,"eq":"x"},{"path":"/n","eq":2}]}'
is 'without arrays' "$(reasons by_n_tags)" '["leaves-out","conditions-left"]'
field '.indexes[] | select(.index == "by_n_tags") | .request' null

test_case 'the entries of a unique index have any order that is finer than its own'
is 'and the key' "$(follow '{"prefix":["users"],"order":["/n",{"key":1}],"reverse":true}')" 'one_n: c b a'
explain '{"prefix":["users"],"where":{"path":"/n","eq":3},"order":["/s"]}'
is 'but they need not have its fields' "$(reasons one_n)" '["other-order"]'

test_case 'an index by fields only does not answer an order by key parts'
request PUT /kv/lacking/a '{"e":1}'
request PUT /kv/lacking/b/c '{"e":1}'
declare_index '{"name":"lacking_e","prefix":["lacking"],"fields":["/e"]}'
declare_index '{"name":"lacking_k","prefix":["lacking"],"fields":["/e",{"key":1},{"key":2}]}'
explain '{"prefix":["lacking"],"where":{"path":"/e","eq":1},"order":[{"key":1},{"key":2}]}'
field '[.indexes[] | select(.index | startswith("lacking")) | [.index, .answers, .reasons[0].code]] | sort' \
    '[["lacking_e",false,"other-order"],["lacking_k",true,null]]'
explain '{"prefix":["lacking"],"order":[{"key":1},{"key":2}]}'
field .entries.answers false
explain '{"prefix":["lacking"],"where":{"path":"/e","eq":1},"order":[{"key":1}]}'
field '[.indexes[] | select(.index == "lacking_e").answers]' '[true]'

test_case 'no index answers a query for a value too long for a key'
explain "{\"prefix\":[\"users\"],\"where\":{\"path\":\"/n\",\"eq\":\"$long\"}}"
is 'an index' "$(reasons one_n)" '["leaves-out"]'
field '[(.request, .entries.left | length), has("declaration")]' '[0,1,false]'
explain "{\"prefix\":[\"users\"],\"where\":{\"key\":1,\"gt\":\"$long\"}}"
field '[.request, .entries.answers, has("declaration")]' '[null,false,false]'
explain "{\"prefix\":[\"${long:0:2000}\"],\"where\":{\"key\":1,\"eq\":\"${long:0:100}\"}}"
field '[.request, .entries.answers]' '[null,false]'

test_case 'an advised index has a name that is free'
explain '{"prefix":["users"],"where":{"path":"/n","eq":1},"depth":1}'
field .declaration.name users_by_n_2
declare_index "$(value .declaration)"
explain '{"prefix":["users"],"where":{"path":"/n","eq":1},"depth":1}'
field .index users_by_n_2
explain '{"prefix":["x_by_a","x"],"where":{"path":"/a","eq":1}}'
field .declaration.name x_by_a_2
declare_index "$(value .declaration)"
explain '{"prefix":["x"],"where":{"path":"/a","eq":1}}'
field .declaration.name x_by_a_3

test_case 'no index is advised that could not be declared'
explain '{"prefix":["by_e"],"where":{"path":"/n","eq":1}}'
field 'has("declaration")' false
explain '{"prefix":["by_e\u0000"],"where":{"path":"/n","eq":1}}'
field 'has("declaration")' true
explain '{"prefix":["users"],"where":[{"path":"/tags","each":true,"eq":"x"},{"path":"/more","each":true,"eq":"y"}]}'
field 'has("declaration")' false

test_case 'a query of key parts beyond its depth, or of a wrong form, is refused with a pointer'
answers 400 bad-request POST /explain '{"prefix":["users"],"depth":1,"where":{"key":2,"eq":"x"}}'
field .pointer /where
answers 400 bad-request POST /explain '{"prefix":["users"],"depth":1,"order":["/a",{"key":2}]}'
field .pointer /order/1
answers 400 bad-request POST /explain '{"prefix":["users"],"order":"/a"}'
field '[.pointer, (.detail | contains("order must be an array"))]' '["/order",true]'
answers 400 bad-request POST /explain '{"prefix":["users"],"where":{"key":1,"each":true,"eq":"x"}}'
answers 400 bad-request POST /explain '{"prefix":["users"],"where":{"a/b~c":1}}'
field .pointer /where/a~1b~0c

test_case 'an explanation estimates large entries without reading all of them'
printf '"%0600000d"' 0 >"$work/large"
for n in 1 2 3 4; do
    request PUT "/kv/large/$n" "@$work/large"
done
expect 201
explain '{"prefix":["large"]}'
field '[.entries.exact, .entries.rows >= 2]' '[false,true]'

test_case 'a warning of a dry declaration is text, however long the keys are'
for n in 1 2 3; do
    key=$(printf '€%.0s' {1..200})$n
    request POST /atomic "{\"mutations\":[{\"type\":\"set\",\"key\":[\"odd\",\"${key:n}\"],\"value\":{\"s\":\"${key:n:100}\"}},{\"type\":\"set\",\"key\":[\"odd\",\"x${key:n}\"],\"value\":{\"s\":\"${key:n:100}\"}}]}"
    request POST '/indexes?dry=1' '{"name":"odd_s","prefix":["odd"],"fields":["/s"],"unique":true}'
    is 'UTF-8' "$(iconv -f UTF-8 -t UTF-8 "$answer" 2>&1 | cmp - "$answer" && echo yes)" yes
    field '.warnings | map(test("unique, but .*€ is in .*€ and .*€$")) | any' true
    request POST '/indexes?dry=1' '{"name":"odd_t","prefix":["odd"],"fields":["/t"],"missing":"error"}'
    is 'UTF-8' "$(iconv -f UTF-8 -t UTF-8 "$answer" 2>&1 | cmp - "$answer" && echo yes)" yes
    field '.warnings | map(test("would fail: .*€: ")) | any' true
    request DELETE '/list?prefix=odd'
done

test_case 'the entries of indexes are not counted for one that covers all'
for i in 0 1 2; do
    request POST /atomic "$(jq -nc --argjson i $i '{mutations: [range(800) | {type: "set", key: ["many", (. + $i * 800)], value: {n: .}}]}')"
done
declare_index '{"name":"many_n","prefix":["many"],"fields":["/n"]}'
declare_index '{"name":"many_m","prefix":["many"],"fields":["/n",{"key":1}]}'
request POST '/indexes?dry=1' '{"name":"all","prefix":[],"fields":[{"key":1}]}'
field '[.estimate | .exact, .covered == .entries, (.covered - 2400 | . > -20 and . < 20)]' '[false,true,true]'

test_case 'large entries are not counted as several entries'
for i in {0..4}; do
    jq -nc --argjson i $i '{mutations: [range(1000) | {type: "set", key: ["small", (. + $i * 1000)], value: 1}]}' >"$work/small"
    request POST /atomic "@$work/small"
done
for i in 0 1; do
    jq -nc --argjson i $i '{mutations: [range(750) | {type: "set", key: ["wordy", (. + $i * 750)], value: {s: ("x" * 900)}}]}' >"$work/wordy"
    request POST /atomic "@$work/wordy"
done
explain '{"prefix":["wordy"]}'
field '.entries | [.exact, (.rows > 1000 and .rows < 3000)]' '[false,true]'
request POST '/indexes?dry=1' '{"name":"wordy_s","prefix":["wordy"],"fields":["/s"]}'
field '.estimate | [.covered == .entries, (.covered > 700 and .covered < 3000)]' '[true,true]'

test_case 'rows of several values are counted up to a thousand of all'
for i in 0 1; do
    request POST /atomic "$(jq -nc --argjson i $i '{mutations: [range(900) | {type: "set", key: ["three", (. + 900 * $i)], value: {a: (. % 3)}}]}')"
done
declare_index '{"name":"three_a","prefix":["three"],"fields":["/a"]}'
rows='.indexes[] | select(.index == "three_a") | [.rows >= 600, .exact]'
explain '{"prefix":["three"],"where":{"path":"/a","in":[0,7,8]}}'
field "$rows" '[true,true]'
explain '{"prefix":["three"],"where":{"path":"/a","in":[0,1,2]}}'
field "$rows" '[true,false]'

test_case 'no query is compared with many values of many indexes'
request PUT /indexes "$(jq -nc '[range(200) | {key: "cross\(.)", value: {prefix: ["cross"], fields: ["/a"]}}] | from_entries')"
expect 200
values() { # CONDITIONS VALUES: a query for texts of 60 bytes
    jq -nc --argjson conditions "$1" --argjson values "$2" '{prefix: ["cross"], where: [range($conditions) | {
        path: (if . == 0 then "/a" else "/b\(.)" end), in: [range($values) | "\(1000 + .)" + ("-" * 56)]}]}'
}
answers 400 bad-request POST /explain "$(values 16 64)"
field '[.pointer, (.detail | contains("1024 values") and contains("1048576"))]' '["/where",true]'
answers 400 bad-request POST /explain "$(jq -nc '{prefix: ["cross"], where: {path: "/a", eq: ("x" * 100000)}}')"
explain "$(values 4 16)"
field '[.index, (.conditions | length), (.indexes | map(select(.left == [1, 2, 3])) | length)]' '[null,4,200]'
field '.indexes | map(select(.index | startswith("cross")) | .request | startswith("/list?index=cross")) | [length, all]' '[200,true]'
is 'conditions in the answer' "$(grep -o '"path":"/b1"' "$answer" | wc -l)" 2
explain '{"prefix":["cross"],"where":{"path":"/a","eq":1}}'
field .index cross0

finish

#!/bin/bash
# The tree of keys: which parts follow a prefix, and about how many entries are
# below each. With tokens a client sees what it may list.
. "$(dirname "$0")/../lib/http.sh"
start_server --slow-ms 0

# The children as one line: the last part of each, + if it is an entry, and the
# number below; ~ if that is estimated, ? if it is not known.
children() {
    request GET "/tree?$1" '' "${@:2}"
    [ "$status" = 200 ] || expect 200
    value '[.children[] | (.key[-1] | tojson) + (if .entry then "+" else "" end) + " " +
        (if .exact then "" elif .below then "~" else "?" end) + (.below // "" | tostring)] | join(", ")'
}

# entries_read PATH: how many entries the request has read.
entries_read() {
    request GET "$1"
    [ "$status" = 200 ] || expect 200
    request GET /slow?limit=1
    value '.requests[0].entriesRead'
}

for path in a a/x a/y/1 a/y/2 a%00b a%00b/c ab/c =1 =1/a =2/b/c =true/x; do
    request PUT "/kv/$path" 1
done

test_case 'the tree of a prefix has each child once, in key order, with what is below'
is 'of all keys' "$(children '')" '"a"+ 3, "a\u0000b"+ 1, "ab" 1, 1+ 1, 2 1, true 1'
is 'of a' "$(children prefix=a)" '"x"+ 0, "y" 2'
is 'of a, y' "$(children prefix=a/y)" '"1"+ 0, "2"+ 0'
is 'of a\0b' "$(children prefix=a%00b)" '"c"+ 0'
is 'of what has nothing below' "$(children prefix=a/x)" ''
is 'of what is not there' "$(children prefix=none)" ''
field .cursor null
gives '.children[1]' '{"key":["a","y"],"entry":false,"below":2,"exact":true}' GET /tree?prefix=a

test_case 'start and end bound a tree'
is 'from a, y' "$(children 'prefix=a&start=a/y')" '"y" 2'
is 'from a, y, 2' "$(children 'prefix=a&start=a/y/2')" '"y" 1'
is 'up to a, y' "$(children 'prefix=a&end=a/y')" '"x"+ 0'
is 'between' "$(children 'start=a/x&end=ab')" '"a" 3, "a\u0000b"+ 1'

test_case 'pages of a tree continue with a cursor, of this tree only'
pages='' cursor=''
until [ "$cursor" = null ]; do
    pages+="$(children "limit=2${cursor:+&cursor=$cursor}") | "
    request GET "/tree?limit=2${cursor:+&cursor=$cursor}"
    cursor=$(value .cursor)
done
is 'the pages' "$pages" '"a"+ 3, "a\u0000b"+ 1 | "ab" 1, 1+ 1 | 2 1, true 1 | '
request GET '/tree?limit=1'
cursor=$(value .cursor)
answers 400 cursor-mismatch GET "/list?limit=1&cursor=$cursor"
answers 400 cursor-mismatch GET "/tree?prefix=a&cursor=$cursor"
request GET '/list?limit=1'
answers 400 cursor-mismatch GET "/tree?limit=1&cursor=$(value .cursor)"
answers 400 cursor-invalid GET '/tree?cursor=x'
field .parameter cursor

test_case 'invalid parameters of a tree are refused'
answers 400 unknown-parameter GET '/tree?reverse=true'
answers 400 bad-parameter GET '/tree?start=a'
answers 400 bad-parameter GET '/tree?prefix=a&start=b'
answers 400 bad-parameter GET '/tree?limit=1001'
answers 404 index-not-found GET /tree?index=none

for i in {0..9}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | {type: "set", key: ["large", (. % 50), . + 1000 * $i], value: {n: (. % 7), c: "c\(. % 3)"}}]}')"
done

test_case 'a child with many entries is estimated from few reads'
answers 200 GET /tree?prefix=large
field '.children | length' 50
field '[.children[].key[1]] == [range(50)]' true
field '[.children[].exact] | any' false
if [ "$ENGINE" = postgresql ]; then
    field '[.children[].below] | unique' '[null]'
else
    field '[.children[].below | . >= 50 and . <= 800] | all' true
fi
is 'few entries read' "$(($(entries_read /tree?prefix=large) <= 50 * 33))" 1
is 'few of one child' "$(($(entries_read '/tree?prefix=[]&start=large&limit=1') <= 2 * 33))" 1

test_case 'a page of many children is whole, however many slices it takes'
request POST /atomic "$(jq -nc '{mutations: [range(900) | {type: "set", key: ["wide", ., "x"], value: .}]}')"
request GET '/tree?prefix=wide&limit=1000'
field '[.children[] | select(.exact and .below == 1 and (.entry | not))] | length' 900
field '[.children[].key[1]] == [range(900)]' true

test_case 'the tree of an index has its values, folded as it says'
request POST /indexes '{"name":"by_c","prefix":["large"],"fields":[{"path":"/c","fold":"lower"},"/n"]}'
until_field .state ready GET /indexes/by_c
is 'the values' "$(children index=by_c | tr -d '~?0-9 ')" '"c","c","c"'
request GET '/tree?index=by_c&prefix=C1'
field '[.children[].key]' '[["c1",0],["c1",1],["c1",2],["c1",3],["c1",4],["c1",5],["c1",6]]'
request POST /indexes '{"name":"by_u","prefix":["u"],"fields":["/a","/b"],"unique":true}'
request PUT /kv/u/1 '{"a":1,"b":1}'
request PUT /kv/u/2 '{"a":1,"b":2}'
request PUT /kv/u/3 '{"a":2,"b":1}'
until_field .state ready GET /indexes/by_u
is 'the first field' "$(children index=by_u)" '1 2, 2 1'
is 'the second' "$(children 'index=by_u&prefix==1')" '1+ 0, 2+ 0'
is 'all fields given' "$(children 'index=by_u&prefix==1/=1')" ''

test_case 'a tree does not count expired entries'
request PUT '/kv/soon/a?ttl=1ms' 1
request PUT /kv/soon/b/c 1
gone() { request GET /kv/soon/a; [ "$status" = 404 ]; }
wait_until gone
is 'of soon' "$(children prefix=soon)" '"b" 1'

test_case 'the command line shows the levels of a tree, without reading all entries'
kindex() { "$KINDEX" "$@" --url "$url" >"$work/out" 2>&1; }
kindex tree a --depth 2
is 'two levels' "$(cat "$work/out")" $'a\n  x\n  y/  2'
kindex tree --index by_u --depth 2 -o raw
is 'values' "$(tr '\n' ' ' <"$work/out")" '=1/=1 =1/=2 =2/=1 '
kindex tree --index by_u
is 'the first level' "$(cat "$work/out")" $'=1/  2\n=2/  1'
kindex tree a --depth 1
is 'less than the prefix has' "$(cat "$work/out")" 'a/  3'
kindex tree large --depth 2
is 'an estimate' "$(sed -n 2p "$work/out" | grep -cE '^  =0/  (~[0-9]+|\?)$')" 1
kindex tree large --depth 2 -o json
is 'rows' "$(jq -c 'select(.exact == false) | .key' "$work/out" | wc -l)" 50
kindex tree --index by_u --start =1
is 'what does not go together' "$(grep -c -- '--index does not go with' "$work/out")" 1
stop_server

# With tokens: what leads to the keys that a token may list.
start_server --token-file "$work/token"
token=$(cat "$work/token")
admin=(--oauth2-bearer "$token")
for path in ka/1 ka/2 kb kb/c/1 kb/c/2 kb/d kb/e/1 kz/1; do
    request PUT "/kv/$path" '{"v":1}' "${admin[@]}"
done
request POST /indexes '{"name":"by_v","prefix":["kz"],"fields":["/v"]}' "${admin[@]}"
until_field .state ready GET /indexes/by_v '' "${admin[@]}"
bearer() {
    answers 201 POST /tokens "{\"name\":\"t\",\"grants\":$1}" "${admin[@]}"
    bearer=(--oauth2-bearer "$(value .token)")
}

test_case 'a token for some prefixes sees the parts of a tree that lead to them, and no other counts'
bearer '[{"scopes":["list"],"prefix":["kb","c"]},{"scopes":["list"],"prefix":["kb","e"]},{"scopes":["list"],"prefix":["ka"]},{"scopes":["list"],"prefix":["ka","1"]},{"scopes":["read"],"prefix":["kz"]},{"scopes":["list"],"prefix":["none"]}]'
is 'of all keys' "$(children '' "${bearer[@]}")" '"ka" 2, "kb" 3'
is 'of ka' "$(children prefix=ka "${bearer[@]}")" '"1"+ 0, "2"+ 0'
is 'of kb' "$(children prefix=kb "${bearer[@]}")" '"c" 2, "e" 1'
is 'of kb, from c, 2' "$(children 'prefix=kb&start=kb/c/2' "${bearer[@]}")" '"c" 1, "e" 1'
request GET '/tree?limit=1' '' "${bearer[@]}"
is 'the second page' "$(children "limit=1&cursor=$(value .cursor)" "${bearer[@]}")" '"kb" 3'
answers 403 forbidden GET /tree?prefix=kz '' "${bearer[@]}"
answers 403 forbidden GET /tree?index=by_v '' "${bearer[@]}"

test_case 'a grant for the name of an index shows no keys of its entries in a tree'
bearer '[{"scopes":["list"],"prefix":["by_v"]},{"scopes":["list"],"prefix":["ka"]}]'
is 'of all keys' "$(children '' "${bearer[@]}")" '"ka" 2'
bearer '[{"scopes":["list"],"prefix":["by_v"]},{"scopes":["list"],"prefix":["kz"]}]'
is 'with one for its entries' "$(children '' "${bearer[@]}")" '"by_v" 1, "kz" 1'

finish

#!/bin/bash
# Fields of an index in opposite orders, and entries without a value: lists with
# their bounds and pages, look-ups, refusals, explanations and damage all use the
# values themselves.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/explain.sh"
start_server

put() { # NAME VALUE
    request PUT "/kv/o/$1" "$2"
    [ "$status" = 200 ] || expect 201
}
names() { # QUERY
    request GET "/list?keys=true&index=$1"
    [ "$status" = 200 ] || expect 200
    value '[.entries[].key[-1]] | join(" ")'
}
ready() { # DECLARATION
    request POST /indexes "$1" -H 'Prefer: wait=30'
    until_field .state ready GET "/indexes/$(jq -r .name <<<"$1")"
}

put a '{"s":"open","n":1}'
put b '{"s":"open","n":20}'
put c '{"s":"open","n":3}'
put d '{"s":"paid","n":20}'
put e '{"s":"paid","n":-4}'
put f '{"s":"paid","n":"text"}'
put g '{"s":"paid","n":"tex"}'
put h '{"s":"open","n":true}'
put i '{"s":"open","n":null}'
put j '{"s":"open"}'
put k '{"s":"open","n":[1]}'
ready '{"name":"newest","prefix":["o"],"fields":["/s",{"path":"/n","order":"desc"}]}'
ready '{"name":"all","prefix":["o"],"fields":["/s","/n"],"missing":"null"}'
ready '{"name":"last","prefix":["o"],"fields":[{"path":"/n","order":"desc"}],"missing":"null","store":"value"}'

test_case 'a descending field has greater values first, and reverse is the opposite'
field .fields '[{"path":"/n","order":"desc"}]'
is 'mixed' "$(names newest)" 'h b c a d e f g'
is 'reverse' "$(names 'newest&reverse=true')" 'g f e d a c b h'
is 'of one' "$(names 'newest&prefix=paid')" 'd e f g'
gives .count 1 GET '/count?index=newest&prefix=open/=20'

test_case 'missing=null puts entries without a value before all others, and after them in the opposite order'
is 'both, one after the other by their keys' "$(names 'all&prefix=open')" 'i j a c b h'
is 'in the opposite order' "$(names last)" 'h b d c a e f g i j'
is 'alone' "$(names 'all&prefix=open/=b64:')" 'i j'
is 'without them' "$(names 'all&start=open/=-1e9&end=open/=1e9')" 'a c b'
is 'alone there' "$(names 'last&prefix=[{"type":"Uint8Array","value":""}]' -g)" 'i j'
put l '{"s":"open","n":{"type":"Uint8Array","value":""}}'
is 'as the empty bytes' "$(names 'all&prefix=open/=b64:')" 'i j l'
request DELETE /kv/o/l

test_case 'bounds of a descending index are values: start is what comes first'
is 'from 20 to 1, without it' "$(names 'newest&start=open/=20&end=open/=1')" 'b c'
is 'the same in reverse' "$(names 'newest&start=open/=20&end=open/=1&reverse=true')" 'c b'
is 'a value between' "$(names 'newest&prefix=open&start=open/=19')" 'c a'
is 'text' "$(names 'newest&prefix=paid&start=paid/texs')" 'g'
is 'text that is longer' "$(names 'newest&prefix=paid&end=paid/text')" 'd e'
answers 400 bad-parameter GET '/list?index=newest&start=open/=1&end=open/=20'

test_case 'the tree of a descending index has the values, from which it continues'
gives '[.children[].key]' '[["open",true],["open",20],["open",3]]' GET '/tree?index=newest&prefix=open&limit=3'
gives '[.children[].key]' '[["open",1]]' GET "/tree?index=newest&prefix=open&limit=3&cursor=$(value .cursor)"
gives '[.children[].key]' '[["open",20,"b"]]' GET '/tree?index=newest&prefix=open/=20'
gives '[.children[-1].key[0].value]' '[""]' GET '/tree?index=last'

test_case 'a descending index has pages, several ranges, and a merge of them'
got='' cursor=''
for _ in 1 2 3 4; do
    request GET "/list?keys=true&index=newest&limit=2${cursor:+&cursor=$cursor}"
    got+="$(value '[.entries[].key[-1]] | join(" ")') "
    cursor=$(value '.cursor // ""')
done
is 'pages' "$got$cursor" 'h b c a d e f g '
is 'in turn' "$(names 'newest&in=paid&in=open&limit=5')" 'd e f g h'
is 'merged' "$(names 'newest&in=paid&in=open&order=merge&limit=6')" 'h b d c a e'
request POST /list '{"ranges":[{"index":"newest","prefix":["open",20]},{"index":"newest","prefix":["paid",20]}],"keys":true}'
field '[.entries[].key[1]]' '["b","d"]'

test_case 'keys of a descending index have bytes of the opposite order'
gives '.entries[0].key | map(.value? // .)' '["newest","open","2P8","h"]' GET '/list?prefix=newest&keys=true&limit=1'
gives '.entries[0].key | map(.value? // .)' '["all","open","","i"]' GET '/list?prefix=all&keys=true&limit=1'
answers 200 PUT /kv/newest/open/=b64:2P8/h '"h"'
answers 409 index-owned-key PUT /kv/newest/open/=b64:2P8/i '"i"'

test_case 'a unique descending index shows values in look-ups and refusals'
ready '{"name":"ranks","prefix":["r"],"fields":[{"path":"/n","order":"desc"},{"path":"/t","fold":"lower","order":"desc"}],"unique":true}'
request PUT /kv/r/1 '{"n":7,"t":"Abc"}'
gives .t Abc GET /indexes/ranks/get/=7/ABC
answers 404 GET /indexes/ranks/get/=7/abd
answers 409 unique-violation PUT /kv/r/2 '{"n":7,"t":"aBC"}'
field '[.value, .existingKey]' '[[7,"abc"],["r","1"]]'
request POST /atomic '{"mutations":[{"type":"patch","by":{"index":"ranks","value":[7,"abc"]},"value":{"seen":true}}]}'
expect 200
gives .seen true GET /kv/r/1

test_case 'conflicts of a descending index show values, and can be resolved'
put m '{"s":"open","n":20}'
ready '{"name":"settled","prefix":["q"],"fields":["/n"]}'
request POST /indexes '{"name":"once","prefix":["o"],"fields":[{"path":"/n","order":"desc"}],"unique":true,"missing":"null"}' -H 'Prefer: wait=30'
until_field .state conflicted GET /indexes/once
gives '.conflicts[0]' '{"value":[20],"keys":[["o","b"],["o","d"],["o","m"]]}' GET '/indexes/once/conflicts?limit=1'
gives '[.conflicts[].value[0] | .value? // .]' '[20,""]' GET /indexes/once/conflicts
for key in d m j; do request DELETE "/kv/o/$key"; done
until_field .state ready GET /indexes/once
answers 409 unique-violation PUT /kv/o/z '{"n":null}'

test_case 'explanations give requests for mixed orders, with values'
is 'mixed' "$(follow '{"prefix":["o"],"where":[{"path":"/s","eq":"open"}],"order":[{"path":"/n","order":"desc"}]}')" 'newest: h b c a'
is 'turned' "$(follow '{"prefix":["o"],"where":[{"path":"/s","eq":"open"}],"order":["/n"]}')" 'newest: a c b h'
is 'both' "$(follow '{"prefix":["o"],"order":["/s",{"path":"/n","order":"desc"}]}')" 'newest: h b c a e f g'
is 'both turned' "$(follow '{"prefix":["o"],"order":[{"path":"/s","order":"desc"},"/n"]}')" 'newest: g f e a c b h'
by_newest() { # CONDITIONS
    explain "{\"prefix\":[\"o\"],\"where\":[{\"path\":\"/s\",\"eq\":\"$1\"},{\"path\":\"/n\",$2}]}"
    request GET "$(value '.indexes[] | select(.index == "newest" and .answers) | .request')"
    value '[.entries[].key[-1]] | join(" ")'
}
is 'a range' "$(by_newest open '"gt":1,"le":20')" 'b c'
is 'the other bounds' "$(by_newest open '"ge":1,"lt":20')" 'c a'
is 'one of them' "$(by_newest open '"lt":3')" 'a'
is 'booleans' "$(by_newest open '"ge":false')" 'h'
is 'text up to one' "$(by_newest paid '"le":"tex","gt":"a"')" 'g'
explain '{"prefix":["o"],"where":[{"path":"/s","eq":"paid"},{"path":"/n","ge":"text"}]}'
is 'no text comes just before another' "$(reasons newest)" '["conditions-left"]'
explain '{"prefix":["o"],"order":[{"path":"/s"},"/n"]}'
is 'others, too' "$(reasons all)" '["nulls"]'
is 'another order' "$(reasons newest)" '["other-order"]'
explain '{"prefix":["o"],"order":["/x",{"path":"/s","order":"desc"}]}'
field .declaration.fields '[{"path":"/x"},{"path":"/s","order":"desc"}]'
explain '{"prefix":["o"],"where":[{"path":"/x","ge":"m"}],"order":[{"path":"/x","order":"desc"}]}'
field '.declaration | [.fields, .where]' '[[{"path":"/x"}],null]'

test_case 'a descending index is verified, migrated and read after a restart'
request POST '/indexes/newest/verify'
until_field .state done GET /indexes/newest/verify
field '[.missing, .dangling, .stale]' '[0,0,0]'
request PATCH /indexes/newest '{"store":"value"}'
until_field .state ready GET /indexes/newest
stop_server
start_server
is 'as before' "$(names newest)" 'h b c a e f g'
is 'nothing is lost' "$(names 'all&prefix=open')" 'i a c b h'
answers 409 POST /indexes '{"name":"newest","prefix":["o"],"fields":["/s","/n"],"store":"value"}'
request POST '/indexes?dry=1' '{"name":"later","prefix":["o"],"fields":[{"path":"/n","order":"desc"}],"missing":"null"}'
field '[.estimate.entries, .estimate.skipped]' '[8,1]'

test_case 'a declaration refuses a misplaced or unknown order'
refused() { # FIELDS MORE DETAIL
    answers 400 bad-index-definition POST /indexes "{\"name\":\"x\",\"prefix\":[\"o\"],\"fields\":[$1]$2}"
    field "(.detail | contains(\"$3\"))" true
}
refused '{"path":"/n","order":"down"}' '' 'asc'
refused '"/s",{"versionstamp":true,"order":"desc"}' '' 'read it with reverse'
refused '{"path":"/s","order":"desc"}' ',"store":{"aggregate":{"count":true}}' 'read it with reverse'
refused '"/s"' ',"missing":"nil"' 'null'

test_case 'totals with missing=null have a group of the entries without a value'
ready '{"name":"totals","prefix":["o"],"fields":["/s"],"missing":"null","store":{"aggregate":{"count":true}}}'
put y '{"n":99}'
request GET '/list?index=totals'
field '[.entries[] | [(.key[1] | .value? // .), .value.count]]' '[["",1],["open",6],["paid",3]]'
finish

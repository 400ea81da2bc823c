#!/bin/bash
# POST /bulk: many entries and mutations as lines, in commits one after another,
# each of which has a line in the reply.
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
ndjson=(--header 'Content-Type: application/x-ndjson')
start_server --bulk-max 4MiB

bulk() { # LINES [CURL-OPTION...]; @file as with request
    request POST /bulk "$1" "${ndjson[@]}" "${@:2}"
}

last() { # FILTER TEXT: of the last line
    is "the last line's $1" "$(tail -n 1 "$answer" | command jq -cr "$1")" "$2"
}

entries() { # PREFIX FROM TO [VALUE]: lines with the keys [PREFIX, FROM..TO]
    command jq -nc --arg p "$1" --argjson v "${4:-1}" "range($2; $3 + 1) | {key: [\$p, .], value: \$v}"
}

empty() { # [PREFIX]: removes its entries
    until_field .more false DELETE "/list?prefix=${1:-[]}&limit=1000"
}

count_is() { # PREFIX COUNT
    gives .count "$2" GET "/count?prefix=$1"
}

test_case 'a line of POST /bulk is an entry, or a mutation if it has a type'
bulk '{"key":["a"],"value":{"x":0.10}}
{"key":["b"],"typed":{"type":"KvU64","value":"7"}}
{"type":"sum","key":["b"],"typed":{"type":"KvU64","value":"2"}}
{"type":"patch","key":["a"],"value":{"y":2}}
{"key":["c"],"value":1,"ttl":"1h"}
{"type":"delete","key":["c"]}'
expect 200
header Content-Type application/x-ndjson
is 'the lines' "$(sed 's/"versionstamp":"[0-9a-f]*"/STAMP/' "$answer")" \
    $'{"lines":6,"stored":6,STAMP}\n{"end":true,"lines":6,"stored":6}'
request POST /get '{"keys":[["a"],["b"],["c"]]}'
field '[.entries[] | [.value, .typed.value]]' '[[{"x":0.1,"y":2},null],[null,"9"],[null,null]]'

test_case 'a thousand lines of POST /bulk are a commit, and the reply has a line for each commit'
entries many 1 2500 >"$work/many"
for version in --http1.1 --http2-prior-knowledge; do
    bulk "@$work/many" $version
    expect 200
    is 'the lines' "$(command jq -c '[.lines, .stored, .end]' "$answer" | tr '\n' ' ')" \
        '[1000,1000,null] [2000,2000,null] [2500,2500,null] [2500,2500,true] '
    count_is many 2500
    empty many
done
is 'the commits' "$(bulk "@$work/many"; command jq -r '.versionstamp // empty' "$answer" | sort -u | wc -l)" 3
answers 200 POST /get '{"keys":[["many",1],["many",1000],["many",1001],["many",2500]]}'
field '[.entries[].versionstamp] | [.[0] == .[1], .[1] < .[2], .[2] < .[3]]' '[true,true,true]'
count_is many 2500

test_case 'lines of POST /bulk of more than a mebibyte are several commits'
entries large 1 30 "\"$(head -c 100000 /dev/zero | tr '\0' x)\"" >"$work/large"
bulk "@$work/large"
expect 200
is 'the commits' "$(grep -c versionstamp "$answer")" 3
last '[.end, .stored]' '[true,30]'
count_is large 30

test_case 'POST /bulk restores a list: keys, types and media types of values, expiries'
empty
answers 200 POST /atomic '{"mutations":[
    {"type":"set","key":["t",1,"\u0000",true],"value": {"n": 1.50, "s": "\u00e9"} },
    {"type":"set","key":["t",2],"typed":{"type":"Date","value":"2023-04-23T00:00:00.123Z"}},
    {"type":"set","key":["t",3],"typed":{"type":"KvU64","value":"18446744073709551615"}},
    {"type":"set","key":["t",4],"typed":{"type":"bigint","value":"-9007199254740993"}},
    {"type":"set","key":["t",{"type":"bigint","value":"12345678901234567890"}],"value":null,"ttl":"1d"},
    {"type":"set","key":["t",{"type":"Uint8Array","value":"AAEC"}],"typed":{"type":"Uint8Array","value":"3q2-7w"}}]}'
answers 201 PUT /kv/t/text 'plain text' --header 'Content-Type: text/plain; charset=utf-8'
listed() { # FILE
    request GET '/list?prefix=t' '' --header 'Accept: application/x-ndjson'
    cp "$answer" "$1"
}
bare() { # FILE: without what differs
    sed 's/"versionstamp":"[0-9a-f]*"//' "$1"
}
listed "$work/before"
"$KINDEX" export --url "$url" --prefix t >"$work/exported" 2>"$work/progress"
for file in before exported; do
    empty
    gives .entries '[]' GET '/list?limit=1'
    bulk "@$work/$file"
    last '[.end, .stored]' '[true,7]'
    listed "$work/after"
    is "what $file has become" "$(bare "$work/after")" "$(bare "$work/before")"
done

test_case 'the end line of a list is the last line of POST /bulk, or an error'
bulk '{"key":["e"],"value":1}
{"end":true,"count":1}'
last '[.end, .lines, .stored]' '[true,2,1]'
bulk '{"end":true,"count":0}'
expect 200
body_is $'{"end":true,"lines":1,"stored":0}\n'
bulk '{"key":["e"],"value":2}
{"end":true,"count":1}
{"key":["f"],"value":1}'
expect 200
last '[.error.code, .error.line, .lines, .stored]' '["bad-request",3,2,1]'
answers 404 GET /kv/f

test_case 'POST /bulk accepts empty lines, carriage returns and a last line without an end'
printf '\n{"key":["w",1],"value":1}\r\n\r\n  \n{"key":["w",2],"value":2}' >"$work/lines"
bulk "@$work/lines"
last '[.end, .lines, .stored]' '[true,5,2]'
printf '{"key":["w",3],"value":1}\n\n\n' >"$work/lines"
bulk "@$work/lines"
last '[.end, .lines, .stored]' '[true,3,1]'
printf '\n\n' >"$work/lines"
bulk "@$work/lines"
expect 200
last '[.end, .lines, .stored]' '[true,2,0]'
count_is w 3

test_case 'POST /bulk may omit the media type, and refuses any other'
answers 200 POST /bulk '{"key":["m"],"value":1}'
answers 200 POST /bulk '{"key":["m"],"value":1}' --header 'Content-Type:'
answers 415 unsupported-media-type POST /bulk '{"key":["m"],"value":1}' --header 'Content-Type: application/json'
field .supported '["application/x-ndjson"]'
bulk '{"key":["m"],"value":1}' --header 'Content-Encoding: deflate'
expect 415 unsupported-media-type

test_case 'an invalid POST /bulk is refused before anything is stored'
answers 400 bad-request POST /bulk '' "${ndjson[@]}"
bulk '{"key":["m"],"value":1}' --header 'If-Match: "x"'
expect 400 bad-request
bulk '{"key":["m"],"value":1}' --header 'Idempotency-Key: "x"'
expect 400 bad-request
answers 400 unknown-parameter POST '/bulk?dry=1' '{"key":["m"],"value":1}' "${ndjson[@]}"
head -c 4194305 /dev/zero | tr '\0' ' ' >"$work/lines"
bulk "@$work/lines"
expect 413 payload-too-large
field .limit 4194304

# ---- Errors ----------------------------------------------------------------

test_case 'a wrong first line of POST /bulk is an error as of any other request, with its line'
bulk '{"key":["n"],"value":}'
expect 400 bad-json
field '[.line, .column, .offset]' '[1,22,21]'
bulk '
{"key":["n"],"vlaue":1}'
expect 400 unknown-member
field '[.line, .pointer, .didYouMean]' '[2,"/vlaue","value"]'

refused() { # CODE LINE [COUNT]: a line that is wrong, with so many before it
    local count=${3:-3}
    { entries bad 1 "$count"; printf '%s\n' "$2"; entries worse 1 10; } >"$work/lines"
    bulk "@$work/lines"
    expect 200
    last '[.error.code, .error.line, .lines, .stored, .end]' "[\"$1\",$((count + 1)),$count,$count,null]"
    count_is bad "$count"
    count_is worse 0
    empty bad
}

test_case 'POST /bulk stores all lines before a wrong one, and none from it on'
for count in 1 999 1000 1001 1200; do
    refused bad-json '{"key":["n"],"value":1' $count
done
refused bad-json '{"key":["n"],"value":1}{"key":["m"],"value":1}'
refused bad-request '{"key":["n"]}'
refused bad-request '{"value":1}'
refused bad-request '{"key":["n"],"value":1,"typed":{"type":"KvU64","value":"1"}}'
refused bad-value '{"key":["n"],"typed":{"type":"KvU64","value":1}}'
refused bad-request '{"type":"set","key":["n"]}'
refused bad-request '{"type":"put","key":["n"],"value":1}'
refused bad-request '[1]'
refused unknown-member '{"error":{"code":"overloaded"}}'
refused bad-key '{"key":[],"value":1}'
refused key-too-long "{\"key\":[\"$(head -c 3000 /dev/zero | tr '\0' k)\"],\"value\":1}"
refused value-too-large "{\"key\":[\"n\"],\"value\":\"$(head -c 1048576 /dev/zero | tr '\0' v)\"}"
refused json-too-deep "{\"key\":[\"n\"],\"value\":$(printf '[%.0s' {1..65})$(printf ']%.0s' {1..65})}"

test_case 'POST /bulk refuses mutations that return a value or need a versionstamp'
refused bad-request '{"type":"set","key":["n"],"value":1,"return":"new"}'
refused bad-request '{"type":"set","key":["n"],"value":1,"suffix":"versionstamp"}'

test_case 'POST /bulk stores the lines before one that the stored entries refuse'
request PUT /kv/text '"text"'
for count in 1 999 1000 1001 1200; do
    refused type-mismatch '{"type":"sum","key":["text"],"value":1}' $count
done
refused key-not-found '{"type":"touch","key":["none"],"ttl":"1h"}'
refused out-of-bounds '{"type":"sum","key":["stock"],"value":-1,"min":0}'
refused index-not-found '{"type":"delete","by":{"index":"none","value":[1]}}'
request POST /indexes '{"name":"by_mail","prefix":["bad"],"fields":["/mail"],"unique":true,"missing":"skip"}' \
    --header 'Prefer: wait=60'
until_field .state ready GET /indexes/by_mail
request PUT /kv/bad/first '{"mail":"a@x.org"}'
{ entries bad 1 1200; echo '{"key":["bad","second"],"value":{"mail":"a@x.org"}}'; entries worse 1 10; } >"$work/lines"
bulk "@$work/lines"
last '[.error.code, .error.line, .error.existingKey, .lines]' '["unique-violation",1201,["bad","first"],1200]'
count_is bad 1201
bulk '{"key":["c"],"value":1}
{"key":["by_mail","q","k"],"value":1}'
last '[.error.code, .error.line, .lines]' '["index-owned-key",2,1]'

test_case 'the remaining lines continue at the place that the reply names'
bulk "@$work/lines"
sed -i 's/"a@x.org"/"b@x.org"/' "$work/lines"
tail -n "+$(($(tail -n 1 "$answer" | command jq .lines) + 1))" "$work/lines" >"$work/rest"
is 'the lines left' "$(wc -l <"$work/rest")" 11
bulk "@$work/rest"
last '[.end, .stored]' '[true,11]'
count_is worse 10

# Eighteen patches of a megabyte are more than one commit may make.
test_case 'lines beyond the budget of one commit are stored in several commits'
{ printf '{"a":0,"text":"'; head -c 999980 /dev/zero | tr '\0' x; printf '"}'; } >"$work/value"
request PUT /kv/patched "@$work/value" --header 'Content-Type: application/json'
command jq -nc 'range(19) | {type: "patch", key: ["patched"], value: {a: .}}' >"$work/lines"
bulk "@$work/lines"
expect 200
is 'the commits' "$(grep -c versionstamp "$answer")" 3
last '[.end, .stored]' '[true,19]'
request GET '/kv/patched?fields=a'
body_is '{"a":18}'

# ---- A client that does not read --------------------------------------------

test_case 'a client that does not read the reply of POST /bulk holds up only its own lines'
hold() { # PREFIX
    entries "$1" 1 10000 >"$work/held"
    mkfifo "$work/go.$1"
    timeout "$longest" node "$here/bulk_held.js" "$url" "$work/held" <"$work/go.$1" >"$work/told" &
    client=$!
    exec 7>"$work/go.$1"
    until_field .count 2000 GET "/count?prefix=$1"
}
hold held
bulk "@$work/many"
last '[.end, .stored]' '[true,2500]'
count_is held 2000
exec 7>&-
wait "$client"
is 'what it is told' "$(cat "$work/told")" '{"end":true,"lines":10000,"stored":10000}'
count_is held 10000

test_case 'a server that stops during POST /bulk has stored whole commits, and the reply has no end'
hold stopped
stop_server
exec 7>&-
wait "$client"
is 'the end' "$(tail -n 1 "$work/told")" cut
start_server
count_is stopped 2000

# ---- Rights ----------------------------------------------------------------

test_case 'POST /bulk stores the lines of the keys of its token, up to the first that is not'
request POST /tokens '{"name":"all","grants":[{"scopes":["read","write","list","watch","index","monitor","admin"],"prefix":[]}]}'
all=(--header "Authorization: Bearer $(value .token)")
answers 201 POST /tokens '{"name":"mine","grants":[{"scopes":["write"],"prefix":["mine"]}]}' "${all[@]}"
mine=(--header "Authorization: Bearer $(value .token)")
for number in 5 1500 3000; do # within one commit; of more than one; read beside the loop
    { entries mine 1 $number; echo '{"key":["yours"],"value":1}'; } >"$work/lines"
    bulk "@$work/lines" "${mine[@]}"
    expect 200
    last '[.error.code, .error.scope, .error.line, .lines]' "[\"forbidden\",\"write\",$((number + 1)),$number]"
    gives .count $number GET /count?prefix=mine '' "${all[@]}"
done
bulk '{"key":["yours"],"value":1}' "${mine[@]}"
expect 403 forbidden
field .line 1
bulk '{"key":["mine"],"value":1}
{"type":"sum","key":["mine",1],"value":1}' "${mine[@]}"
expect 200
last '[.error.code, .error.scope, .error.line]' '["forbidden","read",2]'
bulk "@$work/lines"
expect 401 unauthorized
answers 404 GET /kv/yours '' "${all[@]}"

finish

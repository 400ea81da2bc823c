#!/bin/bash
# What the command line shows on a terminal, of a server whose answers are full of
# control characters.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
needs script perl
start_server
node "$(dirname "$0")/terminal_proxy.js" "$url" "$work/proxy" &
proxy=$!
wait_until test -s "$work/proxy"
export KINDEX_URL=http://127.0.0.1:$(cat "$work/proxy")

# Without what the program sends itself: colours, the progress line, a clear screen.
controls() {
    perl -0pe 's/\e\[(0|1|2|36|3[123])m|\r\e\[K|\e\[H\e\[2J|\r\n//g' "$work/shown" |
        perl -ne 'print if /[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]/' | cat -v
}
escapes() { grep -cE '\\(u009b|x9b)|%9B|%C2%9B' "$work/shown"; }
# shows COMMAND [PLAIN]: nothing to obey, and the escapes instead, unless PLAIN
shows() {
    terminal "timeout $longest $KINDEX $1" >"$work/shown"
    is "controls of $1" "$(controls)" ''
    [ -n "${2-}" ] || is "escapes of $1" "$([ "$(escapes)" -gt 0 ] && echo some)" some
}
store() { curl -s -o "$work/null" -X PUT "$url$1" -H "Content-Type: $2" --data-binary @-; }

test_case 'no answer of a server controls the terminal'
echo '{"s":"x","n":1}' | store /kv/a/1 application/json
echo '{"s":"y","n":1}' | store /kv/a/2 application/json
printf '\033]0;t\007\2331;\302\2331m\377ok' | store /kv/bytes application/octet-stream
echo '{"type":"RegExp","value":"/a/"}' | store /kv/typed application/vnd.kindex.typed+json
request POST '/indexes' '{"name":"by_s","prefix":["a"],"fields":["/s"]}'
request POST '/indexes' '{"name":"by_n","prefix":["a"],"fields":["/n"],"unique":true,"where":[{"path":"/s","exists":true}]}'
request POST '/indexes' '{"name":"total","prefix":["a"],"fields":["/s"],"store":{"aggregate":{"count":true}}}'
until_field .state conflicted GET /indexes/by_n
while read -r command; do
    shows "$command"
done <<'END'
get a/1
get bytes
get typed
get a/1 bytes typed
get a/1 -o json
get nothing
get a
set a/3 '{}'
set a/3 '{}' -o json
set a/3 '{}' --if-absent
set a/3 '{'
patch a/3 '{}'
touch a/3 --ttl 1h
sum a/3
ls
ls -o json
ls a
ls -o raw
ls --index by_s
tree
tree -o json
tree -o raw
tree --depth 1
explain '{"prefix":["a"]}'
explain '{"prefix":[null]}'
atomic '{"mutations":[]}'
watch a/1 -n 1
watch a/1 -n 1 -o table
watch --index by_s
index ls
index ls -o json
index ls -o raw
index ls -o declarations
index show by_s
index show by_s -o table
index get by_s x
index conflicts by_n
index conflicts by_n -o table
index watch by_s
index watch -n 1
index watch -n 1 -o json
index add by_x a x --dry-run
index add by_y a y
index migrate by_y --store value
index pause by_y
index throttle by_y 9
index verify by_s
export
export --deno
export --all
backup --link
doctor
doctor -o json
ready -o json
top --once
top -o json
cluster status
cluster step-down
del nothing --if-match x
END

test_case 'names and grants of tokens do not control the terminal'
request POST /tokens '{"name":"x\u202ez","grants":[{"scopes":["read","write","list","watch","index","admin","monitor"],"prefix":[]}]}'
KINDEX_TOKEN=$(jq -r .token "$answer")
export KINDEX_TOKEN
for command in 'token ls' 'token ls -o json' 'token self' 'token self -o table' 'token create y read:a'; do
    shows "$command"
done

test_case 'arguments and environment variables do not control the terminal'
export E=$'\e' C1=$'\u009b' BIDI=$'\u202e'
for command in 'nothing"$E"' 'get a --url "http://$E"' 'get "$BIDI"' 'get a -o "$C1"' 'help "$E[31m"' \
    'import "$E".ndjson' 'restore "$C1" --data "$E"' 'index rm "$BIDI"'; do
    shows "$command" plain
done

test_case 'raw output, and output to a program, is not escaped'
export KINDEX_URL=$url
terminal "$KINDEX get bytes -o raw" >"$work/shown"
is bytes "$(cat -v "$work/shown")" '^[]0;t^GM-^[1;M-BM-^[1mM-^?ok'
kindex get bytes
is bytes "$(cat -v "$work/out")" '^[]0;t^GM-^[1;M-BM-^[1mM-^?ok'
kindex set marks $'"\u009b\u202e"'
kindex get marks
prints $'"\u009b\u202e"'
is 'a value' "$(terminal "$KINDEX get marks" | tr -d '\r')" '"\u009b\u202e"'

test_case 'explain and the list of indexes are tables on a terminal'
kindex set orders/1 '{"status":"open","n":1,"tags":["a"]}'
kindex index add orders_by_status orders/ status n:desc --fold lower --wait
kindex index add orders_by_tag orders tags key:1 --each tags --wait
query='{"prefix":["orders"],"where":[{"path":"/tags","eq":"x","each":true}]}'
terminal "timeout $longest $KINDEX explain '$query'" | tr -d '\r' >"$work/shown"
is 'the request' "$(head -1 "$work/shown")" '/list?index=orders_by_tag&prefix=x'
is 'the orders' "$(grep -cE '(\(the entries\)|orders_by_status).* no |orders_by_tag.* yes ' "$work/shown")" 3
is 'a reason' "$(grep -A 1 '(the entries)' "$work/shown" | sed -n '2s/^    .*/indented/p')" indented
kindex explain "$query"
is 'elsewhere JSON' "$(jq -r .index "$work/out")" orders_by_tag
kindex explain "$query" -o table
is 'with -o a table' "$(grep -c ANSWERS "$work/out")" 1
kindex index ls
is 'the indexes' "$(sed -n 's/^\(orders_by_[a-z]*\) .* orders  */\1 /p' "$work/out" | paste -sd'|')" \
    'orders_by_status status (lower) n:desc (lower)|orders_by_tag tags (each) key:1'
kindex index rm orders_by_status
kindex index rm orders_by_tag
kindex del orders/1

kill $proxy
wait $proxy 2>"$work/null"
finish

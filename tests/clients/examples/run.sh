#!/bin/bash
# The examples in deploy/examples, each by its one command. BUILD says where the program
# was built.
set -u
cd "$(dirname "$0")"
. ../lib.sh
examples=$(realpath ../../../deploy/examples)
example=''

# What every shop prints, as the README shows it.
awk '/^```text/ { inside = 1; next } /^```/ { inside = 0 } inside' "$examples/README.md" >"$work/wanted"

# shop LANGUAGE [EXAMPLES]: each run has an empty store.
shop() {
    env --unset KINDEX_URL "${2:-$examples}/run.sh" "shop-$1" 2>&1 | diff "$work/wanted" -
}

# begin NAME: starts an example that serves; $address is where.
begin() {
    rm -f "$work/address"
    "$examples/run.sh" "$1" 0 >"$work/address" 2>"$work/errors" &
    example=$!
    wait_until test -s "$work/address" -o ! -e "/proc/$example"
    address=$(cat "$work/address")
}

stop() {
    kill "$1"
    wait "$1"
    is 'its exit status' $? 143
}

# follow_room FILE LAST-EVENT-ID: what a browser would be sent, into a file.
follow_room() {
    curl -sN --max-time "$longest" "${address}rooms/lobby" -H "Last-Event-ID: $2" >"$1" &
    reader=$!
}

texts() {
    sed -n 's/^data: //p' "$1" | jq -r '"\(.from): \(.text)"'
}

said() {
    [ "$(texts "$1" | wc -l)" -ge "$2" ]
}

# block LANGUAGE: the program of the quick start in that language.
block() {
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside' "$examples/../guides/quick-start.md"
}

works 'the npm packages of Deno can be had' ../../lib/npm.sh ../../deno
DENO=$(cd ../../deno && node -p 'require("./deno.js")')
export DENO DENO_DIR=$work/deno DENO_NO_UPDATE_CHECK=1 NO_COLOR=1 PYTHON=/usr/bin/python3 PYTHONDONTWRITEBYTECODE=1

works 'the npm packages of the examples can be had' ../../lib/npm.sh "$examples"
for language in curl python typescript deno; do
    works "the shop in $language prints what the README shows" shop $language
done
test_case 'jobs prints results, and what failed for good'
is 'what it prints' "$(env --unset KINDEX_URL "$examples/run.sh" jobs 2>&1)" \
    $'date: 1970\nsum: 42\nwrong: failed 3 times: ls /no/such/file'

test_case 'each program of the quick start finds the user'
client=$(realpath ../../../api/clients/typescript)
mkdir -p "$work/start/node_modules"
ln -s "$client" "$work/start/node_modules/kindex"
block ts >"$work/start/start.ts"
"$client/node_modules/.bin/esbuild" --log-level=error "$work/start/start.ts" >"$work/start/start.mjs"
block python >"$work/start/start.py"
block js >"$work/start/start.js"
restart
is 'what TypeScript prints' "$(node "$work/start/start.mjs" 2>&1)" 'Ada Lovelace'
restart
is 'what Python prints' "$(PYTHONPATH=$client/../python $PYTHON "$work/start/start.py" 2>&1)" 'Ada Lovelace'
restart
is 'what Deno prints' "$(DENO_KV_ACCESS_TOKEN=any "$DENO" run --quiet --no-config --unstable-kv --allow-net --allow-env \
    "$work/start/start.js" 2>&1)" 'Ada Lovelace'

# The programs are in a copy whose index is not unique.
mkdir -p "$work/planted/deploy" "$work/planted/api/clients"
cp -r "$examples" "$work/planted/deploy/examples"
ln -s "$(realpath ../../../api/clients/python)" "$work/planted/api/clients/python"
sed -i 's/"unique": true/"unique": false/' "$work/planted/deploy/examples/shop/indexes.json"
refused 'planted: a shop whose index is not unique is found' \
    shop python "$work/planted/deploy/examples"

restart
test_case 'the shortener makes links, follows them, and limits the rate'
begin shortener
link=$(curl -s -d https://example.org/a "$address")
is 'where the link leads' "$(curl -s -o "$work/said" -w '%{http_code} %header{location}' "$link")" \
    '302 https://example.org/a'
is 'a code of no link' "$(curl -s "${address}none")" 'there is no such link'
is 'an address of another scheme' \
    "$(curl -s -o "$work/said" -w '%{http_code}' -d 'javascript:alert(1)' "$address")" 400
is 'how often it was followed' "$(curl -s "$link/hits")" 1
for _ in 2 3 4 5 6; do
    curl -s -o "$work/said" -w '%{http_code}\n' -d https://example.org/b "$address"
done >"$work/statuses"
is 'the next links of this minute' "$(tr '\n' ' ' <"$work/statuses")" '201 201 201 201 429 '
is 'the links that are stored' "$(curl -s "$KINDEX_URL/count?prefix=links" | jq .count)" 5
stop "$example"

restart
test_case 'the chat sends messages to all processes, and what was missed after a break'
begin chat
first=$address one=$example
begin chat
follow_room "$work/room" ''
curl -s -o "$work/said" --json '{"from":"ada","text":"hello"}' "${first}rooms/lobby"
curl -s -o "$work/said" --json '{"from":"ada","text":"<b>"}' "${first}rooms/other"
wait_until said "$work/room" 1
kill "$reader"
id=$(sed -n 's/^id: //p' "$work/room" | tail -1)
curl -s -o "$work/said" --json '{"from":"bo","text":"hi"}' "${first}rooms/lobby"
is 'an empty text' "$(curl -s -o "$work/said" -w '%{http_code}' --json '{"from":"bo","text":""}' "${first}rooms/lobby")" 400
follow_room "$work/later" "$id"
wait_until said "$work/later" 1
kill "$reader"
is 'what the room was told' "$(texts "$work/room")" 'ada: hello'
is 'what it was told after the break' "$(texts "$work/later")" 'bo: hi'
stop "$one"
stop "$example"
finish

#!/bin/bash
# The npm package with the program: packed as a release packs it, installed by npm from
# the files, and run. BUILD says where the program was built.
set -u
cd "$(dirname "$0")"
. ../lib.sh
clients=$(realpath ../../../api/clients)
server_package=$(realpath ../../../deploy/release/npm_server.sh)
architecture=$(node -p process.arch)

install_packages() {
    (cd "$work/app" && npm install --offline --no-audit --no-fund --loglevel=error "$@")
}

# The command in the background prints its address; it ends with the store.
serves() {
    local command status=1 address
    (cd "$work/app" && exec npx kindex serve --ephemeral) >"$work/line" 2>"$work/errors" &
    command=$!
    has_line() { [ -s "$work/line" ] || ! kill -0 $command; }
    wait_until has_line
    address=$(jq -r .url "$work/line")
    curl -sf -X PUT "$address/kv/a" --json 1 >"$work/answer" && curl -sf "$address/kv/a" >"$work/answer" &&
        [ "$(cat "$work/answer")" = 1 ] && status=0
    kill -TERM "$(jq .pid "$work/line")"
    wait $command
    return $status
}

lists_version() {
    (cd "$work/app" && npx kindex version) | grep -qx "kindex $(jq -r .version "$clients/server/package.json")"
}

# The command's exit status is that of the program.
status_of() {
    (cd "$work/app" && npx kindex "${@:2}")
    [ $? -eq "$1" ]
}

works 'the npm packages of the client can be had' ../../lib/npm.sh "$clients/typescript"
works 'the client can be packed' pack "$clients/typescript"
client=$(tail -1 "$work/said")
works 'the program can be packed' "$server_package" "$work" "$architecture=$KINDEX"
packed=$(tail -1 "$work/said")
mkdir "$work/app"
echo '{"private":true}' >"$work/app/package.json"
works 'npm installs the package alone' install_packages "$work/$packed"
works 'npx kindex version is the version of the package' lists_version
works 'npx kindex ends with the exit status of the program' status_of 2 no-such-command
works 'npx kindex serve --ephemeral serves' serves
works 'npm installs the client beside it' install_packages "$work/$client" "$work/$packed"
cp testing.test.mjs types.mts "$work/app"
works 'kindexForTests makes a store for a test' node --test "$work/app/testing.test.mjs"
works 'its types are strict' "$clients/typescript/node_modules/.bin/tsc" --strict --noEmit --target es2022 \
    --module node16 --moduleResolution node16 --lib es2022,dom,dom.iterable,dom.asynciterable "$work/app/types.mts"
mv "$work/app/node_modules/kindex-server/programs/linux-$architecture" \
    "$work/app/node_modules/kindex-server/programs/linux-none"
refused 'planted: without a program for this machine nothing serves' serves
finish

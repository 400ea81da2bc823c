#!/bin/bash
# The adapters, each with the package that it adapts to and the suite that comes with
# it, against a server. BUILD says where the program was built; CLIENT_NODES names
# other Nodes to run them with.
set -u
cd "$(dirname "$0")"
. ../lib.sh
clients=$(realpath ../../../api/clients)

# Each package as it would be published, in a program that has installed it.
installed() {
    local package=$1 packed
    packed=$(pack "$clients/$2") || return
    mkdir "$work/app/node_modules/$package"
    tar -xzf "$work/$packed" -C "$work/app/node_modules/$package" --strip-components 1
}

# The suite of connect-redis, without its programs that start Redis. Its thousand
# sessions live a minute in place of a second: each is on disk before the next.
suite_of_sessions() {
    printf '%s\n' 'import { Cookie } from "express-session";' \
        'import { expect } from "vitest";' 'export { lifecycleTest };'
    sed -n '/^async function lifecycleTest/,$p' node_modules/connect-redis/index_test.ts |
        sed 's/Date.now() + 1000)/Date.now() + 60_000)/'
}

types() {
    "$clients/typescript/node_modules/.bin/tsc" --strict --noEmit --target es2022 \
        --lib es2022,dom,dom.iterable,dom.asynciterable --skipLibCheck \
        --module "$1" --moduleResolution "$1" --esModuleInterop "$work/app/$2"
}

# suite NAME NODE OPTIONS...
suite() {
    (cd "$work/app" && "$2" node_modules/vitest/vitest.mjs run "${@:3}" "$1.test.mjs")
}

planted() {
    PLANTED=yes suite "$1" node --bail 1
}

works 'the npm packages can be had' ../../lib/npm.sh .
for package in typescript adapters; do
    works "the npm packages of $package can be had" ../../lib/npm.sh "$clients/$package"
    rm -rf "$clients/$package/dist" # as in a fresh clone
done
[ -z "$broken" ] || { finish && exit 1; }

mkdir -p "$work/app/node_modules/@types"
ln -s "$PWD"/node_modules/* "$PWD/node_modules/.bin" "$work/app/node_modules" 2>/dev/null
ln -s "$clients"/adapters/node_modules/@types/* "$work/app/node_modules/@types"
works 'the adapters can be packed' installed kindex-adapters adapters
works 'the client can be packed' installed kindex typescript
cp ./*.mjs "$work/app"
suite_of_sessions >"$work/app/connect-redis.ts"
cp types.ts "$work/app/types.mts"
sed '/SecondaryStorage/d' types.ts >"$work/app/types.cts" # Better Auth is for import only
works 'types of the adapters for import' types node16 types.mts
works 'types of the adapters for require' types node16 types.cts

for name in better-auth express-session keyv unstorage; do
    for node in node ${CLIENT_NODES:-}; do
        restart
        # What the suites of others say about times can need another try.
        works "$name in Node $("$node" --version)" suite $name "$node" --retry 3
    done
    works "$name can be required" node -e "require('$work/app/node_modules/kindex-adapters/dist/cjs/$name.js')"
    restart
    refused "planted: a flaw of $name is found" planted $name
done
finish

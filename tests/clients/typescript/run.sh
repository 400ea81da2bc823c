#!/bin/bash
# The TypeScript client: builds it, checks its types and its size, and runs its
# tests against a server in each runtime that is there. BUILD says where the program
# was built; CLIENT_NODES names other Nodes to run it with.
set -u
cd "$(dirname "$0")"
. ../lib.sh
deno_tests=../../deno
client=$(realpath ../../../api/clients/typescript)

types() {
    "$client/node_modules/.bin/tsc" --strict --noEmit --target es2022 --skipLibCheck false \
        --lib es2022,dom,dom.iterable,dom.asynciterable \
        --module "$1" --moduleResolution "$2" "$scratch/app/$3"
}

expect 'npm packages' ../../lib/npm.sh "$client"
expect 'build' node "$client/build.js"
[ "$failed" -eq 0 ] || finish

# The package as it would be published, and a program that has installed it.
packed=$(cd "$client" && npm pack --silent --pack-destination "$scratch")
mkdir -p "$scratch/app/node_modules/kindex"
tar -xzf "$scratch/$packed" -C "$scratch/app/node_modules/kindex" --strip-components 1
size=$(stat -c %s "$scratch/$packed")
if [ "$size" -le 12288 ]; then ok "packed: $size bytes"; else fail "packed: $size bytes, more than 12288"; fi
cp types.ts "$scratch/app/types.mts"
cp types.ts "$scratch/app/types.cts"
expect 'types for import' types node16 node16 types.mts
expect 'types for require' types node16 node16 types.cts
expect 'types for a bundler' types esnext bundler types.mts
sed 's|// @ts-expect-error.*||' types.ts >"$scratch/app/wrong.mts"
refuse 'planted: a program with errors does not compile' types node16 node16 wrong.mts

serve
module=$scratch/app/node_modules/kindex/dist
for node in node ${CLIENT_NODES:-}; do
    for form in mjs cjs; do
        name="$("$node" --version) $form"
        expect "Node $name" env KINDEX_CLIENT="$module/index.$form" \
            "$node" --test client.test.mjs
        restart
    done
done
# Deno has node:test as well.
run_deno() {
    ../../lib/npm.sh $deno_tests || return
    local deno
    deno=$(cd $deno_tests && node -p 'require("./deno.js")') || return
    DENO_DIR=$scratch/deno DENO_NO_UPDATE_CHECK=1 NO_COLOR=1 \
        KINDEX_CLIENT="file://$module/index.mjs" \
        "$deno" test --quiet --no-config --no-lock --allow-all client.test.mjs
}
expect 'Deno' run_deno
restart
expect 'a page in Chromium' node browser.js "$program" "$module/index.mjs" "$scratch/browser"
# A client that sends no idempotency keys counts twice, and the test must find it.
sed 's/"Idempotency-Key"/"Other-Header"/' "$module/index.mjs" >"$scratch/planted.mjs"
refuse 'planted: without idempotency keys a test fails' env \
    KINDEX_CLIENT="$scratch/planted.mjs" node --test client.test.mjs
finish

#!/bin/bash
# The table in api/clients/OPERATIONS.md against openapi.yaml, and against the requests
# that the clients send in their tests. BUILD says where the program was built.
set -u
cd "$(dirname "$0")"
. ../lib.sh
clients=$(realpath ../../../api/clients)
table=$clients/OPERATIONS.md
openapi=$(dirname "$KINDEX")/openapi.json

# recorded NAME COMMAND...: runs the tests of a client, with its requests in NAME.requests
# of the working directory.
recorded() {
    local name=$1 recorder
    shift
    restart
    coproc recorder { node record.js "$KINDEX_URL" "$work/$name.requests"; }
    read -r KINDEX_URL <&"${recorder[0]}"
    works "the tests of the client for $name pass" "$@"
    exec {recorder[1]}>&-
    wait "$recorder_PID"
}

typescript_methods() {
    KINDEX_CLIENT=$module node --input-type=commonjs -e '
        const { Kindex } = require(process.env.KINDEX_CLIENT);
        console.log(Object.getOwnPropertyNames(Kindex.prototype)
            .filter((name) => name !== "constructor").join("\n"))'
}

python_methods() {
    /usr/bin/python3 -c 'import kindex
for name in vars(kindex.Kindex):
    if not name.startswith("_"):
        print(name)'
}

compared() {
    node level.js "$openapi" "$1" "TypeScript=$2,$work/TypeScript.methods" \
        "Python=$work/Python.requests,$work/Python.methods"
}

works 'the npm packages of the TypeScript client can be had' ../../lib/npm.sh "$clients/typescript"
works 'the npm packages of Deno can be had' ../../lib/npm.sh ../../deno
works 'the TypeScript client can be packed' pack "$clients/typescript"
[ -z "$broken" ] || { finish && exit 1; }
tar -xzf "$work/$(tail -1 "$work/said")" -C "$work"
mkdir "$work/package/node_modules"
ln -s "$(realpath ../../deno/node_modules/@deno)" "$work/package/node_modules/@deno"
module=$work/package/dist/cjs/index.js
export KINDEX_CLIENT=$module PYTHONPATH=$clients/python PYTHONDONTWRITEBYTECODE=1

recorded TypeScript node --test ../typescript/{client,queue,transaction}.test.mjs
recorded Python /usr/bin/python3 ../python/test_client.py
typescript_methods >"$work/TypeScript.methods"
python_methods >"$work/Python.methods"
works 'each operation is in both clients, or the table says why not' \
    compared "$table" "$work/TypeScript.requests"
cat "$work/said"

grep -v '"/aggregate?' "$work/TypeScript.requests" >"$work/fewer"
refused 'planted: a client without an operation is found' compared "$table" "$work/fewer"
sed 's/estimate=true//' "$work/TypeScript.requests" >"$work/fewer"
refused 'planted: a client without a parameter is found' compared "$table" "$work/fewer"
sed '/ countEntries /d' "$table" >"$work/table.md"
refused 'planted: a table without an operation is found' \
    compared "$work/table.md" "$work/TypeScript.requests"
finish

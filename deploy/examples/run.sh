#!/bin/bash
# Runs an example. Usage: deploy/examples/run.sh EXAMPLE [ARGUMENT...]
#
#   shop-curl shop-python shop-typescript shop-deno    print what the shop did, and end
#   shortener chat                                     serve until they are stopped
#   jobs                                               runs three commands as jobs, and ends
#
# KINDEX_URL is the address of a Kindex whose store the example may fill; without one the
# script serves an empty store for as long as the example runs. KINDEX_PROGRAM, DENO and
# PYTHON name programs other than build/kindex, deno and python3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(realpath "$here/../..")
client=$top/api/clients/typescript
example=${1:-}
shift || true

# Sets KINDEX_URL to the address of an empty store, which is gone when the script ends.
serve() {
    local program=${KINDEX_PROGRAM:-$top/build/kindex} line
    [ -x "$program" ] || make -s -C "$top"
    coproc server { exec "$program" serve --ephemeral 2>/dev/null; }
    read -r line <&"${server[0]}"
    KINDEX_URL=$(jq -r .url <<<"$line")
    export KINDEX_URL
}

build_client() {
    "$top/tests/lib/npm.sh" "$client"
    local made=$client/dist/types/index.d.ts
    [ -e "$made" ] && [ -z "$(find "$client/src" -newer "$made")" ] || node "$client/build.js"
}

# Compiles the examples in TypeScript to a directory where they find the client.
compile() {
    local built=$top/build/examples
    build_client
    "$top/tests/lib/npm.sh" "$here"
    mkdir -p "$built/node_modules"
    ln -sfn "$client" "$built/node_modules/kindex"
    echo '{"type":"module"}' >"$built/package.json"
    "$here/node_modules/.bin/tsc" --project "$here"
    program=$built/$1
}

# The example must end with the script, and the script's server with the example.
end() {
    [ -z "${running:-}" ] || kill "$running" 2>/dev/null || :
    [ -z "${server_PID:-}" ] || kill "$server_PID" 2>/dev/null || :
    wait
}

case $example in
shop-curl) command=("$here/shop/shop.sh") ;;
shop-python) command=("${PYTHON:-python3}" "$here/shop/shop.py") ;;
shop-typescript) compile shop/shop.js && command=(node "$program") ;;
shop-deno)
    export DENO_KV_ACCESS_TOKEN=${DENO_KV_ACCESS_TOKEN:-any}
    command=("${DENO:-deno}" run --quiet --unstable-kv -A "$here/shop/shop.deno.ts")
    ;;
shortener) compile shortener/shortener.js && command=(node "$program") ;;
chat) compile chat/chat.js && command=(node "$program") ;;
jobs) command=("${PYTHON:-python3}" "$here/jobs/jobs.py") ;;
*) sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0" && exit 2 ;;
esac
export PYTHONPATH=$top/api/clients/python${PYTHONPATH:+:$PYTHONPATH}
trap end EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
[ -n "${KINDEX_URL:-}" ] || serve
COPY=$(mktemp -u) && export COPY # of the shop's orders
"${command[@]}" "$@" &
running=$!
status=0
wait "$running" || status=$?
running=
rm -f "$COPY"
exit "$status"

# What the tests of a client share: a count, a scratch directory and a server, whose
# address is in KINDEX_URL. Sourced in a directory below this one.
program=$(cd ../../.. && realpath "${BUILD:-build}")/kindex
scratch=$(mktemp -d)
server=
passed=0
failed=0

stop() {
    [ -z "$server" ] || kill "$server"
    wait
    rm -rf "$scratch"
}
trap stop EXIT

ok() {
    passed=$((passed + 1))
    echo "ok     $1"
}

fail() {
    failed=$((failed + 1))
    echo "FAILED $1"
    [ $# -lt 2 ] || sed 's/^/    /' "$2"
}

# expect NAME COMMAND: the command must succeed.
expect() {
    local name=$1
    shift
    if "$@" >"$scratch/out" 2>&1; then ok "$name"; else fail "$name" "$scratch/out"; fi
}

# refuse NAME COMMAND: the command must fail.
refuse() {
    local name=$1
    shift
    if "$@" >"$scratch/out" 2>&1; then fail "$name"; else ok "$name"; fi
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

serve() {
    local port=
    "$program" serve --data "$scratch/data" --listen 127.0.0.1:0 \
        --port-file "$scratch/port" >"$scratch/log" 2>&1 &
    server=$!
    while [ -z "$port" ] && kill -0 "$server" 2>/dev/null; do
        port=$(cat "$scratch/port" 2>/dev/null)
        sleep 0.05
    done
    export KINDEX_URL=http://127.0.0.1:$port
}

# With an empty store.
restart() {
    kill "$server"
    wait "$server"
    rm -rf "$scratch/data" "$scratch/port"
    serve
}

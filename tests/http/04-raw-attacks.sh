#!/bin/bash
# What no HTTP client would send, over a raw socket: first what must be
# refused, then what must be understood.
. "$(dirname "$0")/../lib/http.sh"
start_server --host-names kindex.test,a,b,h,a.b

for script in raw_attacks.js raw_random.js; do
    node "$(dirname "$0")/$script" 127.0.0.1 "${url##*:}" >"$work/raw"
    grep -v '^ok' "$work/raw"
    read -r ok _ bad _ < <(tail -1 "$work/raw")
    passed=$((passed + ok))
    failed=$((failed + ${bad:-1}))
done
finish

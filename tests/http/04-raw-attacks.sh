#!/bin/bash
# What no HTTP client would send, over a raw socket.
. "$(dirname "$0")/../lib/http.sh"
start_server

node "$(dirname "$0")/raw_attacks.js" 127.0.0.1 "${url##*:}" >"$work/attacks"
grep -v '^ok' "$work/attacks"
read -r ok _ bad _ < <(tail -1 "$work/attacks")
passed=$((passed + ok))
failed=$((failed + bad))
finish

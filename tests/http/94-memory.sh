#!/bin/bash
# The bodies of all requests together have a limit, so that many large ones
# cannot take all memory.
. "$(dirname "$0")/../lib/http.sh"
start_server --bodies-max 1MiB --value-max 4MiB

test_case 'bodies beyond the limit are refused for now, and nothing is stored'
{ printf '"'; head -c 1500000 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
request PUT /kv/large "@$work/large"
expect 503 overloaded
header Retry-After 1
request GET /kv/large
expect 404

test_case 'over KV Connect in plain text, with the status that clients repeat'
request POST /v2/atomic_write "@$work/large"
is status "$status" 503
header Content-Type 'text/plain*'
header Retry-After 1

test_case 'what was refused takes no memory: bodies within the limit go on'
head -c 900000 "$work/large" >"$work/fits"
printf '"' >>"$work/fits"
for i in 1 2 3; do
    request PUT "/kv/fits/$i" "@$work/fits"
    expect 201
done
finish

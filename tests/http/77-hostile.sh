#!/bin/bash
# Clients that hold connections and give or take next to nothing: the others are
# served, and the memory stays what it was.
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
late=$((times > 4 ? 30 : 2))s
start_server --header-timeout "$late" --body-timeout "$late" --idle-timeout 60s

# Enough that no reader's stream fits into the buffers of its socket.
test_case 'a list of 16 MiB is stored for the readers'
for i in 1 2 3 4 5 6 7 8; do
    for ((n = 0; n < 250; n++)); do
        printf '{"key":["rows",%d],"value":"%08000d"}\n' $((i * 1000 + n)) $n
    done
done >"$work/rows"
"$KINDEX" import "$work/rows" --url "$url" >"$work/imported" 2>&1
gives .count 2000 GET /count?prefix=rows

test_case '500 slow requests and 100 slow readers delay no other client'
timeout "$longest" node "$here/hostile.js" "${url##*:}" "$server" >"$work/hostile" 2>&1
is 'each slow request is told' "$(sed -n 1p "$work/hostile")" 'slow: {"408":500}'
is 'the slow readers may wait' "$(sed -n 2p "$work/hostile")" 'readers: 100'
is 'nor does the kernel keep much for them' "$(sed -n 3p "$work/hostile")" \
    'much of them in the kernel: 0'
is 'the others are served' "$(sed -n 4p "$work/hostile")" 'good: 200 201'
# A program under sanitizers needs more memory, of which nothing is said.
[ "$times" -gt 1 ] ||
    is 'by 64 MiB or more it has grown' "$(sed -n 5p "$work/hostile")" 'grown: 0'

test_case 'hostile clients leave no connection'
until_field .ok true GET /livez
connections() {
    request GET /metrics
    [ "$(sed -n 's/^kindex_http_connections //p' "$answer")" = 1 ]
}
wait_until connections
is 'connections' "$(sed -n 's/^kindex_http_connections //p' "$answer")" 1

finish

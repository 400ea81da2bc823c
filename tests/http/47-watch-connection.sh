#!/bin/bash
# Over HTTP/1.1 a watch has its connection to itself, from its reply on.
. "$(dirname "$0")/../lib/http.sh"
json=(--header 'Content-Type: application/json')
text=(--header 'Content-Type: text/plain')
start_server

watches() {
    [ "$(curl --silent "$url/metrics" |
        sed -n 's/^kindex_watch_streams //p')" = "$1" ]
}

# A watch of the key w in the background, by code that finds the connected
# socket, the request without its last line, and take, to which all that comes
# is given and which shows it in $work/seen. raw_watch CODE
raw_watch() {
    : >"$work/seen"
    node -e '
        const [port, seen] = process.argv.slice(1);
        const fs = require("node:fs");
        const socket = require("node:net").connect(
            { host: "127.0.0.1", port, allowHalfOpen: true });
        const request = "GET /watch?key=w HTTP/1.1\r\nHost: 127.0.0.1\r\n";
        const take = (part) => fs.appendFileSync(seen, part);
        socket.on("error", () => {}).on("close", () => process.exit(0));
        setInterval(() => {}, 1000000); // a paused socket does not keep the process alive
        '"$1" "${url##*:}" "$work/seen" &
    watcher=$!
}

end_watch() {
    kill "$watcher"
    wait "$watcher" 2>"$work/null"
}

test_case 'the reply of a watch is the last one of its connection, and says so'
request PUT /kv/w 1 "${json[@]}"
: >"$work/events"
curl --silent --no-buffer --dump-header "$work/head" "$url/watch?key=w" \
    >"$work/events" &
watcher=$!
wait_until grep -q '^id: ' "$work/events"
varies='Date'
[ "$ENGINE" = bdb ] || varies='Date|Kindex-Node'
is 'the head' "$(tr -d '\r' <"$work/head" | grep -Ev "^($varies): " | sort | xargs)" \
    "$(printf '%s\n' 'HTTP/1.1 200 OK' 'Connection: close' \
        'Content-Type: text/event-stream' 'Cache-Control: no-store' \
        'Cross-Origin-Resource-Policy: same-origin' \
        'Transfer-Encoding: chunked' 'X-Accel-Buffering: no' | sort | xargs)"
is 'dates' "$(grep -c '^Date: ..., .* GMT' "$work/head")" 1
end_watch

test_case 'a watch over HTTP/1.0 has no chunks'
: >"$work/old-events"
curl --silent --no-buffer --http1.0 --dump-header "$work/old-head" \
    "$url/watch?key=w" >"$work/old-events" &
watcher=$!
wait_until grep -q '^id: ' "$work/old-events"
is 'codings' "$(grep -ci transfer-encoding "$work/old-head")" 0
is 'the first line' "$(head -1 "$work/old-events")" 'retry: 2000'
request PUT /kv/w 2 "${json[@]}"
wait_until eval '[ $(grep -c "^id: " "$work/old-events") = 2 ]'
is 'the second event' "$(grep '^data: ' "$work/old-events" | sed -n '2s/^data: //p' |
    jq '.entries[0].value')" 2
end_watch

# What comes on one connection, to its end.  all_of METHOD TARGET TYPE
all_of() {
    exec 5<>"/dev/tcp/127.0.0.1/${url##*:}"
    printf '%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\n\r\n' "$@" >&5
    timeout "$patience" cat <&5
    exec 5<&-
}

test_case 'HEAD of a watch gets the head and the end of the connection'
for stream in '/watch?key=w text/event-stream' '/list?prefix=w application/x-ndjson'; do
    # Two words.
    # shellcheck disable=SC2086
    all_of HEAD $stream | tr -d '\r' >"$work/head"
    is 'the status' "$(head -1 "$work/head")" 'HTTP/1.1 200 OK'
    is 'the last line' "$(tail -1 "$work/head")" ''
    is 'empty lines' "$(grep -c '^$' "$work/head")" 1
done

test_case 'a request that arrives with that of a watch is not answered'
raw_watch 'socket.on("data", take);
    socket.write(request + "\r\nGET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");'
wait_until grep -q '^id: ' "$work/seen"
request PUT /kv/w 3 "${json[@]}"
wait_until eval '[ $(grep -c "^id: " "$work/seen") = 2 ]'
is answers "$(grep -c '^HTTP/1.1 ' "$work/seen")" 1
end_watch

test_case 'a watch whose client has closed its half of the connection continues'
raw_watch 'socket.on("data", take); socket.end(request + "\r\n");'
wait_until grep -q '^id: ' "$work/seen"
request PUT /kv/w 4 "${json[@]}"
wait_until eval '[ $(grep -c "^id: " "$work/seen") = 2 ]'
is 'the second event' "$(grep '^data: ' "$work/seen" | sed -n '2s/^data: //p' |
    jq '.entries[0].value')" 4
end_watch

test_case 'a watch that disconnects affects no other client'
raw_watch 'socket.on("data", (part) => { take(part); socket.resetAndDestroy(); });
    socket.write(request + "\r\n");'
wait_until grep -q '^id: ' "$work/seen"
wait "$watcher"
answers 200 PUT /kv/w 5 "${json[@]}"
wait_until watches 0

test_case 'a watch that is not read is closed after --idle-timeout'
stop_server
start_server --idle-timeout 1s
head -c 500000 /dev/zero | tr '\0' x >"$work/long"
raw_watch 'socket.pause(); socket.write(request + "\r\n");'
wait_until watches 1
until watches 0; do
    KX_RECORD='' request PUT /kv/w "@$work/long" "${text[@]}"
done
is 'the client, which could have had more' "$(kill -0 "$watcher"; echo $?)" 0
end_watch

test_case 'a server that stops does not wait for a watch that is not read'
stop_server
start_server
raw_watch 'socket.pause(); socket.write(request + "\r\n");'
wait_until watches 1
for _ in {1..20}; do
    KX_RECORD='' request PUT /kv/w "@$work/long" "${text[@]}"
done
stop_server
is 'the exit status' $? 0
end_watch
server=''
finish

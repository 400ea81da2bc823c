#!/bin/bash
# Watches of KV Connect that are not like the others: clients that do not read,
# keys of indexes, times of silence.
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')
start_server --idle-timeout 3s

# The Watch message for one key of strings. watch_of PART...
watch_of() {
    local part key=''
    for part in "$@"; do
        key+=$(printf '02%s00' "$(printf '%s' "$part" | od -An -v -tx1 | tr -d ' \n')")
    done
    local size=$((${#key} / 2))
    # shellcheck disable=SC2059 # the format is the message
    printf "$(printf '0a%02x0a%02x%s' $((size + 2)) $size "$key" |
        sed 's/../\\x&/g')" >"$work/message"
}

watch_of w
for protocol in http1.1 http2-prior-knowledge; do
    test_case "over $protocol: a KV Connect watch outlives the idle timeout"
    { curl --silent --no-buffer --max-time "$longest" --data-binary "@$work/message" \
        --$protocol "$url/v2/watch" | head -c 18 >"$answer"; } 2>"$work/null"
    is 'a state, and twice that it lives' \
        "$(od -An -v -tx1 "$answer" | tr -d ' \n')" \
        06000000080112020801"$(printf '00%.0s' {1..8})"
done

test_case 'a KV Connect watch that is not read delays no other client, and keeps nothing for its client'
request PUT /kv/slow 1 "${json[@]}"
stop_server
# Under sanitizers freed memory would be kept, and counted.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 start_server --idle-timeout 1h
node "$here/watch_slow.js" 127.0.0.1 "${url##*:}" "$server" 60 150 >"$work/slow"
read -r grown stored last frames late <"$work/slow"
is "less than 60 MiB were needed ($(<"$work/slow"))" "$((grown < 60 * ${KX_TIMES:-1}))" 1
is 'all changes were stored' "$stored" 150
is 'the last frame of a client that reads' "$last" 150
is 'few frames of a client that reads late, and the last' "$((frames < 20)) $late" '1 150'

test_case 'a value too large for a frame is refused over KV Connect with the reason, and its watch ends'
stop_server
start_server --value-max 17MiB
head -c $((16 << 20)) /dev/zero >"$work/large"
octets=(--header 'Content-Type: application/octet-stream')
request PUT /kv/large 1 "${json[@]}"
watch_of large
curl --silent --no-buffer --max-time "$longest" --data-binary "@$work/message" \
    "$url/v2/watch" >"$work/frames" &
watch=$!
until [ -s "$work/frames" ]; do sleep 0.05; done
request PUT /kv/large "@$work/large" "${octets[@]}"
wait $watch
is 'the end of the watch' $? 0
request POST /v2/watch "@$work/message" --max-time "$longest"
is status "$status" 413
header Content-Type 'text/plain*'
is 'the limit is named' "$(grep -c 16777216 "$answer")" 1
head -c $(((16 << 20) - 100)) /dev/zero >"$work/large"
request PUT /kv/large "@$work/large" "${octets[@]}"
{ curl --silent --no-buffer --max-time "$longest" --data-binary "@$work/message" \
    "$url/v2/watch" | head -c $((16 << 20)) >"$answer"; } 2>"$work/null"
is 'size' "$(stat -c %s "$answer")" $((16 << 20))

test_case 'KV Connect refuses a watch of a key of an index that is not ready'
request PUT /kv/u/0 '{"mail":"b@x.org"}' "${json[@]}"
request POST '/indexes?paused=true' \
    '{"name":"by_mail","prefix":["u"],"fields":["/mail"],"unique":true}' "${json[@]}"
watch_of by_mail a@x.org
request POST /v2/watch "@$work/message" --max-time "$longest"
is status "$status" 409
header Content-Type 'text/plain*'
is 'the index is named' "$(grep -c by_mail "$answer")" 1
request POST /indexes/by_mail/resume
until_field .state ready GET /indexes/by_mail
request PUT /kv/u/1 '{"mail":"a@x.org"}' "${json[@]}"
{ curl --silent --no-buffer --max-time "$longest" --data-binary "@$work/message" \
    "$url/v2/watch" | head -c 30 >"$answer"; } 2>"$work/null"
is 'its entry is shown' "$(grep -c by_mail "$answer")" 1
finish

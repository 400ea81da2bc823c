#!/bin/bash
# A disk that has less room than --disk-floor asks for: here the floor is above
# what any disk has. What happens on a disk that really fills is a fault test.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
json=(--header 'Content-Type: application/json')
ballast=$work/data/ballast

bytes_of_ballast() {
    echo $(($(stat -c %b "$ballast") * 512))
}

start_server --disk-floor 2MiB

test_case 'a ballast as large as the floor is reserved when there is room'
answers 201 PUT /kv/disk/a 1 "${json[@]}"
is 'the ballast' "$(bytes_of_ballast)" $((2 << 20))
is 'its mode' "$(stat -c %a "$ballast")" 600
stop_server
is 'it stays' "$(bytes_of_ballast)" $((2 << 20))

start_server --disk-floor 3000GiB

test_case 'below the floor every write is refused with 507, and nothing stored'
until_status 507 PUT /kv/disk/b 1 "${json[@]}"
expect 507 disk-full
header Retry-After 30
answers 507 disk-full POST /kv/disk 1 "${json[@]}"
answers 507 disk-full PATCH /kv/disk/a '{"a":1}' --header 'Content-Type: application/merge-patch+json'
answers 507 disk-full DELETE /kv/disk/a
answers 507 disk-full DELETE '/list?prefix=disk'
answers 507 disk-full POST /atomic '{"mutations":[{"type":"set","key":["disk","b"],"value":1}]}' "${json[@]}"
answers 507 disk-full POST /indexes '{"name":"by_n","prefix":["disk"],"fields":["/n"]}' "${json[@]}"

test_case 'a full disk is answered over KV Connect with a status that clients do not repeat'
request POST /v2/atomic_write '' --header 'Content-Type: application/x-protobuf' \
    --header 'x-denokv-version: 2' --header 'x-denokv-database-id: '"$(curl --silent --json '{"supportedVersions":[2]}' "$url/" | jq -r .databaseId)"
is status "$status" 413
is 'what is said' "$(cat "$answer")" 'the disk is full'

test_case 'reads are answered on a full disk'
answers 200 GET /kv/disk/a
body_is 1
gives '[.entries[].key]' '[["disk","a"]]' GET '/list?prefix=disk&keys=true'
gives .count 1 GET /count?prefix=disk
answers 200 GET /indexes
answers 200 GET /livez

test_case 'the refusal, /readyz and doctor say the same of a full disk: reads, but no writes'
gives '.hint | contains("--disk-floor")' true PUT /kv/disk/b 1 "${json[@]}"
answers 200 GET '/readyz?verbose=true'
field '[.checks[] | select(.name == "disk") | .state, (.detail | contains("--disk-floor"))]' '["warning",true]'
kindex doctor --url "$url"
ends 0
is 'what is worth a look' "$(awk '$1 == "warn" { print $2 }' "$work/out" | tr '\n' ' ')" 'ready disk backup archive '
is 'what it says of writes' "$(grep -c 'reads and writes' "$work/out")" 0

test_case 'the ballast is removed when little room is left'
is 'the ballast' "$(ls "$ballast" 2>&1 | grep -c 'No such')" 1
is 'the log' "$(($(grep -c 'event=ballast-given' "$log") > 0))" 1
is 'the log' "$(($(grep -c 'event=disk-full' "$log") > 0))" 1

test_case 'deletions are accepted while half of the floor is free'
stop_server
start_server --disk-floor 0
for key in a b c; do
    request PUT "/kv/disk/$key" '{"n":1}' "${json[@]}"
done
request POST /indexes '{"name":"by_n","prefix":["disk"],"fields":["/n"]}' "${json[@]}" --header 'Prefer: wait=60'
field .state ready
stop_server
start_server --disk-floor $(($(stat -f -c '%a * %S' "$work") * 3 / 2))
until_status 507 PUT /kv/disk/d 1 "${json[@]}"
answers 204 DELETE /kv/disk/a
request POST /atomic '{"mutations":[{"type":"delete","key":["disk","b"]},{"type":"set","key":["disk","b"],"value":1}]}' "${json[@]}"
expect 507 disk-full
answers 200 POST /atomic '{"mutations":[{"type":"delete","key":["disk","b"]}]}' "${json[@]}"
answers 200 DELETE '/list?prefix=disk'
field .deleted 1
answers 204 DELETE /indexes/by_n
until_status 404 GET /indexes/by_n
gives .count 0 GET /count?prefix=by_n
answers 507 disk-full POST /indexes '{"name":"by_n","prefix":["disk"],"fields":["/n"]}' "${json[@]}"

test_case 'a floor of 0 requires no free space and reserves no ballast'
stop_server
start_server --disk-floor 0
answers 201 PUT /kv/disk/b 1 "${json[@]}"
is 'the ballast' "$(ls "$ballast" 2>&1 | grep -c 'No such')" 1

test_case 'writes are accepted, and the ballast returns, when there is room again'
stop_server
start_server --disk-floor 2MiB
answers 201 PUT /kv/disk/c 1 "${json[@]}"
is 'the ballast' "$(bytes_of_ballast)" $((2 << 20))

stop_server

test_case 'a link in the place of the ballast is replaced, and its target stays'
rm "$ballast"
echo untouched >"$work/elsewhere"
ln -s "$work/elsewhere" "$ballast"
start_server --disk-floor 2MiB
is 'the ballast' "$(stat -c '%F' "$ballast")" 'regular file'
is 'its size' "$(bytes_of_ballast)" $((2 << 20))
is 'the other file' "$(stat -c %s "$work/elsewhere") $(cat "$work/elsewhere")" '10 untouched'
stop_server
rm "$ballast"
ln "$work/elsewhere" "$ballast"
start_server --disk-floor 2MiB
is 'the ballast' "$(bytes_of_ballast)" $((2 << 20))
is 'the other file' "$(stat -c '%s %h' "$work/elsewhere")" '10 1'
stop_server

test_case 'a warning names a data directory that others may write in'
for mode in 777 770 755 700; do
    chmod $mode "$work/data"
    : >"$log"
    start_server
    is "warnings for $mode" "$(grep -c "event=data-directory mode=$mode .*chmod 700" "$log")" $((mode > 755))
    stop_server
done

test_case 'a warning names a floor below the log that a start may have to write again'
: >"$log"
for floor in 2MiB 0; do
    start_server --disk-floor $floor
    is 'warnings' "$(grep -c 'event=disk-floor.*--checkpoint-log' "$log")" 1
    stop_server
    : >"$log"
done
start_server --disk-floor 2MiB --checkpoint-log 2MiB
is 'warnings' "$(grep -c 'event=disk-floor' "$log")" 0
stop_server

test_case 'a limit of file sizes fails the write, and does not end the process'
: >"$log"
# Berkeley DB does not free its memory when it cannot recover.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
    timeout "$longest" bash -c 'ulimit -f 12000; exec "$0" serve --data "$1" --listen 127.0.0.1:0' "$KINDEX" "$work/data" 2>"$log"
is 'its exit status' $? 1
is 'what limits it' "$(grep -c 'event=file-size-limited bytes=12288000 .*LimitFSIZE' "$log")" 1
is 'the last line' "$(tail -1 "$log" | sed 's/.*: //')" 'File too large'
start_server
answers 200 GET /kv/disk/c
finish

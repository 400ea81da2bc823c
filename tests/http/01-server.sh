#!/bin/bash
# How the server starts and stops, and what it refuses to start with.
. tests/lib/http.sh

# Runs the program and keeps its exit status, output and complaint.
program() {
    exchange="kindex $*"
    "$KINDEX" "$@" >"$answer" 2>"$work/complaint"
    code=$?
}

# The program has refused with this exit code and one line that matches.
refused() {
    is 'its exit status' $code "$1"
    is 'the number of lines it says' "$(wc -l <"$work/complaint")" 1
    local line
    line=$(cat "$work/complaint")
    if [[ $line == $2 ]]; then line=$2; fi
    is 'what it says' "$line" "$2"
}

test_case 'the program says its version'
program --version
is 'its exit status' $code 0
is 'what it says' "$(cat "$answer")" 'kindex 0.2.0'

for version in version -V; do
    program $version
    is 'its exit status' $code 0
    is 'what it says' "$(cat "$answer")" 'kindex 0.2.0'
done

test_case 'help names the commands, and each option with its default'
program --help
is 'its exit status' $code 0
is 'serve is there' "$(grep -c 'kindex serve' "$answer")" 1
program serve --help
is 'its exit status' $code 0
is '--cache is there' "$(grep -c -- '--cache SIZE.*(256MiB)' "$answer")" 1
is '--host-names is no path' "$(grep -cE -- '--(host-names|cors-origin) LIST' "$answer")" 2

test_case 'a missing or unknown command is refused'
program
refused 2 'kindex: a command is missing*'
program swim
refused 2 'kindex: unknown command swim*'
program --token x ls
refused 2 'kindex: --token comes after the command*'
program put users/ada 1
refused 2 'kindex: unknown command put (did you mean set?)*'

test_case 'an unknown option, a bad value and a unexpected argument are refused'
program serve --cachr 1MiB
refused 2 'kindex: unknown option --cachr*'
program serve --cache lots
refused 2 'kindex: --cache: "lots" is not a size*'
program serve --cache
refused 2 'kindex: a value is missing after --cache*'
program serve here
refused 2 'kindex: unexpected argument here*'

program serve --cachr 1MiB
refused 2 'kindex: unknown option --cachr (did you mean --cache?)*'

test_case 'an option is not abbreviated, and for an option of another program the right one is named'
program serve --port 8080 --print-config
refused 2 'kindex: unknown option --port (did you mean --listen?)*'
program serve --port-fil "$work/port" --print-config
refused 2 'kindex: unknown option --port-fil (did you mean --port-file?)*'
program serve --insecure=1 --print-config
refused 2 'kindex: no value belongs to --insecure*'

test_case 'sizes have the units that people write'
for size in 1G 1024M 1048576K 1GiB 1073741824; do
    program serve --cache $size --checkpoint-log 2048M --print-config
    is "the exit status with $size" $code 0
done
program serve --help
is 'what help says of K' "$(grep -c 'K, M and G are KiB, MiB and GiB' "$answer")" 1

test_case 'a bad environment variable is refused by its name'
KINDEX_LOOPS=many program serve
refused 2 'kindex: KINDEX_LOOPS: "many" is not a number*'

test_case 'a warning names an environment variable that no option reads'
KINDEX_CACHR=1G KINDEX_URL=x program serve --print-config
is 'its exit status' $code 0
is 'what it says' "$(cat "$work/complaint")" \
    'kindex: warning: no option reads the variable KINDEX_CACHR (did you mean KINDEX_CACHE?)'
KINDEX_PORT=8080 program serve --print-config
is 'what it says' "$(cat "$work/complaint")" \
    'kindex: warning: no option reads the variable KINDEX_PORT (did you mean KINDEX_LISTEN?)'
KINDEX_PORT=tcp://10.0.0.1:4512 KINDEX_PORT_4512_TCP_PROTO=tcp \
    KINDEX_SERVICE_HOST=10.0.0.1 program serve --print-config
is 'what it says of the variables of Kubernetes' "$(cat "$work/complaint")" ''

test_case 'an address that others reach needs a token, or --insecure'
program serve --listen 0.0.0.0:0 --data "$work/none"
refused 1 'kindex: --listen: *--token-file FILE*--insecure*'
is 'the data directory' "$(ls -d "$work/none" 2>&1 | grep -c 'No such')" 1

program serve --listen 0 --listen 0.0.0.0:0 --data "$work/none"
refused 1 'kindex: --listen: other machines can reach 0.0.0.0:0 and *'
KINDEX_LISTEN='0, [::]:0' program serve --data "$work/none"
refused 1 'kindex: --listen: other machines can reach ?::?:0 and *'
is 'the data directory' "$(ls -d "$work/none" 2>&1 | grep -c 'No such')" 1

test_case 'print-config shows each value and where it comes from'
KINDEX_CACHE=1GiB program serve --loops 2 --print-config
is 'its exit status' $code 0
is cache "$(awk '$1 == "cache" { print $2, $3 }' "$answer")" '1GiB environment'
is loops "$(awk '$1 == "loops" { print $2, $3 }' "$answer")" '2 flag'
KINDEX_LISTEN=1 program serve --listen 8080 --listen '[::1]:81' --print-config
is listen "$(awk '$1 == "listen" { print $2, $3 }' "$answer")" '8080,[::1]:81 flag'
is data "$(awk '$1 == "data" { print $3 }' "$answer")" default

test_case 'a data directory that cannot be made is refused'
program serve --listen 127.0.0.1:0 --data /dev/null/data
refused 1 'kindex: cannot open /dev/null/data: *'
echo >"$work/file"
program serve --listen 127.0.0.1:0 --data "$work/file"
refused 1 "kindex: cannot open $work/file: *is a file, not a directory*"

test_case 'a directory with the files of others is refused, and stays as it is'
mkdir -p "$work/thesis/draft"
program serve --listen 127.0.0.1:0 --data "$work/thesis"
refused 1 "kindex: cannot open $work/thesis: *other files, such as draft, and no store; choose a directory that is new or empty"
is 'what is there' "$(ls -A "$work/thesis")" draft

test_case 'a data directory is made with its parents, and may hold files of the options'
start_server --data "$work/a/b/c"
answers 201 PUT /kv/a 1
stop_server
mkdir "$work/own"
"$KINDEX" token generate >"$work/own/token" 2>"$work/null"
chmod 600 "$work/own/token"
mkdir "$work/own/lost+found" "$work/own/.snapshots" "$work/own/archive"
start_server --data "$work/own" --token-file "$work/own/token" --archive "$work/own/archive"
stop_server
echo >"$work/own/notes"
start_server --data "$work/own"
stop_server

start_server
port=${url##*:}

# The status of an answer at HOST:PORT.
curl_at() {
    curl --silent --globoff --output "$answer" --write-out '%{http_code}' "http://$1/livez"
}

test_case 'a port in use is refused, and the data are not touched'
program serve --listen "127.0.0.1:$port" --data "$work/other"
refused 1 "kindex: cannot listen on 127.0.0.1:$port: *"
is 'the data directory' "$(ls "$work/other" 2>&1 | grep -c 'No such')" 1

test_case 'the default is to listen on both loopback addresses, on one port'
loopbacks=(127.0.0.1)
! grep -qE '^0{31}1 ' /proc/net/if_inet6 || loopbacks+=('[::1]')
is 'the addresses' "$(sed -n '1s/.* on //p' "$work/greeting")" \
    "$(printf "http://%s:$port\n" "${loopbacks[@]}" | paste -sd, | sed 's/,/, /')"
for host in "${loopbacks[@]}"; do
    is "the status at $host" "$(curl_at "$host:$port")" 200
done
program serve --print-config
is listen "$(awk '$1 == "listen" { print $2, $3 }' "$answer")" 'localhost:4512 default'

test_case 'a data directory in use is refused, and the server continues'
program serve --listen 127.0.0.1:0 --data "$work/data"
refused 1 "kindex: cannot open $work/data: *"
answers 200 GET /livez

test_case 'the five lines that the server prints work as they are'
grep '^curl' "$work/greeting" >"$work/tour"
is 'the number of lines' "$(wc -l <"$work/tour")" 5
is 'the line for Deno' "$(grep -cxF "Deno.openKv(\"$url\") // DENO_KV_ACCESS_TOKEN=any" "$work/greeting")" 1
while IFS= read -r line; do
    exchange=$line
    if eval "$line --silent --fail-with-body --retry 5" \
        >"$answer" 2>"$work/curl" </dev/null; then
        is 'the line' "$line" "$line"
    else
        is 'the line' "$line" 'a line that works'
    fi
done <"$work/tour"

test_case 'the server stops under load, with exit status 0'
load=()
for client in 1 2 3 4; do
    while curl --silent --fail --output "$work/load$client" --request PUT \
        --header 'Content-Type: application/json' --data 1 \
        "$url/kv/load/$client"; do :; done &
    load+=($!)
done
until_status 200 GET /kv/load/4
stop_server
is 'its exit status' $? 0
wait "${load[@]}"

test_case 'stored entries are there after a restart'
start_server --header-timeout 1h --body-timeout 1h
answers 200 GET /kv/people/1
field .name Ada

test_case 'a client that sends half a request does not stop the server from ending'
exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
printf 'PUT /kv/half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhal' >&3
answers 200 GET /livez
stop_server # the client might take an hour
is 'its exit status' $? 0
exec 3>&-

test_case 'several event loops serve the same store'
start_server --loops 3
for client in 1 2 3 4 5 6 7 8; do
    answers 201 PUT "/kv/loops/$client" "$client" \
        --header 'Content-Type: application/json'
done
gives .count 8 GET '/count?prefix=loops'

test_case 'each loop serves each address that is given'
stop_server
start_server --loops 2 --listen 0 --listen '127.0.0.2:0, 127.0.0.3:0'
for host in "${loopbacks[@]}" 127.0.0.2 127.0.0.3; do
    for client in 1 2 3 4 5 6 7 8; do
        is "the status at $host" "$(curl_at "$host:${url##*:}")" 200
    done
done

test_case 'connections over the limit are answered 503'
stop_server
start_server --connections-max 2
exec 3<>"/dev/tcp/127.0.0.1/${url##*:}" 4<>"/dev/tcp/127.0.0.1/${url##*:}"
until_status 503 GET /livez
expect 503 overloaded
header Retry-After 1
exec 3>&- 4>&-
until_status 200 GET /livez

test_case 'a server started with its standard files closed writes no message into its data'
stop_server
rm "$work/port"
"$KINDEX" serve --data "$work/closed" --listen 127.0.0.1:0 --cache 16MiB \
    --port-file "$work/port" --slow-ms 0 <&- >&- 2>&- &
server=$!
wait_until server_has_spoken
url=http://127.0.0.1:$(cat "$work/port")
answers 201 PUT /kv/a 1
is 'the size of the lock file' "$(wc -c <"$work/closed/lock")" 0

finish

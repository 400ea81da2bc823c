#!/bin/bash
# kindex serve --ephemeral: a store for a test, which is gone when its server is.
. tests/lib/http.sh
temporary=$work/temporary
mkdir "$temporary"

# Starts such a server; sets $url to the URL that it prints.
start_ephemeral() {
    : >"$work/greeting"
    TMPDIR=$temporary "$KINDEX" serve --ephemeral --cache 16MiB "$@" >"$work/greeting" 2>>"$log" &
    server=$!
    wait_until ephemeral_has_spoken
    url=$(jq -r .url "$work/greeting")
}
ephemeral_has_spoken() {
    [ -s "$work/greeting" ] || server_is_gone
}

# Stops it with a signal; sets $code to its exit status.
stop_ephemeral() {
    kill -"$1" "$server"
    wait_until server_is_gone || kill -KILL "$server"
    wait "$server"
    code=$?
    server=''
}

# The program has refused with this exit code and a line that matches.
refused() {
    local status_wanted=$1 pattern=$2 line
    shift 2
    exchange="kindex $*"
    TMPDIR=$temporary timeout "$longest" "$KINDEX" "$@" >"$answer" 2>"$work/complaint"
    is 'its exit status' $? "$status_wanted"
    line=$(<"$work/complaint")
    if [[ $line == $pattern ]]; then line=$pattern; fi
    is 'what it says' "$line" "$pattern"
}

test_case 'an ephemeral server prints one line of JSON: its URL, on a free port, and its process'
start_ephemeral
is lines "$(wc -l <"$work/greeting")" 1
is pid "$(jq .pid "$work/greeting")" "$server"
is members "$(jq -c keys "$work/greeting")" '["pid","url"]'
[[ $url =~ ^http://127\.0\.0\.1:[1-9][0-9]*$ ]]
is 'the form of the URL' $? 0
answers 201 PUT /kv/a 1

test_case 'the store is in a new directory, which only its user can enter'
is 'the directories' "$(cd "$temporary" && printf '%s ' *)" "$(basename "$temporary"/kindex-ephemeral-??????) "
is 'the mode' "$(stat -c %a "$temporary"/kindex-ephemeral-*)" 700
is 'files of the store' "$(($(find "$temporary" -type f | wc -l) > 0))" 1

test_case 'two ephemeral servers at the same time have a port and a store each'
first=$server first_url=$url
start_ephemeral
is 'the same port' "$([ "$url" = "$first_url" ] && echo yes)" ''
answers 404 GET /kv/a
is directories "$(find "$temporary" -mindepth 1 -maxdepth 1 | wc -l)" 2
stop_ephemeral TERM
is 'its exit status' "$code" 0
is directories "$(find "$temporary" -mindepth 1 -maxdepth 1 | wc -l)" 1
server=$first url=$first_url
answers 200 GET /kv/a

test_case 'a server that cannot listen or open its store leaves no directory'
refused 1 'kindex: cannot listen on *' serve --ephemeral --listen "${url#http://}"
is directories "$(find "$temporary" -mindepth 1 -maxdepth 1 | wc -l)" 1
stop_ephemeral TERM
refused 1 'kindex: --listen: other machines can reach *' serve --ephemeral --listen 0.0.0.0:0
echo >"$work/token"
chmod 644 "$work/token"
refused 1 'kindex: --token-file: *' serve --ephemeral --token-file "$work/token"
temporary=$work/none refused 1 "kindex: cannot create a directory in $work/none: No such file or directory" \
    serve --ephemeral
is directories "$(find "$temporary" -mindepth 1 | wc -l)" 0

test_case 'the directory is gone after SIGTERM, SIGINT and SIGHUP, also when a client holds a connection'
for signal in TERM INT HUP; do
    start_ephemeral
    answers 201 PUT /kv/a 1
    exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
    printf 'PUT /kv/half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhal' >&3
    answers 200 GET /livez
    stop_ephemeral $signal
    exec 3>&-
    is "the exit status after $signal" "$code" 0
    is "what is left after $signal" "$(ls -A "$temporary")" ''
done

test_case 'a killed server leaves its directory, and the next server has an empty store'
start_ephemeral
answers 201 PUT /kv/a 1
stop_ephemeral KILL 2>"$work/null"
start_ephemeral
answers 404 GET /kv/a
stop_ephemeral TERM
is directories "$(find "$temporary" -mindepth 1 -maxdepth 1 | wc -l)" 1
rm -r "$temporary"/kindex-ephemeral-*

test_case '--listen replaces the free port of 127.0.0.1'
start_ephemeral --listen 127.0.0.2:0
[[ $url =~ ^http://127\.0\.0\.2:[1-9][0-9]*$ ]]
is 'the form of the URL' $? 0
answers 200 GET /livez
stop_ephemeral TERM

test_case '--ephemeral excludes another place for the store'
refused 2 'kindex: --ephemeral and --data exclude each other' serve --ephemeral --data "$work/data"
refused 2 'kindex: --ephemeral and --engine exclude each other' serve --engine postgresql://kindex@localhost/kindex --ephemeral
refused 2 'kindex: --ephemeral and --archive exclude each other' serve --ephemeral --archive "$work/archive"
refused 2 'kindex: --ephemeral and --follow exclude each other' serve --ephemeral --follow "$work/archive"
KINDEX_EPHEMERAL=1 refused 2 'kindex: --ephemeral and --data exclude each other' serve --data "$work/data"
KINDEX_EPHEMERAL=1 KINDEX_DATA=$work/data refused 2 'kindex: --ephemeral and --data exclude each other' serve
is 'the data directory' "$(ls -d "$work/data" 2>&1 | grep -c 'No such')" 1

test_case 'the flag overrides the variable KINDEX_DATA'
KINDEX_DATA=$work/data start_ephemeral
answers 201 PUT /kv/a 1
stop_ephemeral TERM
is 'the data directory' "$(ls -d "$work/data" 2>&1 | grep -c 'No such')" 1
refused 0 '' serve --ephemeral --print-config
is 'the place' "$(awk '$1 == "data" || $1 == "listen" || $1 == "ephemeral" { print $2, $3 }' "$answer")" '- default
1 flag
127.0.0.1:0 default'

finish

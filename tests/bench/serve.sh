#!/bin/bash
# A server for one measurement, with its data in $work/data. Sourced.
#
#   server_begin PROGRAM OPTION...    sets $server, its process, and $url
#   server_end SIGNAL                 and waits until it has ended, if there is one

server=''

server_begin() {
    rm -f "$work/port"
    "$1" serve --data "$work/data" --listen 0 --port-file "$work/port" "${@:2}" \
        >"$work/greeting" 2>"$work/log" &
    server=$!
    until [ -s "$work/port" ]; do
        kill -0 "$server"
        sleep 0.05
    done
    url=http://127.0.0.1:$(cat "$work/port")
}

server_end() {
    [ -z "$server" ] || kill -s "$1" "$server"
    [ -z "$server" ] || wait "$server" 2>>"$work/stopped" || :
    server=''
}

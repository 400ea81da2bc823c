# A server and a standby that follows its archive, $archive, for a story. Sourced after
# http.sh.
#
#   start_primary [OPTION...]   start_standby [OPTION...]     $primary, $standby: the processes
#   at_primary   at_standby     requests and commands go there from now on
#
# However the story ends, they end with it.

free_ports 2
read -r first second <<<"$found"
primary='' standby=''
end_both() {
    [ "$BASHPID" = "$$" ] || return # not in a subshell
    for pid in $primary $standby; do
        kill -KILL "$pid" 2>"$work/null"
    done
    leave
}
trap end_both EXIT

# --data comes twice: the last one counts.
start_primary() {
    start_server --data "$work/first" --archive "$archive" --listen "127.0.0.1:$first" "$@"
    primary=$server
    server=''
}
start_standby() {
    start_server --data "$work/second" --follow "$archive" \
        --primary "http://127.0.0.1:$first" --listen "127.0.0.1:$second" "$@"
    standby=$server
    server=''
}
# ends_at PID SIGNAL
ends_at() {
    kill "-$2" "$1"
    wait "$1" 2>"$work/null"
}
at_primary() { url=http://127.0.0.1:$first; export KINDEX_URL=$url; }
at_standby() { url=http://127.0.0.1:$second; export KINDEX_URL=$url; }
# shows PATH BODY: the standby answers it itself, with this body.
shows() {
    request GET "$1?consistency=eventual"
    [ "$status $(cat "$answer")" = "200 $2" ]
}
list_here() {
    curl --silent --header 'Accept: application/x-ndjson' "$url/list?prefix=$1&consistency=eventual"
}
same_list() { [ "$(list_here users)" = "$(cat "$work/list")" ]; }


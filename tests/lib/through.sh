# With THROUGH=standby (and ENGINE=postgresql) the server of a story is a standby: a
# second node is active, and answers what the standby forwards. Both get the options of
# start_server. http.sh sources this file.

active='' active_url='' # its process

active_answers() {
    curl --silent --insecure --fail --output "$work/null" "$active_url/readyz" ||
        ! kill -0 "$active" 2>"$work/null"
}

# start_active OPTION...
start_active() {
    local port scheme=http
    [[ " $* " != *' --tls-cert '* ]] || scheme=https
    free_ports 1
    port=$found
    active_url=$scheme://127.0.0.1:$port
    "$KINDEX" serve --engine "$database" --node active --listen "127.0.0.1:$port" \
        --advertise "$active_url" --cache 16MiB "$@" \
        >"$work/active.greeting" 2>>"$work/active.log" &
    active=$!
    wait_until active_answers
    kill -0 "$active" 2>"$work/null" || { cat "$work/active.log"; exit 1; }
}

stop_active() {
    [ -n "$active" ] || return 0
    kill -TERM "$active"
    wait "$active"
    active=''
}

# Watches in stories (server-sent events of GET /watch). Source it after http.sh.

# watch QUERY [CURL-OPTION...]: starts a watch in the background, which writes its events to
# $work/events, and waits for the first event.
watch() {
    : >"$work/events"
    curl --globoff --silent --no-buffer "${@:2}" "$url/watch?$1" \
        >"$work/events" &
    watcher=$!
    wait_until has_events 1
}

# As many events have come, to their ends.
has_events() {
    [ "$(awk '/^event: / { open = 1 } /^$/ { count += open; open = 0 }
        END { print count + 0 }' "$work/events")" -ge "$1" ]
}

end_watch() {
    kill "$watcher"
    wait "$watcher" 2>"$work/null"
}

# Of the n-th event: what jq makes of its data. event N FILTER EXPECTED
event() {
    is "event $1: $2" "$(grep '^data: ' "$work/events" | sed -n "$1s/^data: //p" |
        jq -cr "$2")" "$3"
}

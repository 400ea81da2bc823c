# Restores from the archive $archive, and comparisons of the restored entries.

whole_list() {
    curl --silent --globoff --header 'Accept: application/x-ndjson' \
        "$url/list?prefix=[]"
}

# Restores to $work/new, and writes its entries to $work/restored.
restore() {
    rm -rf "$work/new"
    kindex restore --archive "$archive" --data "$work/new" "$@"
    [ "$code" = 0 ] || return
    mv "$work/data" "$work/kept"
    mv "$work/new" "$work/data"
    start_server
    whole_list >"$work/restored"
    stop_server
    rm -rf "$work/data"
    mv "$work/kept" "$work/data"
}

same_as() {
    is "the entries of $1" "$(cmp "$1" "$work/restored" 2>&1 && echo same)" same
}

# The system calls of a server at work are those that the unit allows.

# members SET: the names in one of systemd's sets, and in the sets in it.
members() {
    local name
    systemd-analyze syscall-filter "$1" | sed -n 's/^ *\([@a-z_0-9-]*\)$/\1/p' |
        grep -vxF "$1" | while read -r name; do
        case $name in
        @*) members "$name" ;;
        ?*) echo "$name" ;;
        esac
    done
}
# What SystemCallFilter= leaves: the sets of its lines, less those after ~.
allowed() {
    local word
    {
        members @default
        for word in $(sed -n 's/^SystemCallFilter=\([^~]\)/\1/p' "$unit"); do
            members "$word"
        done
    } | sort -u | comm -23 - <(
        for word in $(sed -n 's/^SystemCallFilter=~//p' "$unit"); do
            members "$word"
        done | sort -u)
}

# Leaves the names of all calls in $work/calls: a start, requests of all kinds,
# a build, a backup, an archive, a kill; and again with a stop.
traced() {
    local end server
    for end in KILL TERM; do
        rm -f "$work/port"
        NOTIFY_SOCKET=@nobody-listens strace -D -f -o "$work/trace.$end" \
            "$BUILD/kindex" serve --data "$work/traced" --listen 127.0.0.1:0 \
            --archive "$work/archive" --loops 2 --port-file "$work/port" \
            >"$work/out" 2>&1 &
        server=$!
        for _ in $(seq 3000); do
            [ -s "$work/port" ] && break
            sleep 0.1
        done
        export KINDEX_URL=http://127.0.0.1:$(cat "$work/port")
        "$BUILD/kindex" bench --requests 300 &&
            "$BUILD/kindex" set "users/$end" '{"email":"a"}' --ttl 1h &&
            "$BUILD/kindex" index add by_email users email --wait &&
            "$BUILD/kindex" backup "$work/$end.tar.zst" &&
            "$BUILD/kindex" ls && "$BUILD/kindex" doctor || return 1
        kill -$end "$server"
        wait "$server"
        # strace notes the end after the end.
        for _ in $(seq 3000); do
            grep -qE "^$server +\+\+\+ (exited|killed)" "$work/trace.$end" && break
            sleep 0.1
        done
    done
    # Those before the program itself runs are strace's.
    sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' "$work"/trace.* | sort -u >"$work/calls"
    [ "$(wc -l <"$work/calls")" -ge 40 ]
}
# The unit raises the limit of open files, so that the program need not: where it
# tries all the same, a refusal does no harm.
strangers() {
    comm -13 <(allowed) "$work/calls" | grep -vx 'setrlimit\|prlimit64'
}
none() {
    [ -z "$(strangers)" ] || { strangers; return 1; }
}
check 'a server is traced at work' traced
check 'the unit allows its system calls' none
echo reboot >>"$work/calls"
sort -o "$work/calls" "$work/calls"
refuses 'planted: a system call that the unit does not allow is found' none

# PostgreSQL servers that only this purpose has: each in a directory, which holds its
# sockets as well, without TCP. For make cluster and for the tests. To be sourced.
#
#   postgres_make DIRECTORY               a new server, with the user kindex
#   postgres_copy FROM TO                 a new standby of one that runs
#   postgres_begin DIRECTORY OPTION...    starts it, and waits until it answers
#   postgres_end DIRECTORY [MODE]         stops it: immediate, fast or smart
#   postgres_promote DIRECTORY            a standby becomes the primary
#
# What the programs say is in DIRECTORY.log, what the server says in
# DIRECTORY/server.log. Users may enter DIRECTORY.

# The newest that is installed.
postgres_programs() {
    local bin newest=''
    for bin in /usr/lib/postgresql/*/bin; do
        [ ! -x "$bin/initdb" ] || newest=$bin
    done
    [ -n "$newest" ] && echo "$newest"
}

# The server refuses to run as root.
as_postgres() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ "$@"
    else
        "$@"
    fi
}

# postgres_program DIRECTORY PROGRAM ARGUMENT...: shows its log if it fails
postgres_program() {
    local directory=$1 program
    program=$(postgres_programs)/$2
    shift 2
    (cd "$directory" && as_postgres "$program" "$@") >>"$directory.log" 2>&1 </dev/null ||
        { tail -n 20 "$directory.log"; return 1; }
}

postgres_place() {
    mkdir -p "$1" && chmod 711 "$(dirname "$1")" "$1" || return 1
    [ "$(id -u)" != 0 ] || chown 65534 "$1"
}

postgres_make() {
    postgres_place "$1" && postgres_program "$1" initdb --pgdata=data --auth=trust \
        --username=kindex --no-sync --locale=C --encoding=UTF8
}

postgres_copy() {
    postgres_place "$2" && postgres_program "$2" pg_basebackup --pgdata=data --no-sync \
        --checkpoint=fast --write-recovery-conf --dbname="host=$1 user=kindex"
}

postgres_begin() {
    local directory=$1
    shift
    postgres_program "$directory" pg_ctl --pgdata=data --wait --timeout=120 \
        --log="$directory/server.log" --options="-k $directory -c listen_addresses= \
        -c logging_collector=off $*" start
}

postgres_end() {
    postgres_program "$1" pg_ctl --pgdata=data --wait --timeout=120 \
        --mode="${2:-immediate}" stop
}

postgres_promote() {
    postgres_program "$1" pg_ctl --pgdata=data --wait --timeout=120 promote
}

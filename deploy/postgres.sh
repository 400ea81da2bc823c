# PostgreSQL servers that only this purpose has: each in a directory, which holds its
# sockets as well, without TCP. For make cluster and for the tests. To be sourced.
# POSTGRES_PROGRAMS, if set, is the directory of initdb, pg_ctl and postgres.
#
#   postgres_make DIRECTORY               a new server, with the user kindex
#   postgres_copy FROM TO                 a new standby of one that runs
#   postgres_begin DIRECTORY OPTION...    starts it, and waits until it answers
#   postgres_end DIRECTORY [MODE]         stops it: immediate, fast or smart
#   postgres_promote DIRECTORY            a standby becomes the primary
#
# What the programs say is in DIRECTORY.log, what the server says in
# DIRECTORY/server.log. Users may enter DIRECTORY.

# POSTGRES_PROGRAMS, or the newest version that is installed.
postgres_programs() {
    local bin newest=${POSTGRES_PROGRAMS-}
    [ -z "$newest" ] || { echo "$newest" && return; }
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

# With the functions for backups, since pg_basebackup is older than some servers.
postgres_copy() {
    local start="pg_backup_start('copy', true)" stop='pg_backup_stop(false)'
    [ "$(cat "$1/data/PG_VERSION")" -ge 15 ] ||
        start="pg_start_backup('copy', true, false)" stop='pg_stop_backup(false, false)'
    postgres_place "$2" && as_postgres mkdir -m 700 "$2/data" || return
    psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --host="$1" \
        --username=kindex --dbname=postgres >"$2.copied" 2>>"$2.log" <<END
SELECT FROM $start;
\! tar --create --directory='$1/data' --warning=no-file-changed --exclude='./pg_wal/*' --exclude='./postmaster.*' . | tar --extract --directory='$2/data'
SELECT labelfile FROM $stop;
\! tar --create --directory='$1/data' --warning=no-file-changed pg_wal | tar --extract --directory='$2/data'
END
    [ $? -eq 0 ] && as_postgres tee "$2/data/backup_label" <"$2.copied" >/dev/null &&
        as_postgres touch "$2/data/standby.signal" &&
        as_postgres tee -a "$2/data/postgresql.auto.conf" >/dev/null \
            <<<"primary_conninfo = 'host=$1 user=kindex'" && [ -e "$2/data/PG_VERSION" ] ||
        { tail -n 20 "$2.log"; return 1; }
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

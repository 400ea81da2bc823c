# A PostgreSQL for the tests: a cluster in a new directory, without
# TCP, which no other cluster of the machine has to do with. It does not sync,
# because only its process dies in tests, not the machine.
#
#   postgres_start DIRECTORY     makes and starts it; sets and exports KX_POSTGRES
#   postgres_stop                stops it, with what it was doing
#   postgres_url NAME            the URL of a database, in $found
#   postgres_database NAME       makes a new database, and the same

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

postgres_start() {
    local bin
    bin=$(postgres_programs) || {
        echo "PostgreSQL is missing: make deps-test installs it"
        return 1
    }
    mkdir -p "$1" && chmod 711 "$(dirname "$1")" "$1" || return 1
    [ "$(id -u)" != 0 ] || chown 65534 "$1"
    export KX_POSTGRES=$1
    (cd "$1" && as_postgres "$bin/initdb" --pgdata=data --auth=trust --username=kindex \
        --no-sync --locale=C --encoding=UTF8) >"$1.log" 2>&1 &&
        postgres_resume || { cat "$1.log"; return 1; }
}

# Starts a cluster that is there.
postgres_resume() {
    (cd "$KX_POSTGRES" && as_postgres "$(postgres_programs)/pg_ctl" --pgdata=data --wait \
        --timeout=120 --log="$KX_POSTGRES/server.log" --options="-k $KX_POSTGRES \
        -c listen_addresses= -c fsync=off -c shared_buffers=16MB -c max_connections=200 \
        -c logging_collector=off" start) >>"$KX_POSTGRES.log" 2>&1 </dev/null
}

postgres_stop() {
    (cd "$KX_POSTGRES" && as_postgres "$(postgres_programs)/pg_ctl" --pgdata=data --wait \
        --timeout=120 --mode="${1:-immediate}" stop) >>"$KX_POSTGRES.log" 2>&1
}

postgres_url() {
    found="postgresql://kindex@/$1?host=$KX_POSTGRES"
}

# postgres_query DATABASE SQL
postgres_query() {
    psql --no-psqlrc --quiet --tuples-only --no-align --host="$KX_POSTGRES" \
        --username=kindex --dbname="$1" --command="$2"
}

postgres_database() {
    postgres_query postgres "CREATE DATABASE \"$1\"" && postgres_url "$1"
}

# PostgreSQL for tests: a cluster in a new directory, without TCP and independent of other
# clusters of the machine. Its fsync is on, because Kindex refuses a database without it.
#
#   postgres_start DIRECTORY     makes and starts it; sets and exports KX_POSTGRES
#   postgres_new DIRECTORY       makes it
#   postgres_version VERSION DIRECTORY    from now on, servers are of this version
#                                (tests/postgresql), whose programs are copied there
#   postgres_stop                stops it and cancels its transactions
#   postgres_url NAME            sets $found to the URL of a database
#   postgres_database NAME       makes a new database, and sets $found to its URL

. "$(dirname "${BASH_SOURCE[0]}")/../../deploy/postgres.sh"
postgres_options=(-c shared_buffers=16MB -c max_connections=200)

# Only x86-64 has these packages. The user of PostgreSQL may not read the source tree
# everywhere, but DIRECTORY.
postgres_version() {
    local source target native
    native=$(dirname "${BASH_SOURCE[0]}")/../postgresql
    "$native/../lib/npm.sh" "$native" || return
    native=$native/node_modules/postgresql-$1/native
    mkdir -p "$2" && chmod 711 "$2" && cp -a "$native/bin" "$native/lib" "$native/share" "$2" || return
    # The archives of npm have no links: this list names them.
    while read -r source target; do
        ln -sf "${source##*/}" "$2/${target#native/}"
    done < <(jq -r '.[] | .source + " " + .target' "$native/pg-symlinks.json")
    export POSTGRES_PROGRAMS=$2/bin
    "$POSTGRES_PROGRAMS/postgres" --version >"$2/version"
}

postgres_start() {
    [ -n "$(postgres_programs)" ] || {
        echo "PostgreSQL is missing: make deps-test installs it"
        return 1
    }
    export KX_POSTGRES=$1
    postgres_new "$1" && postgres_resume
}

# initdb takes longer than many a test: a run of many tests makes one cluster in
# $KX_CLUSTER/made, and each test copies it.
postgres_new() {
    if [ -e "${KX_CLUSTER-}/made" ]; then
        postgres_place "$1" && cp -a "$KX_CLUSTER/made/data" "$1/"
    else
        postgres_make "$1"
    fi
}

# Starts a cluster that is there.
postgres_resume() {
    postgres_begin "$KX_POSTGRES" "${postgres_options[@]}"
}

postgres_stop() {
    postgres_end "$KX_POSTGRES" "${1:-immediate}"
}

postgres_url() {
    found="postgresql://app@/$1?host=$KX_POSTGRES"
}

# postgres_query DATABASE SQL
postgres_query() {
    psql --no-psqlrc --quiet --tuples-only --no-align --host="$KX_POSTGRES" \
        --username=kindex --dbname="$1" --command="$2"
}

postgres_database() {
    postgres_query postgres 'DO $$ BEGIN CREATE ROLE app LOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$' &&
        postgres_query postgres "CREATE DATABASE \"$1\"" &&
        postgres_query postgres "REVOKE ALL ON DATABASE \"$1\" FROM PUBLIC;
            GRANT CONNECT, CREATE ON DATABASE \"$1\" TO app" && postgres_url "$1"
}

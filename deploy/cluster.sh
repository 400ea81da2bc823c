#!/bin/bash
# make cluster: a PostgreSQL with a synchronous standby, and three nodes of Kindex in
# front of it, all on this machine, until Ctrl-C. To try what happens when one of them
# is killed. The data stay for the next time.
#
#   CLUSTER    directory of the databases (/var/tmp/kindex-cluster-UID)
#   PORTS      of the three nodes (4512 4513 4514)
#   KINDEX     a program that is built, in place of that which is built now
set -u
cd "$(dirname "$0")/.." || exit
. deploy/postgres.sh
if [ -z "${KINDEX-}" ]; then
    KINDEX=$PWD/${BUILD:-build}/kindex
    deploy/packages.sh build try cluster || exit
    "${MAKE:-make}" -s --no-print-directory -j"${JOBS:-2}" all || exit
fi
place=${CLUSTER:-/var/tmp/kindex-cluster-$(id -u)}
names=(one two three)
read -ra ports <<<"${PORTS:-4512 4513 4514}"
databases=()
pids=()

stop() {
    local directory
    trap - EXIT INT TERM
    echo 'stopping'
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
    wait 2>/dev/null
    for directory in "${databases[@]}"; do
        [ ! -e "$directory/data/postmaster.pid" ] || postgres_end "$directory" fast
    done
}

fail() {
    echo "kindex: $*" >&2
    exit 1
}

# The number of times that the databases have changed places, as this one knows it.
timeline() {
    LC_ALL=C as_postgres "$(postgres_programs)/pg_controldata" "$1/data" 2>/dev/null |
        awk -F: '/^Latest checkpoint.s TimeLineID/ { print $2 + 0 }'
}

# Sets primary and standby: the primary is a server that is no standby, of the two
# that one which became it last.
find_primary() {
    local a b
    primary=$place/a standby=$place/b
    [ -e "$place/b/data/PG_VERSION" ] && [ ! -e "$place/b/data/standby.signal" ] || return 0
    a=$(timeline "$place/a") b=$(timeline "$place/b")
    if [ -e "$place/a/data/standby.signal" ] || [ "${b:-0}" -gt "${a:-0}" ]; then
        primary=$place/b standby=$place/a
    fi
}

start_databases() {
    # Of '*' pg_basebackup would be one as well.
    local options=(-c synchronous_standby_names=walreceiver -c max_connections=200)
    mkdir -p "$place" || fail "cannot make $place: say CLUSTER=DIRECTORY"
    find_primary
    [ -e "$primary/data/PG_VERSION" ] || postgres_make "$primary" || exit 1
    databases=("$primary" "$standby")
    postgres_begin "$primary" "${options[@]}" || exit 1
    rm -rf "$standby"
    postgres_copy "$primary" "$standby" || exit 1
    postgres_begin "$standby" "${options[@]}" || exit 1
    psql --no-psqlrc --quiet --tuples-only --host="$primary" --username=kindex \
        --dbname=postgres --command="SELECT 'CREATE DATABASE kindex' WHERE NOT EXISTS \
        (SELECT 1 FROM pg_database WHERE datname = 'kindex')" |
        psql --no-psqlrc --quiet --host="$primary" --username=kindex --dbname=postgres || exit 1
}

start_node() { # NUMBER
    local name=${names[$1]} url=http://127.0.0.1:${ports[$1]}
    rm -f "$place/$name.port"
    "$KINDEX" serve --engine "$engine" --node "$name" --listen "127.0.0.1:${ports[$1]}" \
        --advertise "$url" --port-file "$place/$name.port" >"$place/$name.log" 2>&1 &
    pids+=($!)
    until [ -s "$place/$name.port" ] && "$KINDEX" ready --url "$url" >/dev/null 2>&1; do
        kill -0 "${pids[-1]}" 2>/dev/null ||
            { tail -n 5 "$place/$name.log" >&2; fail "node $name has ended"; }
        sleep 0.1
    done
}

[ ${#ports[@]} -eq ${#names[@]} ] || fail "PORTS needs ${#names[@]} ports"
trap stop EXIT
trap 'exit 0' INT TERM
start_databases
engine="postgresql://kindex@/kindex?host=$place/a,$place/b&target_session_attrs=read-write"
for number in "${!names[@]}"; do
    start_node "$number"
done
echo 'three nodes serve one store:'
for number in "${!names[@]}"; do
    echo "  ${names[$number]}: http://127.0.0.1:${ports[$number]}, process ${pids[$number]}, log $place/${names[$number]}.log"
done
cat <<END_OF_TEXT
its rows are in $primary, and in the synchronous standby $standby

  curl -X PUT http://127.0.0.1:${ports[0]}/kv/a -d 1     write at a node
  curl -i http://127.0.0.1:${ports[2]}/kv/a              read at another
  kill -9 ${pids[0]}; time curl -sS --retry 9 -X PUT http://127.0.0.1:${ports[1]}/kv/a -d 2
  $KINDEX cluster status --url http://127.0.0.1:${ports[1]}

Ctrl-C stops all of it.
END_OF_TEXT
wait

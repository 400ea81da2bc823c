#!/bin/bash
# make cluster: a PostgreSQL of three members that Patroni keeps, one of them a synchronous
# standby, and three nodes of Kindex in front of it, all on this machine, until Ctrl-C. To
# try what happens when one of them is killed. The data stay for the next time.
#
#   CLUSTER    directory of the databases (/var/tmp/kindex-cluster-UID)
#   PORTS      of the three nodes (4512 4513 4514)
#   KINDEX     a program that is built, in place of that which is built now
set -u
cd "$(dirname "$0")/.." || exit
. deploy/postgres.sh
. deploy/patroni.sh
if [ -z "${KINDEX-}" ]; then
    KINDEX=$PWD/${BUILD:-build}/kindex
    deploy/packages.sh build try cluster || exit
    "${MAKE:-make}" -s --no-print-directory -j"${JOBS:-2}" all || exit
fi
place=${CLUSTER:-/var/tmp/kindex-cluster-$(id -u)}
names=(one two three)
read -ra ports <<<"${PORTS:-4512 4513 4514}"
pids=()

stop() {
    trap - EXIT INT TERM
    echo 'stopping'
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
    wait 2>/dev/null
    patroni_end "$place" a b c
    patroni_end "$place" etcd
}

fail() {
    echo "kindex: $*" >&2
    exit 1
}

start_databases() {
    mkdir -p "$place" || fail "cannot make $place: say CLUSTER=DIRECTORY"
    patroni_make "$place" 'synchronous_mode: true' 'synchronous_mode_strict: true' &&
        patroni_begin "$place" etcd a b c && patroni_ready "$place" || exit 1
    [ -n "$(patroni_query "$place" "SELECT 1 FROM pg_database WHERE datname = 'kindex'" |
        wc -l | grep -v '^0$')" ] || patroni_query "$place" 'CREATE DATABASE kindex' || exit 1
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
engine=$(patroni_engine "$place" kindex)
primary=$(patroni_leads "$place")
for number in "${!names[@]}"; do
    start_node "$number"
done
echo 'three nodes serve one store:'
for number in "${!names[@]}"; do
    echo "  ${names[$number]}: http://127.0.0.1:${ports[$number]}, process ${pids[$number]}, log $place/${names[$number]}.log"
done
cat <<END_OF_TEXT
its rows are in $place/$primary, and in the other members, one of which is synchronous

  curl -X PUT http://127.0.0.1:${ports[0]}/kv/a -d 1     write at a node
  curl -i http://127.0.0.1:${ports[2]}/kv/a              read at another
  kill -9 ${pids[0]}; time curl -sS --retry 9 -X PUT http://127.0.0.1:${ports[1]}/kv/a -d 2
  $KINDEX cluster status --url http://127.0.0.1:${ports[1]}
  patronictl -c $place/a/patroni.yml list         the members
  kill -9 $(head -1 "$place/$primary/data/postmaster.pid"); time curl -sS --retry 30 -X PUT http://127.0.0.1:${ports[1]}/kv/a -d 3

Ctrl-C stops all of it.
END_OF_TEXT
wait

#!/bin/bash
# make cluster: databases and nodes start together, a commit waits for the synchronous
# standby, data are there the next time, and nothing runs afterwards.
ENGINE=bdb # its nodes are those of make cluster
. "$(dirname "$0")/../lib/http.sh"
needs psql
free_ports 3
read -ra ports <<<"$found"
place=$work/cluster
chmod 711 "$work"

cluster_start() {
    : >"$work/cluster.out"
    CLUSTER=$place PORTS="${ports[*]}" KINDEX=$KINDEX \
        "$(dirname "$0")/../../deploy/cluster.sh" >"$work/cluster.out" 2>&1 &
    cluster=$!
    wait_until grep -q '^Ctrl-C' "$work/cluster.out"
}
cluster_end() {
    kill -TERM "$cluster" 2>"$work/null"
    wait "$cluster"
}
end_cluster() {
    [ -z "$cluster" ] || cluster_end
    leave
}
trap end_cluster EXIT
at() { url=http://127.0.0.1:${ports[$1]}; }
# database DIRECTORY SQL
database() {
    psql --no-psqlrc --quiet --tuples-only --no-align --host="$place/$1" \
        --username=kindex --dbname=kindex --command="$2"
}

test_case 'three nodes answer, and one serves what another has written'
cluster_start
at 0
request PUT /kv/a '1'
expect 201
at 2
request GET /kv/a
expect 200
body_is 1
request GET /cluster
field '[.nodes[].role] | sort' '["active","standby","standby"]'
field .replicated true

test_case 'the standby of the database is synchronous'
is 'what the primary says' "$(database a 'SELECT sync_state FROM pg_stat_replication')" sync
is 'what the standby says' "$(database b 'SELECT pg_is_in_recovery()')" t

test_case 'all of it stops with the command, and its data are there the next time'
cluster_end
is 'processes' "$(pgrep -f -c -- "$place/")" 0
cluster_start
at 1
request GET /kv/a
expect 200
body_is 1
cluster_end
is 'processes' "$(pgrep -f -c -- "$place/")" 0
cluster=''

test_case 'a port that is taken is said, and nothing runs afterwards'
ports[2]=${ports[0]}
CLUSTER=$place PORTS="${ports[*]}" KINDEX=$KINDEX \
    "$(dirname "$0")/../../deploy/cluster.sh" >"$work/cluster.out" 2>&1 && ended_with=0 || ended_with=$?
is 'exit status' "$ended_with" 1
is 'what it says' "$(grep -c 'node three has ended' "$work/cluster.out")" 1
is 'processes' "$(pgrep -f -c -- "$place/")" 0

finish

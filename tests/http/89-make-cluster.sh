#!/bin/bash
# make cluster: Patroni's members and the nodes start together, a commit waits for the
# synchronous standby, data are there the next time, and nothing runs afterwards.
ENGINE=bdb # its nodes are those of make cluster
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../../deploy/postgres.sh"
. "$(dirname "$0")/../../deploy/patroni.sh"
needs psql patroni etcd
held_process=''
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
    [ -z "$held_process" ] || kill -KILL "$held_process"
    [ -z "$cluster" ] || cluster_end
    leave
}
trap end_cluster EXIT
at() { url=http://127.0.0.1:${ports[$1]}; }
# database SQL: asks the primary
database() {
    patroni_query "$place" "$1" kindex
}

test_case 'three nodes of make cluster answer, and one serves what another has written'
cluster_start
at 0
answers 201 PUT /kv/a '1'
at 2
answers 200 GET /kv/a
body_is 1
request GET /cluster
field '[.nodes[].role] | sort' '["active","standby","standby"]'
field .replicated true

test_case 'one standby of the database is synchronous'
is 'what the primary says' "$(database "SELECT count(*) FROM pg_stat_replication
    WHERE sync_state = 'sync'")" 1

# What is not sent to the standby, it does not confirm.
hold_standby() {
    held_process=$(database "SELECT pid FROM pg_stat_replication WHERE sync_state = 'sync'")
    kill -STOP "$held_process"
}
release_standby() {
    kill -CONT "$held_process"
    held_process=''
}
waiting() { # SQL
    [ "$(database "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND $1")" != 0 ]
}
# put_and_cancel PATH: a write, whose COMMIT no longer waits for the standby; its status
# comes into $work/put.status
put_and_cancel() {
    local seen
    seen=$(cancellations)
    rm -f "$work/put.status"
    hold_standby
    { curl --silent --max-time "$longest" --request PUT --data 2 --output "$work/put.body" \
        --write-out '%{http_code}' "$url$1" >"$work/put.part"
      mv "$work/put.part" "$work/put.status"; } &
    put=$!
    wait_until commit_waits
    database "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE wait_event = 'SyncRep' AND query = 'COMMIT'" >"$work/null"
    wait_until cancellation_seen "$seen"
}
commit_waits() {
    answered || waiting "query = 'COMMIT'"
}
cancellations() {
    cat "$place"/{one,two,three}.log | grep -c 'standby was cancelled'
}
cancellation_seen() { # NUMBER
    answered || [ "$(cancellations)" -gt "$1" ]
}
answered() {
    [ -e "$work/put.status" ]
}
acknowledged() {
    answered && grep -q '^2' "$work/put.status"
}

test_case 'a commit whose wait for the standby is cancelled is not acknowledged before a later one is there'
put_and_cancel /kv/cancelled
is 'that the write is acknowledged' "$(acknowledged && echo yes)" ''
release_standby
wait_until answered
wait $put
is 'what it is answered' "$(sed 's/503/201/' "$work/put.status")" 201
until_status 200 GET /kv/cancelled
body_is 2

test_case 'make cluster stops all its processes, and has its data the next time'
cluster_end
is 'processes' "$(pgrep -f -c -- "$place/")" 0
cluster_start
at 1
answers 200 GET /kv/a
body_is 1
cluster_end
is 'processes' "$(pgrep -f -c -- "$place/")" 0
cluster=''

test_case 'a port in use is reported, and no process stays'
last_port=${ports[2]}
ports[2]=${ports[0]}
CLUSTER=$place PORTS="${ports[*]}" KINDEX=$KINDEX \
    "$(dirname "$0")/../../deploy/cluster.sh" >"$work/cluster.out" 2>&1 && ended_with=0 || ended_with=$?
is 'exit status' "$ended_with" 1
is 'what it says' "$(grep -c 'node three has ended' "$work/cluster.out")" 1
is 'processes' "$(pgrep -f -c -- "$place/")" 0

# Patroni promotes the standby, or starts the killed server again.
test_case 'a commit that was cancelled is acknowledged only if the next primary has it'
ports[2]=$last_port
cluster_start
at 0
put_and_cancel /kv/promoted
is 'that the write is acknowledged' "$(acknowledged && echo yes)" ''
primary=$(patroni_leads "$place")
kill -KILL "$(head -1 "$place/$primary/data/postmaster.pid")" "$held_process"
held_process=''
wait_until answered
wait $put
stored() {
    database "SELECT count(*) FROM kindex.entries WHERE position('promoted' IN k) > 0" >"$work/stored" 2>"$work/null" &&
        [ -s "$work/stored" ]
}
wait_until stored
is 'that it is acknowledged and not stored' "$(acknowledged && [ "$(cat "$work/stored")" = 0 ] && echo yes)" ''
cluster_end
cluster=''

finish

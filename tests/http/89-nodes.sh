#!/bin/bash
# Several processes in front of one PostgreSQL: one is active, the others are
# standbys, which say where it is and take over when it ends or is frozen. What one
# acknowledged the next one has.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/nodes.sh"
have_nodes one two

takes() { # EXPECTED: whether it is active, and how often it became so
    request GET /metrics
    is 'active, takes' "$(grep -E '^kindex_(node_active|takes_total) ' "$answer" |
        sed 's/.* //' | paste -sd ' ')" "$1"
}

test_case 'the first node is active'
node_start one
answers 201 PUT /kv/a '1'
header Kindex-Node one
gives '.checks[] | select(.name == "role").state' ok GET '/readyz?verbose=1'
takes '1 1'

test_case 'the second node is a standby: it is ready, and answers what needs no entries'
node_start two --forward off
is 'what it says' "$(grep -c 'is a standby for' "$work/greeting")" 1
answers 200 GET '/readyz?verbose=1'
header Kindex-Node two
field '.checks[] | select(.name == "role").state' ok
answers 200 GET /livez
gives .name kindex GET /
gives .status 503 GET /problems/no-active-node
answers 200 GET /openapi.json
takes '0 0'
is 'the epochs of both' "$(grep '^kindex_epoch ' "$answer")" \
    "$(curl --silent "http://127.0.0.1:${ports[one]}/metrics" | grep '^kindex_epoch ')"

test_case 'a standby names the active node'
answers 503 no-active-node GET /kv/a
header Retry-After 1
header Kindex-Node two
field .node "http://127.0.0.1:${ports[one]}"
answers 503 no-active-node PUT /kv/b '2'
answers 503 no-active-node POST /atomic '{"mutations":[]}'
answers 503 no-active-node GET /indexes
answers 404 not-found GET /nowhere

test_case 'a standby with --forward redirect answers 307 with the same path and query'
node_end two TERM
node_start two --forward redirect
curl --silent --head --request GET "$url/kv/a%20b?x=%26" >"$work/redirect"
is 'its status' "$(head -1 "$work/redirect" | grep -c ' 307')" 1
is 'its Location' "$(sed -n 's/^location: //Ip' "$work/redirect" | tr -d '\r')" \
    "http://127.0.0.1:${ports[one]}/kv/a%20b?x=%26"
is 'its Cache-Control' "$(sed -n 's/^cache-control: //Ip' "$work/redirect" | tr -d '\r')" no-store
KX_RECORD= request PUT /kv/b '2' --location
expect 201
header Kindex-Node one

test_case 'a standby takes over at once when the active node stops'
node_end one TERM
is 'its exit status' $? 0
until_status 200 GET /kv/b
body_is 2
header Kindex-Node two
answers 200 PUT /kv/b '3'
takes '1 1'

test_case 'a standby takes over when the active node is killed, and the node that returns is a standby'
node_start one --forward redirect
node_end two KILL
at one
until_status 200 GET /kv/b
body_is 3
header Kindex-Node one
node_start two --forward redirect
KX_RECORD= request GET /kv/b '' --location
body_is 3
header Kindex-Node one

# It has the old value in its cache, and its clock says that its lease has ended.
test_case 'a node that was frozen never shows stale data'
signal one STOP
at two
until_status 200 PUT /kv/b '4'
header Kindex-Node two
signal one CONT
at one
old=0
for _ in {1..40}; do
    KX_RECORD= request GET /kv/b
    [ "$status $(cat "$answer")" != '200 3' ] || old=$((old + 1))
    pass_a_moment
done
is 'old answers' $old 0
KX_RECORD= until_status 307 GET /kv/b
is 'the line of its log' "$(grep -c 'event=restarting reason=lease-lost' "$log")" 1
is 'how often it was fenced' "$(curl --silent "$url/metrics" | grep '^kindex_fenced_total ')" 'kindex_fenced_total 1'
at two
is 'how often the other one was' "$(curl --silent "$url/metrics" | grep '^kindex_fenced_total ')" 'kindex_fenced_total 0'
is 'the number of its last batch' "$(curl --silent "$url/metrics" | grep '^kindex_batch ')" \
    "kindex_batch $(postgres_query store 'SELECT batch FROM kindex.state')"
at one

test_case 'no node answers from memory for longer than a lease without the database'
postgres_stop
at two
until_status 503 GET /kv/b
expect 503 no-active-node
answers 200 GET /livez
until_status 503 GET /readyz
expect 503 no-active-node
at one
until_status 503 GET /readyz
expect 503 no-active-node
postgres_resume || exit 1
KX_RECORD= until_status 200 GET /kv/b '' --location
body_is 4

# A session in a transaction that has locked the row of meta, as a node does that is
# frozen in a batch, and whose lease ends soon. lock SQL: what it sets in the lease.
lock() {
    psql --no-psqlrc --quiet --host="$KX_POSTGRES" --username=app --dbname=store \
        --command="UPDATE kindex.lease SET until = clock_timestamp() + interval '1 second', $1" \
        --command=BEGIN --command='SELECT FROM kindex.meta FOR UPDATE' \
        --command='SELECT pg_sleep(600)' >"$work/session" 2>&1 &
    session=$!
    wait_until is_locked
}
is_locked() {
    [ "$(postgres_query store "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = 1 ]
}

test_case 'a node that is frozen in a batch loses the store: its session is ended'
signal one TERM
signal two TERM
wait "${pids[one]}" "${pids[two]}"
lock 'pid = pg_backend_pid(), pid_since = (SELECT backend_start FROM pg_stat_activity
    WHERE pid = pg_backend_pid())'
node_start one
until_status 200 GET /kv/b
body_is 4
wait $session
is 'the session' "$(grep -c 'terminating connection' "$work/session")" 1

test_case 'the store is taken after the frozen session ends, if it cannot be found'
node_end one TERM
lock 'pid = NULL'
node_start one
answers 503 no-active-node GET /kv/b
postgres_query store "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE wait_event = 'PgSleep'" >"$work/null"
until_status 200 GET /kv/b
body_is 4

test_case 'running nodes end without a write when a later version changes the tables'
node_start two
at one
batch='SELECT batch FROM kindex.state'
before=$(postgres_query store "$batch")
postgres_query store 'UPDATE kindex.meta SET format = 4'
request PUT /kv/b '5'
[ "$status" != 200 ] || is status "$status" 503
has_ended() {
    ! kill -0 "${pids[$1]}" 2>"$work/null"
}
for node in one two; do
    wait_until has_ended $node || signal $node KILL
    wait "${pids[$node]}"
    is "the exit status of $node" $? 1
done
is 'what they say' "$(grep -c 'the tables have format 4.*use a newer one' "$log")" 2
is 'the number of the last batch' "$(postgres_query store "$batch")" "$before"
postgres_query store 'UPDATE kindex.meta SET format = 3'

test_case 'an invalid node name, address or way to forward is refused'
for bad in '--node a:b' '--node ' '--advertise ftp://a' '--advertise http://a/b' '--forward away'; do
    "$KINDEX" serve --engine "$address" "${bad%% *}" "${bad#* }" 2>"$work/refused"
    is "the exit status of $bad" $? 2
    is 'what it says' "$(grep -c -- "${bad%% *}: .* is not" "$work/refused")" 1
done

finish

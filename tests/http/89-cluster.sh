#!/bin/bash
# kindex cluster: which nodes there are; the active one steps down; commits that the
# database has lost keep every node from being active until an operator accepts it.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/nodes.sh"
have_nodes one two three

# stepped_down TIMES: since the beginning, as the log says
stepped_down() {
    [ "$(grep -c 'event=restarting reason=step-down' "$log")" = "$1" ]
}

test_case 'GET /cluster of either node shows both, with role, address, position and version'
node_start one
node_start two
for name in one two; do
    at $name
    until_field '[.nodes[] | [.node, .role]] == [["one","active"],["two","standby"]]' true GET /cluster
    field '[.nodes[].url]' "[\"http://127.0.0.1:${ports[one]}\",\"http://127.0.0.1:${ports[two]}\"]"
    field '[.nodes[].version] | unique | length' 1
    field '.replicated' false
done
at one
request GET /metrics
is 'the metric' "$(grep '^kindex_replicated' "$answer")" 'kindex_replicated 0'

load_is() { # NAME CONDITION
    request GET /metrics
    awk -v name="kindex_database_$1" '$1 == name { found = $2 } END { exit !(found + 0 '"$2"') }' "$answer"
}
test_case 'the active node shows an old transaction, a slot that holds the log, and the connections of the database'
wait_until load_is connections_max '> 100'
load_is connections '> 2' || is 'the connections' "$(grep kindex_database "$answer")" 'more than 2'
load_is oldest_transaction_seconds '== 0' || load_is oldest_transaction_seconds '< 1'
is 'the age of the oldest transaction is below 1 s' $? 0
psql --no-psqlrc --quiet --host="$KX_POSTGRES" --username=kindex --dbname=store \
    --command='BEGIN ISOLATION LEVEL REPEATABLE READ' --command='SELECT FROM kindex.meta' \
    --command='SELECT pg_sleep(600)' >"$work/session" 2>&1 &
session=$!
# Without this right, a role sees no transactions of others.
postgres_query store 'GRANT pg_monitor TO app'
postgres_query store "SELECT pg_create_physical_replication_slot('unread', true)" >"$work/null"
answers 201 PUT /kv/load '1'
wait_until load_is oldest_transaction_seconds '> 1'
wait_until load_is slot_bytes '> 0'
answers 200 PUT /kv/load '2'
wait_until load_is dead_rows '> 0'
postgres_query store "SELECT pg_drop_replication_slot('unread'),
    (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep')" >"$work/null"
wait $session
wait_until load_is oldest_transaction_seconds '< 1'
wait_until load_is slot_bytes '== 0'
answers 201 PUT /kv/a '1'
request GET /cluster
before=$(jq .batch "$answer")
request PUT /kv/a '2'
until_field ".batch > $before and .nodes[0].batch > $before and .nodes[1].batch > $before" true GET /cluster
field '[.nodes[].lag] | max < 100' true

test_case 'kindex cluster status shows the nodes as a table and as JSON'
kindex cluster status
ends 0
is 'lines' "$(wc -l <"$work/out")" 3
is 'the active one' "$(grep -c "^one  *active .*http://127.0.0.1:${ports[one]}$" "$work/out")" 1
kindex cluster status -o json
is 'nodes' "$(jq '.nodes | length' "$work/out")" 2

test_case 'the active node steps down when asked through a standby, and the other one takes over at once'
at two
kindex cluster step-down
ends 0
complains 'one steps down'
wait_until stepped_down 1
until_status 200 GET /kv/a
body_is 2
header Kindex-Node two
until_field '[.nodes[] | [.node, .role]] == [["one","standby"],["two","active"]]' true GET /cluster
is 'the process that stepped down' "$(kill -0 "${pids[one]}" && echo there)" there

test_case 'a node that stepped down takes the lease again if there is no other'
node_end one TERM
at two
kindex cluster step-down
ends 0
wait_until stepped_down 2
until_status 200 GET /kv/a
header Kindex-Node two

test_case 'accept-loss reports when nothing is lost, and --dry-run changes nothing'
kindex cluster accept-loss --engine "$address" --dry-run
ends 0
complains 'no node has seen more than the database has'
is 'what is noted' "$(postgres_query store 'SELECT count(*) FROM kindex.lost')" 0
kindex cluster accept-loss
ends 2
kindex cluster upgrade
ends 2

# As an asynchronous standby of the database that lacks the last commits, and is
# promoted: the numbers and rows are those of an earlier state.
older_state() {
    postgres_query store "BEGIN; UPDATE kindex.entries
        SET v = old.v FROM old WHERE entries.k = old.k; UPDATE kindex.facts SET v = old.v
        FROM old WHERE facts.k = old.k;
        DELETE FROM kindex.log WHERE batch = (SELECT batch FROM kindex.state); COMMIT"
}
test_case 'no node is active after the database lost commits, and all say why'
node_start one
at two
until_field '.nodes | length' 2 GET /cluster
postgres_query store 'CREATE TABLE old AS SELECT k, v FROM kindex.entries UNION ALL
    SELECT k, v FROM kindex.facts'
answers 200 PUT /kv/a '3'
lost=$(jq -r .versionstamp "$answer")
until_field '[.nodes[].batch] | unique | length' 1 GET /cluster
older_state
for name in one two; do
    at $name
    until_status 503 GET /kv/a
    until_field '.detail | contains("accept-loss")' true GET /kv/a
    until_field '[.checks[] | select(.name == "role").detail | contains("accept-loss")]' '[true]' \
        GET '/readyz?verbose=1'
done
kindex cluster accept-loss --engine "$address" --dry-run
ends 0
complains 'has seen epoch'
for _ in {1..100}; do # more than a lease takes
    request GET /kv/a
    [ "$status" = 503 ] || break
    pass_a_moment
done
expect 503 no-active-node

test_case 'a node is active after accept-loss, and repeats no versionstamp'
kindex cluster accept-loss --engine "$address"
ends 0
complains 'accepted'
until_status 200 GET /kv/a
body_is 2
answers 200 PUT /kv/a '4'
is 'above what was lost' "$(jq -r --arg lost "$lost" '.versionstamp > $lost' "$answer")" true
is 'the leap' "$(grep -c 'event=versionstamps-raised' "$log")" 1
is 'what is noted' "$(postgres_query store 'SELECT count(*) FROM kindex.lost')" 0
until_field '[.nodes[].role] | sort' '["active","standby"]' GET /cluster

# What the nodes would do without the memory of what they have seen.
test_case 'nodes without memory of the lost commits serve the older state, and repeat a versionstamp'
for name in one two; do
    node_end $name TERM
done
node_start one
at one
postgres_query store 'DROP TABLE old; CREATE TABLE old AS SELECT k, v FROM kindex.entries UNION ALL
    SELECT k, v FROM kindex.facts' >"$work/null"
request PUT /kv/a '5'
lost=$(jq -r .versionstamp "$answer")
node_end one KILL
older_state
node_start one
until_status 200 GET /kv/a
body_is 4
request PUT /kv/a '6'
is 'the versionstamp again' "$(jq -r .versionstamp "$answer")" "$lost"

test_case 'accept-loss raises versionstamps after a restore of the database'
kindex cluster accept-loss --engine "$address"
kindex cluster step-down
wait_until stepped_down 3
until_status 200 GET /kv/a
request PUT /kv/a '7'
is 'far above' "$(jq -r --arg lost "$lost" '.versionstamp > $lost' "$answer")" true
is 'the leaps' "$(grep -c 'event=versionstamps-raised' "$log")" 2

test_case 'a node notices that another batch has taken the place of its own lost one'
postgres_query store 'DROP TABLE old; CREATE TABLE old AS SELECT k, v FROM kindex.entries UNION ALL
    SELECT k, v FROM kindex.facts' >"$work/null"
answers 200 PUT /kv/a '8'
signal one STOP
older_state
node_start three
at three
until_status 200 GET /kv/a
body_is 7
answers 200 PUT /kv/a '9'
signal one CONT
until_status 503 GET /kv/a
until_field '.detail | contains("accept-loss")' true GET /kv/a
kindex cluster accept-loss --engine "$address" --dry-run
ends 0
complains 'another batch'
kindex cluster accept-loss --engine "$address"
ends 0
until_status 200 GET /kv/a
body_is 9

finish

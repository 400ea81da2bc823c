#!/bin/bash
# kindex serve --engine: the rows are in a PostgreSQL database. What is
# acknowledged stays there when either of the two processes ends, and without the
# database there are clear answers. Several nodes are in 89-nodes.sh.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
# Not the cluster of the run: this story stops its cluster.
own_database
address=$found
serve() {
    start_server --engine "$address" "$@"
}

# What a server says that does not start: refused OPTION...
refused() {
    timeout "$longest" "$KINDEX" serve --listen 0 "$@" >"$work/refused" 2>&1
    is 'its exit status' $? 1
    is 'what it says' "$(grep -c -- "$wanted" "$work/refused")" 1
    [ "$(grep -c -- "$wanted" "$work/refused")" = 1 ] || cat "$work/refused"
}

test_case 'entries are stored in PostgreSQL and read, alone, together and by a list'
serve
answers 201 PUT /kv/people/1 '{"name":"Ada","age":36}'
answers 200 POST /atomic '{"mutations":[{"type":"set","key":["people","2"],"value":{"name":"Bob","age":50}},
    {"type":"set","key":["people","3"],"value":{"name":"Cyd","age":20}}]}'
gives .name Bob GET /kv/people/2
gives '[.entries[].value.name]' '["Ada","Bob","Cyd"]' GET '/list?prefix=people'
is 'the data directory' "$(ls "$work/data" 2>&1 | grep -c db)" 0

test_case 'an index in PostgreSQL is built over entries, and lists them in its order'
request POST /indexes '{"name":"by_age","prefix":["people"],"fields":["/age"]}'
until_field .state ready GET /indexes/by_age
gives '[.entries[].value.age]' '[20,36,50]' GET '/list?index=by_age'

# Rows of an index that are longer than PostgreSQL lets a key be: an owner of almost
# 2,048 bytes after a value of almost as many, neither of which can be compressed.
test_case 'the conflicts of a unique index with the longest keys and values are found and resolved'
owner=$(head -c 1420 /dev/urandom | base64 -w 0 | tr '+/=' 'abc')
shared=$(head -c 1420 /dev/urandom | base64 -w 0 | tr '+/=' 'abc')
for n in 1 2 3; do
    printf '{"mutations":[{"type":"set","key":["long","%s%s"],"value":{"v":"%s"}}]}' \
        "$owner" $n "$shared" >"$work/long"
    answers 200 POST /atomic "@$work/long"
done
request POST /indexes '{"name":"by_v","prefix":["long"],"fields":["/v"],"unique":true}'
until_field .state conflicted GET /indexes/by_v
field .conflicts 2
is 'rows longer than PostgreSQL lets a key be' "$(postgres_query store \
    'SELECT count(*) FROM kindex.entries WHERE length(k) + length(rest) > 2704')" 2
gives '[.conflicts[].keys[] | .[1][-1:]] | sort' '["1","2","3"]' GET /indexes/by_v/conflicts
answers 204 DELETE "/kv/long/${owner}2"
answers 204 DELETE "/kv/long/${owner}3"
until_field .state ready GET /indexes/by_v
is 'rows that are left of the conflicts' "$(postgres_query store \
    "SELECT count(*) FROM kindex.entries WHERE rest <> ''")" 0

# A transaction beside them, such as a dump, keeps all versions of a row.
test_case 'no batch makes a new version of a row that the one before it has made'
versions="SELECT m.xmin, m.ctid, f.xmin, f.ctid FROM kindex.meta AS m, kindex.facts AS f
    WHERE f.k = 'facts'"
answers 201 PUT /kv/versions/0 0
before=$(postgres_query store "$versions")
batch=$(postgres_query store 'SELECT batch FROM kindex.state')
for n in 1 2 3; do
    answers 201 PUT /kv/versions/$n $n
done
is 'batches' $(($(postgres_query store 'SELECT batch FROM kindex.state') - batch)) 3
is 'the rows of meta and facts' "$(postgres_query store "$versions")" "$before"

test_case 'a backup is refused with PostgreSQL, and the hint names its own tools'
answers 501 no-backup GET /backup

test_case 'entries and indexes in PostgreSQL survive a restart'
stop_server
is 'its exit status' $? 0
serve
gives .name Cyd GET /kv/people/3
gives '.entries[0].value.age' 20 GET '/list?index=by_age&limit=1'

test_case 'entries in PostgreSQL survive a kill: the start waits for the lease to expire'
answers 201 PUT /kv/people/4 '{"name":"Dan","age":70}'
kill -KILL "$server"
wait "$server" 2>"$work/null"
serve
gives '.entries[0].value.name' Dan GET '/list?index=by_age&reverse=1&limit=1'

test_case 'a write and a read are answered 503 without the database, and /livez 200'
postgres_stop
answers 503 database-unreachable PUT /kv/people/5 '{"name":"Eve","age":1}'
header Retry-After 1
answers 503 database-unreachable GET /kv/nothing/like/it
header Retry-After 1
answers 503 database-unreachable GET '/list?prefix=people'
answers 200 GET /livez
request GET /kv/people/4
[ "$status" = 200 ] || expect 503 no-active-node

test_case 'when the database is back, the service and all acknowledged entries are, too'
postgres_resume || exit 1
until_status 201 PUT /kv/people/6 '{"name":"Fay","age":2}'
gives '[.entries[].value.name]' '["Ada","Bob","Cyd","Dan","Fay"]' GET '/list?prefix=people'
gives '[.entries[].value.age]' '[2,20,36,50,70]' GET '/list?index=by_age'

test_case 'a connection that the database has closed is reopened, unnoticed by clients'
postgres_query store "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = 'store' AND pid <> pg_backend_pid()" >"$work/null"
answers 404 GET /kv/nothing/like/it
until_status 201 PUT /kv/people/7 '{"name":"Gil","age":3}'

# Such as an error of its disk.
test_case 'a read is refused when the database lacks the epoch of the node, as a replaced primary does'
answers 200 GET '/list?limit=1'
postgres_query store 'UPDATE kindex.meta SET epoch = epoch - 1'
answers 503 database-unreachable GET '/list?limit=1'
is 'what the log says' "$(($(grep -c event=database-replaced "$log") > 0))" 1
postgres_query store 'UPDATE kindex.meta SET epoch = epoch + 1'
until_status 200 GET '/list?limit=1'

test_case 'a refused renewal of the lease is retried'
postgres_query store "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION USING ERRCODE = ''58030''; END'"
postgres_query store 'CREATE TRIGGER refuse BEFORE UPDATE ON kindex.lease FOR EACH ROW
    EXECUTE FUNCTION refuse()'
until_status 503 GET /kv/people/4
expect 503 no-active-node
postgres_query store 'DROP TRIGGER refuse ON kindex.lease'
postgres_query store 'DROP FUNCTION refuse'
until_status 200 GET /kv/people/4

settings() { # COMMAND: by a reload, as an operator or a failover tool does
    postgres_query store "ALTER SYSTEM $1"
    postgres_query store 'SELECT pg_reload_conf()' >"$work/null"
}
says_wait() {
    request GET '/readyz?verbose=1'
    grep -q 'Commits wait for a standby of the database' "$answer"
}
test_case '/readyz and the log say when commits wait for a standby of the database'
settings "SET synchronous_standby_names = 'nowhere'"
wait_until says_wait
is 'lines of the log' "$(grep -c 'event=database .*commits wait for a standby' "$log")" 1
request GET /readyz
expect 503
settings 'RESET synchronous_standby_names'
until_status 200 GET /readyz

# COMMIT waits for a standby that is not there: the batch is on disk, and its
# answer is not sent.
commits_wait() {
    [ "$(postgres_query store "SELECT count(*) FROM pg_stat_activity
        WHERE wait_event = 'SyncRep' AND query = 'COMMIT'")" -gt 0 ]
}
end_commits="SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND query = 'COMMIT'"
# lose_answer KEY COMMAND...: to a PUT, by the command; then $found is its status
lose_answer() {
    local sender
    postgres_query store "ALTER SYSTEM SET synchronous_standby_names = 'nowhere'"
    postgres_query store 'SELECT pg_reload_conf()' >"$work/null"
    curl --silent --dump-header "$head" --output "$answer" --write-out '%{http_code}' --request PUT \
        --data '{"name":"Ivy","age":5}' "$url/kv/people/$1" >"$work/lost.status" &
    sender=$!
    wait_until commits_wait
    "${@:2}"
    postgres_query store 'ALTER SYSTEM RESET synchronous_standby_names'
    postgres_query store 'SELECT pg_reload_conf()' >"$work/null"
    wait $sender
    found=$(cat "$work/lost.status")
}
test_case 'a commit whose answer was lost is answered as the database has it'
lose_answer 9 postgres_query store "$end_commits" >"$work/null"
is 'its status' "$found" 201
is 'the line of the log' "$(grep -c 'event=database-resolved applied=1' "$log")" 1
gives .name Ivy GET /kv/people/9

# As a node does whose predecessor was cut off. The renewals of that one wait as the
# commit does, with the row of the lease locked.
take_over() {
    (
        postgres_query store "SET synchronous_commit = local; BEGIN; UPDATE kindex.lease SET
            epoch = epoch + 1, holder = 'another', node = 'another',
            until = clock_timestamp() + interval '1 second'; COMMIT; $end_commits" >"$work/null"
    ) &
    wait_until is_taken
    wait $!
}
is_taken() {
    postgres_query store "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE wait_event = 'SyncRep' AND query LIKE 'UPDATE kindex.lease%'" >"$work/null"
    [ "$(postgres_query store 'SELECT holder FROM kindex.lease')" = another ]
}
begun_again() { # it has a new port then
    wait_until server_has_spoken
    url=http://127.0.0.1:$(cat "$work/port")
}
# A server that stops in time for the answer, which a slow machine may not let it.
test_case 'a commit whose server lost its lease before the answer is answered as the database has it'
rm "$work/port"
lose_answer 10 take_over
[ "$found" = 000 ] || is 'its status' "$found" 201
begun_again
is 'the line of the log' "$(grep -c 'event=database-resolved applied=1' "$log")" 2
until_status 200 GET /kv/people/10

# The holder keeps the last rows of log only. Here the row is of another batch.
test_case 'a commit with a lost answer is unknown when the log has no row of it'
rm "$work/port"
postgres_query store "CREATE FUNCTION renumber() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN NEW.batch := NEW.batch + 1; RETURN NEW; END'"
postgres_query store 'CREATE TRIGGER renumber BEFORE INSERT ON kindex.log FOR EACH ROW
    EXECUTE FUNCTION renumber()'
lose_answer 11 take_over
status=$found
[ "$found" = 000 ] || expect 503 commit-unknown
postgres_query store 'DROP TRIGGER renumber ON kindex.log'
postgres_query store 'DROP FUNCTION renumber'
begun_again
is 'lines of the log' "$(grep -c 'event=database-resolved' "$log")" 2
until_status 200 GET /kv/people/11

# As a node does that was frozen, and another took the store over meanwhile.
test_case 'a server whose lease was taken away applies nothing, and starts over'
rm "$work/port"
postgres_query store "BEGIN; UPDATE kindex.lease SET epoch = epoch + 1, holder = 'another',
    node = 'another', until = clock_timestamp() + interval '4 seconds';
    UPDATE kindex.meta SET epoch = epoch + 1; COMMIT"
answers 503 no-active-node PUT /kv/people/8 '{"name":"Halcyone unstored","age":4}'
header Retry-After 1
begun_again
until_status 404 GET /kv/people/8
is 'lines of the log' "$(grep -c 'event=restarting reason=lease-lost' "$log")" 3
is 'rows of the refused entry' "$(postgres_query store \
    "SELECT count(*) FROM kindex.entries WHERE v::text LIKE '%' || encode('Halcyone unstored', 'hex') || '%'")" 0
gives .name Gil GET /kv/people/7

test_case 'a server applies no batch whose number another one has used, and begins again'
rm "$work/port"
postgres_query store "INSERT INTO kindex.log (batch, epoch, id, at_ms, facts) SELECT batch + 1,
    epoch, 'another', at_ms, facts FROM kindex.log ORDER BY batch DESC LIMIT 1"
answers 503 no-active-node PUT /kv/people/8 '{"name":"Halcyone unstored","age":4}'
begun_again
until_status 404 GET /kv/people/8
is 'lines of the log' "$(grep -c 'event=restarting reason=lease-lost' "$log")" 4
stop_server
is 'its exit status' $? 0

# As in a failover: the COMMIT of a take waits for a standby until its session ends, so
# the process does not learn of it; once its lease has expired, another one is taking it.
waiting() { # for locks or a standby: waiting EVENT
    [ "$(postgres_query store "SELECT count(*) FROM pg_stat_activity
        WHERE datname = 'store' AND '$1' IN (wait_event, wait_event_type)")" -gt 0 ]
}
has_expired() {
    waiting Lock || [ "$(postgres_query store "SELECT count(*) FROM kindex.lease
        WHERE until < clock_timestamp() - interval '1 second'")" = 1 ]
}
is_held() { [ -s "$work/held" ]; }
is_quiet() {
    [ "$(postgres_query store "SELECT count(*) FROM pg_stat_activity WHERE datname = 'store'
        AND state <> 'idle' AND pid <> pg_backend_pid()")" = 0 ]
}
test_case 'a process that takes the lease again beside another one does not write its earlier epoch'
settings "SET synchronous_standby_names = 'nowhere'"
"$KINDEX" serve --listen 0 --engine "$address" 2>"$work/late" &
late=$!
wait_until waiting SyncRep
mkfifo "$work/other"
psql --no-psqlrc --quiet --tuples-only --no-align --host="$KX_POSTGRES" --username=kindex \
    --dbname=store <"$work/other" >"$work/held" 2>&1 &
exec 7>"$work/other"
echo "SET synchronous_commit = local; BEGIN; UPDATE kindex.lease SET epoch = epoch + 1,
    holder = 'another', node = 'another', until = clock_timestamp() + interval '1 hour';
    UPDATE kindex.meta SET epoch = epoch + 1; SELECT 'held';" >&7
wait_until waiting Lock
postgres_query store "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE wait_event = 'SyncRep'" >"$work/null"
settings 'RESET synchronous_standby_names'
wait_until is_held
wait_until has_expired
echo 'COMMIT;' >&7
exec 7>&-
wait_until is_quiet
is 'epochs of the lease and of meta' "$(postgres_query store 'SELECT lease.epoch - meta.epoch, holder
    FROM kindex.lease JOIN kindex.meta USING (one)')" '0|another'
kill "$late"
wait "$late"
postgres_query store "UPDATE kindex.lease SET until = '1970-01-01'"

# Six nodes of one new database wait for each other; a slow disk makes that long.
test_case 'a node waits longer than a lease for another one that makes the tables'
stored=$address
postgres_database fresh || exit 1
mkfifo "$work/maker"
psql --no-psqlrc --quiet --tuples-only --no-align --host="$KX_POSTGRES" --username=kindex \
    --dbname=fresh <"$work/maker" >"$work/making" 2>&1 &
exec 7>"$work/maker"
echo "BEGIN; SELECT pg_advisory_xact_lock(4512, 1); SELECT 'held';" >&7
is_making() { grep -q held "$work/making"; }
wait_until is_making
"$KINDEX" serve --listen 0 --port-file "$work/late_port" --engine "$found" 2>"$work/late" &
late=$!
has_waited() { # or has given up
    ! kill -0 "$late" 2>"$work/null" ||
        [ "$(postgres_query fresh "SELECT count(*) FROM pg_stat_activity WHERE datname = 'fresh'
            AND wait_event = 'advisory' AND query_start < now() - interval '2500 ms'")" = 1 ]
}
wait_until has_waited
echo 'COMMIT;' >&7
exec 7>&-
has_port() { [ -s "$work/late_port" ] || ! kill -0 "$late" 2>"$work/null"; }
wait_until has_port
kill "$late"
wait "$late"
is 'its exit status' $? 0
address=$stored

test_case 'tables of an earlier format are refused until a command upgrades them, newer ones always'
postgres_query store "ALTER TABLE kindex.meta ADD holder text NOT NULL DEFAULT '',
    ADD pid int4, ADD pid_since timestamptz, ADD node text, ADD address text, ADD until timestamptz"
postgres_query store 'UPDATE kindex.meta SET format = 1; DROP TABLE kindex.lease, kindex.seen'
wanted='run kindex cluster upgrade' refused --engine "$address"
"$KINDEX" cluster upgrade --engine "$address" 2>"$work/null"
is 'the exit status' $? 0
serve
gives .name Gil GET /kv/people/7
is 'the format' "$(postgres_query store 'SELECT format FROM kindex.meta')" 3
stop_server
postgres_query store 'UPDATE kindex.meta SET format = 4'
wanted='use a newer one' refused --engine "$address"
"$KINDEX" cluster upgrade --engine "$address" 2>"$work/null"
is 'the exit status' $? 1
postgres_query store 'UPDATE kindex.meta SET format = 3'

test_case 'synchronous_commit is set for the session, whatever the role or a reload says'
postgres_query store "CREATE TABLE public.commits AS SELECT ''::text AS setting WHERE false;
    GRANT INSERT ON public.commits TO app;
    CREATE FUNCTION note_setting() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
    INSERT INTO public.commits VALUES (current_setting(''synchronous_commit'')); RETURN NEW; END';
    CREATE TRIGGER note_setting AFTER INSERT ON kindex.log FOR EACH ROW
    EXECUTE FUNCTION note_setting(); ALTER ROLE app SET synchronous_commit = off"
serve
settings 'SET synchronous_commit = off'
request PUT /kv/people/7 '{"name":"Gil","age":3}'
expect 200
postgres_query store 'ALTER ROLE app RESET synchronous_commit'
stop_server
settings 'SET synchronous_commit = remote_apply'
serve
request PUT /kv/people/7 '{"name":"Gil","age":3}'
expect 200
stop_server
settings 'RESET synchronous_commit'
is 'the settings of commits' "$(postgres_query store 'SELECT DISTINCT setting
    FROM public.commits ORDER BY 1' | paste -sd ' ')" 'on remote_apply'
postgres_query store 'DROP TRIGGER note_setting ON kindex.log; DROP FUNCTION note_setting;
    DROP TABLE public.commits'

for setting in fsync full_page_writes; do
    test_case "a database with $setting off is refused"
    settings "SET $setting = off"
    wanted="$setting is off" refused --engine "$address"
    settings "RESET $setting"

    test_case "after a reload turns $setting off, nothing is acknowledged until it is on again"
    serve
    settings "SET $setting = off"
    until_status 503 PUT /kv/people/8 '{"name":"Hal","age":4}'
    until_status 503 GET /kv/people/7
    expect 503 no-active-node
    is 'what the log says' "$(grep -c "event=database .*$setting is off" "$log")" 1
    settings "RESET $setting"
    until_status 200 GET /kv/people/7
    request PUT /kv/people/8 '{"name":"Hal","age":4}'
    [ "$status" = 201 ] || expect 200
    stop_server
done

test_case 'a read-only database is refused'
postgres_query store 'ALTER DATABASE store SET default_transaction_read_only = on'
wanted='read-only' refused --engine "$address"
PGOPTIONS='-c default_transaction_read_only=off' postgres_query store \
    'ALTER DATABASE store RESET default_transaction_read_only'

test_case 'an address with a password, or of another machine without TLS, is refused'
wanted='--engine-password-file' refused --engine postgresql://kindex:secret@127.0.0.1/store
for host in 192.0.2.1 127.example.org 127.0.0.1.example.org; do
    wanted='use sslmode=verify-full' refused --engine "postgresql://kindex@$host/store?sslmode=require"
done

test_case 'an address with more hosts than ports, or too many, is refused'
wanted='as many ports' refused --engine 'postgresql:///store?host=/tmp,/tmp,/tmp&port=1,2'
wanted='has 9 hosts' refused --engine 'postgresql:///store?host=/tmp,/tmp,/tmp,/tmp,/tmp,/tmp,/tmp,/tmp,/tmp'

test_case 'the password of the database is read from a file'
echo secret >"$work/password"
serve --engine-password-file "$work/password"
gives .name Ada GET /kv/people/1
rm "$work/password"
stop_server
wanted="$work/password" refused --engine "$address" --engine-password-file "$work/password"

test_case 'a limit of open files, of which forwarding needs some, does not raise --connections-max'
(ulimit -n 300; exec "$KINDEX" serve --listen 0 --engine "${address/store/missing}" \
    --connections-max 100 2>"$work/refused")
is 'the line of the log' "$(grep -c 'connections-max=100 open-files=[23]' "$work/refused")" 1

# statements COMMAND...: the look-ups of single entries, and of many together
statements() {
    local log=$KX_POSTGRES/server.log before
    before=$(wc -l <"$log")
    "$@"
    found=$(tail -n +$((before + 1)) "$log" | awk '
        /SELECT v FROM entries WHERE/ { single++ }
        /WITH ORDINALITY AS wanted/ { together++ }
        END { print single + 0, together + 0 }')
}
many() { # TEXT: with a number in place of each N, 60 times, separated by commas
    local n
    for ((n = 10; n < 70; n++)); do
        echo "${1//N/$n}"
    done | paste -sd ,
}

test_case 'entries that an index points to, or that a request names, are read together, but for long ones'
serve
many '{"type":"set","key":["people","xN"],"value":{"age":N}}' >"$work/many"
answers 200 POST /atomic "{\"mutations\":[$(cat "$work/many")]}"
answers 200 PUT /kv/people/x10 "{\"age\":10,\"text\":\"$(printf '%09000d' 0)\"}"
stop_server
postgres_query store "ALTER DATABASE store SET log_statement = 'all'"
serve
statements request GET '/list?index=by_age&limit=60'
field '.entries | length' 60
field '[.entries[].value.text // empty | length]' '[9000]'
is 'single look-ups, and others' "$found" '1 2'
keys=$(many '["none","yN"]')
statements request POST /get "{\"keys\":[$keys]}"
field '.entries | length' 60
is 'single look-ups, and others' "$found" '0 1'
stop_server
serve
statements request POST /atomic "{\"mutations\":[$(cat "$work/many")]}"
expect 200
is 'single look-ups, and others' "$found" '1 1'
stop_server
postgres_query store 'ALTER DATABASE store RESET log_statement'

test_case 'the last entry is stored with all others at the end'
serve
gives .name Gil GET /kv/people/7

finish

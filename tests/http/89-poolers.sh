#!/bin/bash
# kindex serve --engine through pgbouncer: in session mode all works, also when the
# pooler or the database begins again; other modes are refused.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
own_database
needs pgbouncer

# A pgbouncer of its own in the socket directory of the database, as its user.
pooler=$KX_POSTGRES/pooler
# begin_pooler MODE SETTING...
begin_pooler() {
    {
        printf '%s\n' '[databases]' "store = host=$KX_POSTGRES dbname=store user=app" \
            '[pgbouncer]' "logfile = $pooler/log" "pidfile = $pooler/pid" \
            "unix_socket_dir = $pooler" 'listen_port = 6432' 'auth_type = any' \
            'server_login_retry = 1' "pool_mode = $1"
        [ $# -eq 1 ] || printf '%s\n' "${@:2}"
    } >"$pooler/ini"
    as_postgres pgbouncer -d -q "$pooler/ini" 2>"$work/pgbouncer" || cat "$work/pgbouncer"
    wait_until pooler_answers
}
pooler_answers() {
    psql --no-psqlrc --quiet --host="$pooler" --port=6432 --username=kindex --dbname=store \
        --command='SELECT 1' >"$work/null" 2>&1
}
end_pooler() {
    local pid
    pid=$(cat "$pooler/pid" 2>"$work/null") && kill -TERM "$pid" &&
        wait_until pooler_has_ended
}
pooler_has_ended() {
    [ ! -e "$pooler/pid" ]
}
end_story() {
    [ "$BASHPID" = "$$" ] || return # not in a subshell
    [ -z "$server" ] || stop_server
    end_pooler
    leave
}
trap end_story EXIT
install -d -m 755 -o "$(stat -c %u "$KX_POSTGRES")" "$pooler"
address="postgresql://app@/store?host=$pooler&port=6432"

# Another client keeps processes of the database busy and idle in turn.
busy() {
    while [ ! -e "$work/refused-all" ]; do
        pooler_answers
    done
}

for mode in transaction statement; do
    for setting in server_round_robin=0 'server_round_robin=1
min_pool_size=5'; do
        test_case "$mode mode is refused (${setting%%$'\n'*})"
        begin_pooler $mode "$setting"
        rm -f "$work/refused-all"
        busy &
        timeout "$longest" "$KINDEX" serve --listen 0 --engine "$address" >"$work/refused" 2>&1
        is 'the exit status' $? 1
        is 'what it says' "$(grep -c 'use session mode' "$work/refused")" 1
        touch "$work/refused-all"
        wait $!
        end_pooler
    done
done

test_case 'entries are stored and read through a pooler in session mode'
begin_pooler session 'default_pool_size=50'
start_server --engine "$address"
request PUT /kv/people/1 '{"name":"Ada"}'
expect 201
request GET /kv/people/1
field .name Ada
request GET '/list?prefix=people'
field '.entries | length' 1

test_case 'stored entries are there after a restart of the pooler'
end_pooler
begin_pooler session 'default_pool_size=50'
until_status 201 PUT /kv/people/2 '{"name":"Bob"}'
request GET '/list?prefix=people'
field '[.entries[].value.name]' '["Ada","Bob"]'

# The pooler refuses connections at once for server_login_retry.
test_case 'the service recovers through a pooler after a restart of the database'
postgres_stop
until_status 503 PUT /kv/people/3 '{"name":"Cyd"}'
postgres_resume || exit 1
until_status 201 PUT /kv/people/4 '{"name":"Dan"}'
request GET '/list?prefix=people&limit=2'
field '[.entries[].value.name]' '["Ada","Bob"]'
stop_server
is 'its exit status' $? 0

finish

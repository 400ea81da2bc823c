# A PostgreSQL with three members, a, b and c, that Patroni keeps in one etcd: all on this
# machine, in one directory. For make cluster and for the tests. To be sourced after
# postgres.sh.
#
#   patroni_make PLACE SETTING...     chooses ports and writes the settings; keeps the data.
#                                     The settings are those of Patroni's bootstrap.dcs, for
#                                     new data ("synchronous_mode: true")
#   patroni_begin PLACE NAME...       starts etcd or members
#   patroni_end PLACE NAME...         stops them: a member with its server
#   patroni_leads PLACE               prints the member that is the primary; fails if none is
#   patroni_ready PLACE               waits until there is one, and until two standbys follow
#                                     it, of which Patroni has made one synchronous
#   patroni_follow PLACE              waits until two standbys follow it
#   patroni_engine PLACE DATABASE [ROLE]    prints the address of a database for kindex
#   patroni_query PLACE SQL           asks the primary
#
# PLACE/NAME/pid has the process; PLACE/NAME/patroni.log what it says. A server's socket is
# in PLACE/NAME, with the port in PLACE/NAME/port.

patroni_free_ports() {
    python3 -c 'import socket, sys
every = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(each.getsockname()[1] for each in every))' "$1"
}

patroni_make() {
    local place=$1 free name
    shift
    read -ra free <<<"$(patroni_free_ports 8)"
    for name in etcd a b c; do
        postgres_place "$place/$name" || return
    done
    cat >"$place/etcd/arguments" <<END
--name=etcd --data-dir=$place/etcd/data --log-level=warn
--listen-client-urls=http://127.0.0.1:${free[0]} --advertise-client-urls=http://127.0.0.1:${free[0]}
--listen-peer-urls=http://127.0.0.1:${free[1]} --initial-advertise-peer-urls=http://127.0.0.1:${free[1]}
--initial-cluster=etcd=http://127.0.0.1:${free[1]}
END
    echo "${free[0]}" >"$place/etcd/port"
    free=("${free[@]:2}")
    for name in a b c; do
        echo "${free[0]}" >"$place/$name/port"
        echo "${free[1]}" >"$place/$name/rest"
        patroni_settings "$place" "$name" "$@" >"$place/$name/patroni.yml"
        free=("${free[@]:2}")
    done
}

# Users of the servers are trusted: they listen on loopback addresses only. A member that
# has lost its server is replaced at once.
patroni_settings() { # PLACE NAME SETTING...
    local place=$1 own=$1/$2 port rest
    port=$(cat "$own/port") rest=$(cat "$own/rest")
    cat <<END
scope: kindex
name: $2
restapi: {listen: "127.0.0.1:$rest", connect_address: "127.0.0.1:$rest"}
etcd3: {host: "127.0.0.1:$(cat "$place/etcd/port")"}
bootstrap:
  initdb: [{encoding: UTF8}, {locale: C}, no-sync]
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    primary_start_timeout: 0
    maximum_lag_on_failover: 16777216
$(printf '    %s\n' "${@:3}")
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 200, shared_buffers: 16MB, wal_keep_size: 256MB}
postgresql:
  listen: 127.0.0.1:$port
  connect_address: 127.0.0.1:$port
  data_dir: $own/data
  bin_dir: $(postgres_programs)
  pgpass: $own/pgpass
  use_unix_socket: true
  authentication:
    superuser: {username: kindex}
    replication: {username: kindex}
    rewind: {username: kindex}
  parameters: {unix_socket_directories: $own}
  pg_hba:
    - local all all trust
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
END
}

patroni_begin() {
    local place=$1 name words
    for name in "${@:2}"; do
        words=(patroni "$place/$name/patroni.yml")
        [ "$name" != etcd ] || read -rd '' -a words <<<"etcd $(cat "$place/etcd/arguments")"
        # shellcheck disable=SC2016 # expanded by the shell that becomes the process
        ({ cd "$place/$name" && as_postgres sh -c 'echo $$ >pid && exec "$@"' sh "${words[@]}"; } \
            >>"$place/$name/patroni.log" 2>&1 </dev/null &)
    done
}

patroni_end() {
    local place=$1 name pid tenth
    for name in "${@:2}"; do
        pid=$(cat "$place/$name/pid" 2>/dev/null) && kill "$pid" 2>/dev/null
    done
    for name in "${@:2}"; do
        pid=$(cat "$place/$name/pid" 2>/dev/null) || continue
        # Patroni 3.0 may stay when its server has stopped.
        for ((tenth = 0; tenth < 300; tenth++)); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null
        rm -f "$place/$name/pid"
        # The server of a member whose Patroni was killed.
        [ ! -e "$place/$name/data/postmaster.pid" ] || postgres_end "$place/$name" fast
    done
}

# patroni_ask PLACE NAME DATABASE SQL
patroni_ask() {
    PGCONNECT_TIMEOUT=2 psql --no-psqlrc --quiet --tuples-only --no-align --host="$1/$2" \
        --port="$(cat "$1/$2/port")" --username=kindex --dbname="$3" --command="$4"
}

patroni_leads() {
    local name
    for name in a b c; do
        [ "$(curl --silent --max-time 2 --output /dev/null --write-out '%{http_code}' \
            "http://127.0.0.1:$(cat "$1/$name/rest")/primary")" != 200 ] || { echo "$name"; return; }
    done
    return 1
}

patroni_query() {
    patroni_ask "$1" "$(patroni_leads "$1")" "${3:-postgres}" "$2"
}

# patroni_until PLACE STANDBYS: "NUMBER SYNCHRONOUS", those that are and those that count
patroni_until() {
    local tenth name
    for ((tenth = 0; tenth < 1800; tenth++)); do
        [ "$(patroni_query "$1" "SELECT count(*) || ' ' || count(*) FILTER (WHERE
            sync_state = 'sync') FROM pg_stat_replication WHERE state = 'streaming' AND
            application_name IN ('a', 'b', 'c')" 2>/dev/null)" != "$2" ] || return 0
        sleep 0.1
    done
    for name in a b c; do tail -n 5 "$1/$name/patroni.log"; done
    return 1
}

patroni_ready() {
    patroni_until "$1" '2 1'
}

patroni_follow() {
    patroni_until "$1" '2 0'
}

patroni_engine() {
    echo "postgresql://${3:-kindex}@/$2?host=127.0.0.1,127.0.0.1,127.0.0.1&port=$(cat "$1/a/port"),$(
        cat "$1/b/port"),$(cat "$1/c/port")&target_session_attrs=read-write"
}

#!/bin/bash
# What large.sh measures, of Redis (a sync for each write) asked through webdis: the same
# users as strings, a sorted set of e-mail addresses and one of keys for each city, which
# Lua in the server keeps. All of it is in memory, 600 bytes for each entry.
#
#   tests/bench/large_redis.sh [ENTRIES]     20,000,000 entries
#
# DIRECTORY is where the data lie: 600 bytes for each entry must be free there.
# SECONDS_OF (10) is the length of a step. Each figure goes to stderr once it is known,
# and the row to stdout.
set -eu
here=$(dirname "$0")
. "$here/users.sh"
entries=${1:-20000000}
if [ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -lt $((entries * 600 / 1024)) ]; then
    echo "large_redis: $entries entries need $((entries * 600 >> 20)) MiB of memory" >&2
    exit 1
fi
work=$(mktemp -d "${DIRECTORY:-/var/tmp}/kindex-redis.XXXXXX")
redis='' webdis=''
end() {
    {
        [ -z "$webdis" ] || kill "$webdis"
        [ -z "$redis" ] || kill -KILL "$redis"
        wait
    } 2>>"$work/stopped"
    rm -rf "$work"
}
trap end EXIT

now() { date +%s%N; }
milliseconds() { echo $((($(now) - $1) / 1000000)); }
ask() { redis-cli -s "$work/socket" "$@"; }
figure() { echo "redis, $entries: $*" >&2; }

begin() {
    redis-server --port "$port" --bind 127.0.0.1 --unixsocket "$work/socket" --dir "$work" --save '' \
        --appendonly yes --appendfsync always --auto-aof-rewrite-percentage 0 >"$work/log" 2>&1 &
    redis=$!
    until [ "$(ask PING 2>"$work/refused")" = PONG ]; do
        kill -0 "$redis"
        sleep 0.05
    done
}

# Sets $rate, a second.
load() { # KIND CONNECTIONS
    wrk -t1 -c"$2" -d"${SECONDS_OF:-10}s" -s "$here/large_redis.lua" "http://127.0.0.1:$((port + 1))" \
        -- "$1" "$entries" >"$work/wrk"
    if grep -E 'Non-2xx|Socket errors' "$work/wrk" >&2; then exit 1; fi
    rate=$(awk '/^Requests\/sec/ { printf("%d", $2) }' "$work/wrk")
    figure "$1 $rate/s"
}

port=$(node -e '
    const listener = require("net").createServer().listen(0, "127.0.0.1", () => {
        console.log(listener.address().port & ~1);
        listener.close();
    });')
begin
began=$(now)
users "$entries" entries | ask --pipe >"$work/reply"
imported=$((entries * 1000 / $(milliseconds "$began")))
figure "import $imported/s"
began=$(now)
users "$entries" indexes | ask --pipe >"$work/reply"
took=$(milliseconds "$began")
figure "indexes $took ms"
[ "$(ask ZCARD emails)" = "$entries" ]
LIST=$(ask SCRIPT LOAD "
    local keys = redis.call('ZRANGE', ARGV[1], 0, 99)
    for i, key in ipairs(keys) do keys[i] = 'user:' .. key end
    return redis.call('MGET', unpack(keys))")
UPDATE=$(ask SCRIPT LOAD "
    local key, value = ARGV[1], cjson.decode(ARGV[2])
    local before = cjson.decode(redis.call('GET', 'user:' .. key))
    redis.call('ZREM', 'emails', before.email .. ' ' .. key)
    redis.call('ZREM', before.city, key)
    redis.call('ZADD', 'emails', 0, value.email .. ' ' .. key)
    redis.call('ZADD', value.city, 0, key)
    redis.call('SET', 'user:' .. key, ARGV[2])
    return 1")
export LIST UPDATE
cat >"$work/webdis.json" <<END
{"redis_host": "127.0.0.1", "redis_port": $port, "http_host": "127.0.0.1", "http_port": $((port + 1)),
 "threads": 2, "pool_size": 20, "daemonize": false, "verbosity": 0, "acl": [],
 "logfile": "$work/webdis.log", "pidfile": "$work/webdis.pid"}
END
webdis "$work/webdis.json" >"$work/webdis" 2>&1 &
webdis=$!
until curl --silent --fail --output "$work/reply" "http://127.0.0.1:$((port + 1))/PING"; do sleep 0.05; done
[ "$(curl --silent "http://127.0.0.1:$((port + 1))/EVALSHA/$LIST/0/city7" | grep -o '"note' | wc -l)" -le 100 ]
load get 64
load get 64 && gets=$rate
load list 16 && lists=$rate
load update 64 && updates=$rate
users 200000 entries | timeout --signal=KILL 5 redis-cli -s "$work/socket" --pipe >"$work/reply" 2>&1 || :
{ kill -KILL "$redis" && wait "$redis"; } 2>>"$work/stopped" || :
began=$(now)
begin
restarted=$(milliseconds "$began")
figure "restart $restarted ms"
began=$(now)
[ "$(ask ZCARD emails)" = "$entries" ]
printf '| %s | %s | - | %s | %s | - | %s | %s | %s | %s | %s |\n' "Redis: $entries" "$imported" \
    $((2 * entries * 1000 / took)) $((took / 1000)).$((took % 1000 / 100)) "$gets" "$lists" "$updates" \
    "$restarted" "$(milliseconds "$began")"

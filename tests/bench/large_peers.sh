#!/bin/bash
# What large.sh measures, of two others: PostgreSQL with the same users as jsonb and an
# index on each of two members, asked by pgbench over a socket; Redis with webdis
# (large_redis.sh), if they are installed; and SQLite in a process of Node (large_sqlite.js).
# PostgreSQL and SQLite do not speak HTTP; all are durable at each commit.
#
#   tests/bench/large_peers.sh [ENTRIES]     20,000,000 entries
#
# DIRECTORY is where the data lie: 1,200 bytes for each entry must be free there.
# SHARED (3GB) is its shared_buffers, SECONDS_OF (10) the length of a step.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
. deploy/postgres.sh
. tests/bench/users.sh
entries=${1:-20000000}
work=$(mktemp -d "${DIRECTORY:-/var/tmp}/kindex-peers.XXXXXX")
chmod 711 "$work"
trap '[ ! -e "$work/a" ] || postgres_end "$work/a"; rm -rf "$work"' EXIT
settings=(-c "shared_buffers=${SHARED:-3GB}" -c max_wal_size=2GB -c maintenance_work_mem=256MB -c max_connections=200)

now() { date +%s%N; }
milliseconds() { echo $((($(now) - $1) / 1000000)); }
ask() { psql --no-psqlrc --quiet --tuples-only --no-align --host="$work/a" --username=kindex --dbname=kindex "$@"; }

# The n-th user's key, as users.sh makes it, and requests: of large.lua.
scatter='\set id (:n * 2654435761) % 4294967296'
key="lpad(to_hex(CAST(:id AS bigint)), 8, '0')"
cat >"$work/get.sql" <<END
\set n random(0, least($entries, 300000) - 1)
$scatter
SELECT value FROM users WHERE key = $key;
END
cat >"$work/list.sql" <<'END'
\set city random(0, 999)
SELECT key, value FROM users WHERE value->>'city' = 'city' || :city LIMIT 100;
END
cat >"$work/update.sql" <<END
\set n random(0, $entries - 1)
\set another random(0, 999999)
$scatter
UPDATE users SET value = jsonb_build_object('email', 'user' || :another || '@example.com', 'city',
    'city' || :another % 1000, 'n', CAST(:n AS bigint), 'note', repeat('x', 110)) WHERE key = $key;
END
# Sets $rate, a second.
load() { # KIND CONNECTIONS
    pgbench --no-vacuum --protocol=prepared --file="$work/$1.sql" --client="$2" --jobs=1 \
        --time="${SECONDS_OF:-10}" --host="$work/a" --username=kindex kindex >"$work/pgbench" 2>&1 ||
        { cat "$work/pgbench" >&2; exit 1; }
    rate=$(awk '/^tps/ { printf("%d", $3) }' "$work/pgbench")
}

postgres_make "$work/a"
postgres_begin "$work/a" "${settings[@]}"
psql --no-psqlrc --quiet --host="$work/a" --username=kindex --dbname=postgres --command='CREATE DATABASE kindex'
ask --command='CREATE TABLE users (key text COLLATE "C" PRIMARY KEY, value jsonb NOT NULL)'
began=$(now)
users "$entries" rows | ask --command='COPY users FROM STDIN'
imported=$((entries * 1000 / $(milliseconds "$began")))
began=$(now)
ask --command="CREATE INDEX ON users ((value->>'email') COLLATE \"C\")"
ask --command="CREATE INDEX ON users ((value->>'city') COLLATE \"C\")"
took=$(milliseconds "$began")
ask --command='VACUUM ANALYZE users'
load get 64
load get 64 && gets=$rate
load list 16 && lists=$rate
load update 64 && updates=$rate
pgbench --no-vacuum --file="$work/update.sql" --client=64 --jobs=1 --time=60 --host="$work/a" \
    --username=kindex kindex >"$work/pgbench" 2>&1 &
sleep 5
postgres_end "$work/a" immediate
wait || :
began=$(now)
postgres_begin "$work/a" "${settings[@]}"
until ask --command='SELECT 1' >"$work/one" 2>&1; do sleep 0.05; done
restarted=$(milliseconds "$began")
began=$(now)
[ "$(ask --command='SELECT count(*) FROM users')" = "$entries" ]
printf '| %s | %s | - | %s | %s | - | %s | %s | %s | %s | %s |\n' "PostgreSQL: $entries" "$imported" \
    $((2 * entries * 1000 / took)) $((took / 1000)).$((took % 1000 / 100)) "$gets" "$lists" "$updates" \
    "$restarted" "$(milliseconds "$began")"
postgres_end "$work/a"
rm -rf "$work/a"
if command -v redis-server >/dev/null && command -v webdis >/dev/null; then
    tests/bench/large_redis.sh "$entries"
else
    echo 'Redis is left out: redis-server and webdis (Debian) are not installed' >&2
fi
tests/bench/setup.sh "$build" >"$work/setup" 2>&1 || { cat "$work/setup" >&2; exit 1; }
mkdir "$work/sqlite"
node tests/bench/large_sqlite.js "$entries" "$work/sqlite" "$build/bench/npm"

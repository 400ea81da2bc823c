#!/bin/bash
# Seconds of kindex import --from over a million entries: from a file as Deno writes
# it, then from the KV Connect address of the server that has them, and of its
# second pass (--finish) without changes. It fails if entries are missing.
#
#   tests/bench/movein.sh [ENTRIES]
set -eu
. "$(dirname "$0")/serve.sh"
KINDEX=${KINDEX:-$(dirname "$0")/../../build/kindex}
entries=${1:-1000000}
work=$(mktemp -d "${TMPDIR:-/tmp}/kindex-movein.XXXXXX")
trap 'server_end TERM; kill "$other" 2>"$work/null"; rm -rf "$work"' EXIT

# Keys ["users","u0000001"], values {"n":"x..."} of V8 with 100 bytes, 10 to a version.
sqlite3 "$work/kv.sqlite3" >"$work/null" "
    create table migration_state(k integer not null primary key, version integer not null);
    insert into migration_state values (0, 3);
    create table queue(ts integer, id text, data blob, backoff_schedule text, keys_if_undelivered blob);
    create table queue_running(deadline integer, id text, data blob, backoff_schedule text, keys_if_undelivered blob);
    create table kv(k blob primary key, v blob not null, v_encoding integer not null, version integer not null,
        seq integer not null default 0, expiration_ms integer not null default -1) without rowid;
    with recursive c(n) as (select 1 union all select n + 1 from c where n < $entries)
    insert into kv (k, v, v_encoding, version)
    select cast(x'02' || 'users' || x'0002' || printf('u%07d', n) || x'00' as blob),
        cast(x'ff0f6f22016e2264' || printf('%.100c', 'x') || x'7b01' as blob), 1, n / 10 from c"

# timed WHAT ARGUMENT...: runs the command, and prints its seconds
timed() {
    local what=$1 began ended
    shift
    began=$(date +%s%N)
    "$KINDEX" "$@" 2>"$work/report" || { cat "$work/report"; exit 1; }
    ended=$(date +%s%N)
    printf '%-28s %3d.%03d s\n' "$what" $(((ended - began) / 1000000000)) $(((ended - began) / 1000000 % 1000))
}
# counted URL: fails unless the server has all entries
counted() {
    [ "$("$KINDEX" count users --url "$1")" = "$entries" ] || { echo "entries are missing"; exit 1; }
}

server_begin "$KINDEX"
timed 'from the file' import --from "$work/kv.sqlite3" --url "$url"
counted "$url"
TMPDIR=$work "$KINDEX" serve --ephemeral >"$work/other" 2>"$work/null" &
other=$!
until [ -s "$work/other" ]; do sleep 0.1; done
there=$(jq -r .url "$work/other")
timed 'from the address' import --from "$url" --state "$work/state" --url "$there"
counted "$there"
timed 'second pass, no changes' import --from "$url" --state "$work/state" --url "$there" --finish

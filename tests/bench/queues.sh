#!/bin/bash
# Jobs per second of one queue: stored, and claimed and acknowledged, ten in each
# request, by Kindex, by a list of Redis with Lua, and by a table of PostgreSQL with
# FOR UPDATE SKIP LOCKED, in turn. All three sync each commit. It fails if a job is left
# or was claimed twice.
#
#   tests/bench/queues.sh [ROUNDS] [JOBS] [CLIENTS]
set -eu
here=$(dirname "$0")
. "$(dirname "$0")/serve.sh"
. "$(dirname "$0")/../../deploy/postgres.sh"
KINDEX=${KINDEX:-$here/../../build/kindex}
rounds=${1:-3} jobs=${2:-100000} clients=${3:-16}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/kindex-queues.XXXXXX")
chmod 711 "$work"
redis=''
end() {
    server_end TERM
    [ -z "$redis" ] || kill "$redis"
    wait
    postgres_end "$work/pg"
    rm -rf "$work"
}
trap end EXIT

# ---- PostgreSQL --------------------------------------------------------------

sql() {
    psql --no-psqlrc --quiet --tuples-only --no-align --host="$work/pg" --username=kindex --dbname=postgres "$@"
}
# bench WHAT FILE: runs the file until all jobs are through
bench() {
    pgbench --no-vacuum --client="$clients" --jobs=2 --protocol=prepared --host="$work/pg" --username=kindex \
        --transactions=$((jobs / 10 / clients)) --file="$2" postgres 2>"$work/pgbench.log" |
        awk -v what="$1" '/^tps/ { printf "postgresql %s: %d jobs/s\n", what, $3 * 10 }'
}
begin_postgres() {
    postgres_make "$work/pg"
    postgres_begin "$work/pg"
    sql --command="CREATE TABLE jobs (id bigserial PRIMARY KEY, due timestamptz NOT NULL DEFAULT now(), attempts int NOT NULL DEFAULT 0, value text NOT NULL)" \
        --command="CREATE INDEX ON jobs (due, id)"
    echo "INSERT INTO jobs (value) SELECT '{\"to\":\"ada@x.org\"}' || repeat('x', 100) FROM generate_series(1, 10);" >"$work/store.sql"
    cat >"$work/claim.sql" <<'END'
WITH due AS (SELECT id FROM jobs WHERE due <= now() ORDER BY due, id LIMIT 10 FOR UPDATE SKIP LOCKED), claimed AS (UPDATE jobs SET due = now() + interval '60 s', attempts = attempts + 1 FROM due WHERE jobs.id = due.id RETURNING jobs.id) SELECT array_agg(id) AS ids FROM claimed \gset
DELETE FROM jobs WHERE id = ANY (CAST(:ids AS bigint[]));
END
}
run_postgres() {
    bench stored "$work/store.sql"
    bench 'claimed and acknowledged' "$work/claim.sql"
    [ "$(sql --command='SELECT count(*) FROM jobs')" -eq 0 ] || { echo 'jobs are left in PostgreSQL' >&2; return 1; }
}

# ---- Redis -------------------------------------------------------------------

begin_redis() {
    redis-server --port 0 --unixsocket "$work/redis" --dir "$work" --save '' \
        --appendonly yes --appendfsync always >"$work/redis.log" &
    redis=$!
    until [ -S "$work/redis" ]; do
        kill -0 "$redis"
        sleep 0.05
    done
}

begin_postgres
begin_redis
server_begin "$KINDEX"
jobs=$((jobs - jobs % (10 * clients))) # as many for each client
for ((round = 0; round < rounds; round++)); do
    run_postgres
    node "$here/queues_redis.js" "$work/redis" "$jobs" "$clients"
    node -e '
    const http = require("http");
    const fs = require("fs");
    const [base, jobs, clients, round, pid] = process.argv.slice(1);
    const BATCH = 10;
    const agent = new http.Agent({ keepAlive: true, maxSockets: Number(clients) });
    const post = (path, body) => new Promise((resolve, reject) => {
      const text = body === undefined ? "" : JSON.stringify(body);
      const headers = text === "" ? {} : { "Content-Type": "application/json" };
      http.request(base + path, { method: "POST", agent, headers }, (reply) => {
        let answer = "";
        reply.on("data", (part) => { answer += part; });
        reply.on("end", () => reply.statusCode < 300 ? resolve(JSON.parse(answer)) :
          reject(new Error(answer)));
      }).on("error", reject).end(text);
    });
    // Seconds of processor time that the server has taken.
    const cpu = () => {
      const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
      return (Number(fields[11]) + Number(fields[12])) / 100;
    };
    async function timed(what, client) {
      const began = performance.now();
      const before = cpu();
      await Promise.all(Array.from({ length: Number(clients) }, client));
      const seconds = (performance.now() - began) / 1000;
      const us = (cpu() - before) * 1e6 / jobs;
      console.log(`kindex ${what}: ${Math.round(jobs / seconds)} jobs/s, ${us.toFixed(1)} us of the server for each`);
    }
    const value = { to: "ada@x.org", text: "x".repeat(100) };
    async function main() {
      await post("/indexes", { name: "jobs_due", prefix: ["jobs"], fields: ["/due"], queue: {} });
      let next = 0;
      await timed("stored", async () => {
        while (next < jobs) {
          const first = next;
          next += BATCH;
          await post("/atomic", { mutations: Array.from({ length: BATCH }, (_, i) =>
            ({ type: "set", key: ["jobs", round, first + i], value })) });
        }
      });
      const seen = new Set();
      await timed("claimed and acknowledged", async () => {
        for (;;) {
          const { jobs: batch } = await post(`/queues/jobs_due/claim?limit=${BATCH}`);
          if (batch.length === 0) return;
          for (const { key } of batch) seen.add(key[2]);
          await post("/queues/jobs_due/ack", { receipts: batch.map(({ receipt }) => receipt) });
        }
      });
      if (seen.size !== Number(jobs)) throw new Error(`${seen.size} of ${jobs} jobs were claimed`);
    }
    main().catch((error) => { console.error(error); process.exit(1); });
    ' "$url" "$jobs" "$clients" "$round" "$server"
done
uptime

#!/bin/bash
# Jobs per second of one queue: stored, and claimed and acknowledged, ten in each
# request. It fails if a job is left or was claimed twice.
#
#   tests/bench/queues.sh [ROUNDS] [JOBS] [CLIENTS]
set -eu
. "$(dirname "$0")/serve.sh"
KINDEX=${KINDEX:-$(dirname "$0")/../../build/kindex}
rounds=${1:-3} jobs=${2:-100000} clients=${3:-16}
work=$(mktemp -d "${TMPDIR:-/tmp}/kindex-queues.XXXXXX")
trap 'server_end TERM; rm -rf "$work"' EXIT

server_begin "$KINDEX"
for ((round = 0; round < rounds; round++)); do
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
      console.log(`${what}: ${Math.round(jobs / seconds)} jobs/s, ${us.toFixed(1)} us of the server for each`);
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

// Many watches that wait, over one of the protocols:
//
//   node tests/http/watch_many.js HOST PORT PID COUNT 1|2
//
// Prints the KiB of memory that the process PID has taken for each of them, how
// many were told of one write, and how many were left when all had gone.
"use strict";
const fs = require("node:fs");
const http = require("node:http");
const http2 = require("node:http2");

const [host, port, pid, count, version] = process.argv.slice(2);
const url = `http://${host}:${port}`;
const path = (i) => `/watch?key=many&key=other-${i}`;
const STREAMS = 500; // of a connection

const memory = () => Number(/VmRSS:\s*(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
const metric = async () => Number(/^kindex_watch_streams (\d+)/m.exec(await (await fetch(`${url}/metrics`)).text())[1]);

async function until(condition) {
  for (let i = 0; i < 10000; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it never came");
}

let told = 0;
const sessions = [];

// A watch whose second event is counted.
function watch(i) {
  return new Promise((resolve, reject) => {
    let text = "";
    let isTold = false; // comments follow the event
    const take = (part) => {
      text += part;
      const events = text.split("\nid: ").length - 1;
      if (events > 0) resolve();
      if (events < 2 || isTold) return;
      isTold = true;
      told++;
    };
    if (version === "2") {
      if (i % STREAMS === 0) sessions.push(http2.connect(url));
      const stream = sessions.at(-1).request({ ":path": path(i) });
      stream.setEncoding("utf8").on("data", take).on("error", reject);
    } else {
      const request = http.get(`${url}${path(i)}`, { agent: false }, (reply) =>
        reply.setEncoding("utf8").on("data", take).on("error", () => {}));
      request.on("error", reject);
      sessions.push(request);
    }
  });
}

async function main() {
  await watch(0); // what is made once is made
  const before = memory();
  for (let i = 1; i <= count; i += 100)
    await Promise.all(Array.from({ length: Math.min(100, count - i + 1) }, (_, j) => watch(i + j)));
  const each = (memory() - before) / count;
  await fetch(`${url}/kv/many`, { method: "PUT", body: "1" });
  await until(() => told === Number(count) + 1);
  for (const session of sessions) session.destroy();
  // HTTP/1.1 finds out that a client is gone when it next has something to say.
  await until(async () => {
    await fetch(`${url}/kv/many`, { method: "PUT", body: "2" });
    return (await metric()) === 0;
  });
  console.log(each.toFixed(1), told - 1, await metric());
  process.exit(0);
}

main().catch((error) => { console.log(error.message); process.exit(1); });

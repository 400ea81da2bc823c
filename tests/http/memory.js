// Clients that make the server hold as much as it may, one way after the other:
//
//   node tests/http/memory.js HOST PORT PID MOST LEFT
//
// The server has values of a megabyte under ["values"], small ones under
// ["small"], and indexes of what comes under ["wide"]. For each way it prints
// whether the memory of the process PID was more than MOST MiB when --bodies-max
// was taken up, and whether it is less than LEFT MiB when the clients have gone
// (else the program waits, and says what it is).
"use strict";
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const { Connection, PREFACE, settings, setting, headers, pseudo, HEADER_TABLE_SIZE, INITIAL_WINDOW } = require("./h2.js");

const [host, port, pid] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const [MOST, LEFT] = process.argv.slice(5).map(Number);
const PATIENCE_MS = Number(process.env.KX_PATIENCE ?? 60) * 1000;
const LARGE = "/kv/values/=1";
const NDJSON = "application/x-ndjson";

const resident = (name) => {
  const [, kilobytes] = new RegExp(`${name}:\\s*(\\d+) kB`).exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(kilobytes) / 1024;
};
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

function metrics() {
  return new Promise((resolve, reject) => {
    http.get({ host, port, path: "/metrics" }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (part) => { text += part; });
      reply.on("end", () => resolve(text));
    }).on("error", reject);
  });
}

async function usage() {
  const text = await metrics();
  const number = (name) => Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)[1]);
  return { held: number("kindex_http_body_bytes"), stalled: number("kindex_http_stalled_total") };
}
const limit = Number(process.argv[7]) * 2 ** 20;

// What is refused for the last body leaves room for some. A stalled client is
// only ended when the limit is reached, and more is free from then on.
async function full(stalled) {
  for (;;) {
    const now = await usage();
    if (now.held >= limit - 4 * 2 ** 20 || now.stalled > stalled) return;
    await pause();
  }
}

// Waits until nothing is held for clients that have gone.
async function empty() {
  while ((await usage()).held > 0) await pause();
}

// Clients of one address get half of it.
let opened = 0;
const localAddress = () => `127.0.0.${2 + opened++ % 4}`;

function connect(text) {
  const client = net.connect({ host, port, localAddress: localAddress() });
  client.pause().on("error", () => {});
  client.write(text);
  return client;
}

const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const get = (path, accept = "*/*") => connect(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\n\r\n`);
const upload = (size, sent) => connect("POST /atomic HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
  `Content-Length: ${size}\r\n\r\n${"x".repeat(sent)}`);

// Windows of one byte: all that is asked for waits.
function streams(count, path) {
  const ids = many(count, (i) => 2 * i + 1);
  const client = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, 1))], { localAddress: localAddress() });
  client.send(...ids.map((id) => headers(id, pseudo("GET", path))));
  client.socket.on("error", () => {});
  return client.socket;
}

// 1000 ranges take more memory than their text and their entries.
const RANGES = JSON.stringify({ ranges: many(1000, (i) => ({ prefix: ["small"], start: ["small", i % 600], limit: 1 })) });
const ranges = () => connect("POST /get HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
  `Content-Length: ${RANGES.length}\r\n\r\n${RANGES}`);

// A request of less than 64 KiB, which is always accepted, with 80,000 index
// entries.
// Its 19,200 index entries take most of the budget of one commit.
function commit() {
  const mutations = many(60, (i) => ({ type: "set", key: ["wide", i], value: { a: many(40, (n) => n + i) } }));
  return new Promise((resolve, reject) => {
    http.request({ host, port, method: "POST", path: "/atomic", localAddress: "127.0.0.9",
      headers: { "Content-Type": "application/json" } }, (reply) => {
      reply.resume().on("end", () => resolve(reply.statusCode));
    }).on("error", reject).end(JSON.stringify({ mutations }));
  });
}

const WAYS = {
  "values": () => many(200, () => get(LARGE)),
  "values over HTTP/2": () => many(12, () => streams(16, LARGE)),
  "lists": () => many(60, () => get("/list?prefix=values")),
  "streams": () => many(100, () => get("/list?prefix=values", NDJSON)),
  "small lists over HTTP/2": () => many(20, () => streams(60, "/list?prefix=small&limit=600")),
  "ranges": () => many(400, ranges),
  "commits beside lists": () => many(60, () => get("/list?prefix=values")),
  "bodies": () => many(60, () => upload(8000000, 1300000)),
};

async function main() {
  for (const [name, begin] of Object.entries(WAYS)) {
    const { stalled } = await usage();
    const clients = begin();
    await full(stalled);
    if (name.startsWith("commits"))
      for (const status of [await commit(), await commit(), await commit()])
        if (status !== 200) console.log(name, status);
    const most = resident("VmHWM");
    for (const client of clients) client.destroy();
    await empty();
    const until = Date.now() + PATIENCE_MS;
    while (resident("VmRSS") > LEFT && Date.now() < until) await pause();
    const left = resident("VmRSS");
    console.log(name, most > MOST ? `took ${most} MiB` : "held", left > LEFT ? `left ${left} MiB` : "given back");
  }
}

main().then(() => process.exit(0));

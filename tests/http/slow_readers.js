// Clients that ask for much and take nothing of it, over HTTP/1.1 and HTTP/2:
//
//   node tests/http/slow_readers.js HOST PORT
//
// The server has values of half a megabyte under ["large"]. Prints what it does
// meanwhile for others, and what memory it counts for bodies.
"use strict";
const http = require("node:http");
const net = require("node:net");
const { Connection, PREFACE, frame, settings, setting, headers, pseudo, u32, HEADER_TABLE_SIZE, INITIAL_WINDOW } = require("./h2.js");

const [host, port] = [process.argv[2], Number(process.argv[3])];
const LISTS = 20, STREAMS = 64, WINDOW = 0x7fffffff;
const FULL = 8 << 20, SHARE = FULL / 2; // --bodies-max, and of one address

function ask(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host, port, method, path, headers: { "Content-Type": "application/json" } }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (part) => { text += part; });
      reply.on("end", () => resolve({ status: reply.statusCode, text }));
    });
    request.on("error", reject).end(body);
  });
}

async function until(condition) {
  for (;;) {
    const { text } = await ask("GET", "/metrics");
    const number = (pattern) => [...text.matchAll(pattern)].reduce((sum, match) => sum + Number(match[1]), 0);
    const seen = {
      held: number(/^kindex_http_body_bytes (\d+)/gm),
      running: number(/^kindex_http_requests_in_flight (\d+)/gm) - 1,
      made: number(/^kindex_http_requests_total\{route="\/list",method="GET",status="2xx"\} (\d+)/gm),
      refused: number(/^kindex_http_requests_total\{route="\/list",method="GET",status="5xx"\} (\d+)/gm),
    };
    if (condition(seen)) return seen;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// Refused ones are repeated: those that stall give way.
async function others() {
  const asked = [["GET", "/kv/small"], ["PUT", "/kv/small", "1"], ["GET", "/kv/large/=1"], ["PUT", "/kv/other", `"${"x".repeat(2e5)}"`]];
  const statuses = [];
  for (const request of asked) {
    let got;
    while ((got = (await ask(...request)).status) === 503) await new Promise((resolve) => setTimeout(resolve, 50));
    statuses.push(got);
  }
  return statuses.join(" ");
}

function stalled(path, more = "") {
  const client = net.connect({ host, port });
  client.pause().on("error", () => {});
  client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`);
  return client;
}

const NDJSON = "application/x-ndjson";
const END = '{"end":true,"count":12}\n';
const show = (what, seen) => console.log(`${what} ${seen.held > SHARE} ${seen.held < FULL + 6e6}`);
const free = () => until((now) => now.held === 0);

// All of a list that waits for its client is there.
async function lists() {
  const before = await until(() => true);
  const clients = Array.from({ length: LISTS }, () => stalled("/list?prefix=large&limit=1000"));
  const seen = await until((now) => now.made + now.refused - before.made - before.refused === LISTS);
  console.log("most lists:", seen.refused - before.refused > LISTS / 2 ? "refused" : "made");
  show("lists", seen);
  console.log("beside lists:", await others());
  for (const client of clients) client.destroy();
  await free();
  console.log("after lists:", await others());
}

// Of a stream there is a piece, with at least one value. What is not refused and
// looks complete is.
async function streams() {
  const clients = Array.from({ length: LISTS }, () => stalled("/list?prefix=large&limit=12", `Accept: ${NDJSON}\r\nConnection: close\r\n`));
  show("streams", await until((now) => now.held > SHARE));
  console.log("beside streams:", await others());
  const ends = await Promise.all(clients.map((client) => new Promise((resolve) => {
    let text = "";
    client.setEncoding("latin1").on("data", (part) => { text += part; });
    client.on("close", () => resolve(!text.startsWith("HTTP/1.1 200") || !text.endsWith("0\r\n\r\n") || text.includes(END))).resume();
  })));
  console.log("whole, or known not to be:", ends.filter((good) => good).length);
  await free();
}

// A window of one byte is enough for the server to make a piece.
async function streams2() {
  const ids = Array.from({ length: STREAMS }, (_, i) => 2 * i + 1);
  const client = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, 1))]);
  client.send(...ids.map((id) => headers(id, [...pseudo("GET", "/list?prefix=large&limit=12"), ["accept", NDJSON]])));
  show("streams over HTTP/2", await until((now) => now.held > SHARE));
  console.log("beside them:", await others());
  client.send(settings(setting(INITIAL_WINDOW, WINDOW)), frame("WINDOW_UPDATE", 0, 0, u32(WINDOW - 65535)));
  const { body, status, ended } = await client.over(...ids);
  console.log("whole, or known not to be:", ids.filter((id) => !ended[id] || status[id] !== 200 || body[id].endsWith(END)).length);
  client.socket.destroy();
  await free();
  console.log("after them:", await others());
}

lists().then(streams).then(streams2).then(() => process.exit(0));

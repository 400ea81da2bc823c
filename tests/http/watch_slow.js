// Watches whose clients take nothing, while one entry changes again and again:
//
//   node tests/http/watch_slow.js HOST PORT PID WATCHES CHANGES
//
// The entry ["slow"] must be there. Half of the clients speak HTTP/1.1 and do
// not read, the others HTTP/2 without a window. Prints by how many MiB the
// memory of the server has grown, how many changes were stored, the number in
// the last state that a client saw which does read, and what became of a client
// that begins to read in the end: the frames it got, and the last one's number.
"use strict";
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const { Connection, PREFACE, frame, settings, setting, headers, pseudo, u32, END_STREAM,
  HEADER_TABLE_SIZE, INITIAL_WINDOW } = require("./h2.js");

const [host, port, pid, watches, changes] = process.argv.slice(2);
const MESSAGE = Buffer.from("0a080a0602736c6f7700", "hex"); // the key ["slow"]
const LARGE = "x".repeat(100000);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

const memory = () => Number(/VmRSS:\s*(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

function send(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host, port, agent, method, path, headers: { "content-type": "application/json" } }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (part) => { text += part; });
      reply.on("end", () => resolve({ status: reply.statusCode, text }));
    });
    request.on("error", reject).end(body);
  });
}

async function until(condition) {
  for (let i = 0; i < 10000; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it never came");
}

const open = async () => Number(/^kindex_watch_streams (\d+)/m.exec((await send("GET", "/metrics")).text)[1]);

// The numbers of all whole frames of a stream that begins with `#NUMBER#`.
const numbers = (text) => Array.from(text.matchAll(/#(\d+)#/g), (match) => Number(match[1]));

function watchOver2(window) {
  const connection = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, window))]);
  connection.send(headers(1, pseudo("POST", "/v2/watch"), 0), frame("DATA", END_STREAM, 1, MESSAGE));
  return connection;
}

function watchOver1() {
  const socket = net.connect({ host, port });
  socket.write(`POST /v2/watch HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${MESSAGE.length}\r\n\r\n`);
  socket.write(MESSAGE);
  socket.pause();
  return socket;
}

// A client that reads all, and keeps only what the last frame begins with.
function reader() {
  const state = { last: -1 };
  http.request({ host, port, method: "POST", path: "/v2/watch", agent: false }, (reply) => {
    let rest = "";
    reply.setEncoding("latin1").on("data", (part) => {
      const text = rest + part;
      state.last = numbers(text).at(-1) ?? state.last;
      rest = text.slice(-20);
    });
  }).end(MESSAGE);
  return state;
}

async function main() {
  const slow = Array.from({ length: watches }, (_, i) => i % 2 ? watchOver1() : watchOver2(0));
  const quick = reader();
  await until(async () => await open() === Number(watches) + 1);
  await send("PUT", "/kv/slow", JSON.stringify(`#0#${LARGE}`));
  const before = memory();
  let stored = 0;
  for (let i = 1; i <= changes; i++)
    stored += (await send("PUT", "/kv/slow", JSON.stringify(`#${i}#${LARGE}`))).status === 200;
  await until(() => quick.last === Number(changes));
  const grown = (memory() - before) / 1024;
  const late = slow[0];
  late.send(frame("WINDOW_UPDATE", 0, 0, u32(1 << 30)), frame("WINDOW_UPDATE", 0, 1, u32(1 << 30)));
  const seen = numbers((await late.until(({ body }) => numbers(body[1] ?? "").at(-1) === Number(changes))).body[1] ?? "");
  console.log(Math.round(grown), stored, quick.last, seen.length, seen.at(-1));
  process.exit(0);
}

main().catch((error) => { console.log(error.message); process.exit(1); });

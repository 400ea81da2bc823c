// Clients that mean harm, and one that does not, at the same time:
//
//   node tests/http/hostile.js PORT PID [SLOW [READERS]]
//
// SLOW connections send a byte of a request now and then, READERS ask for a
// stream and take nothing of it. Meanwhile a client like any other works. The
// lines tell what each kind got, how many readers have more than 1 MiB waiting
// for them in the kernel, and by how many MiB the process has grown at most (0
// when that is less than 64).
"use strict";
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");

const [port, pid, slow = 500, readers = 100] = process.argv.slice(2).map(Number);
const BYTE_MS = 100;
const WORK = 400; // requests of the good client, at least
const PATIENCE_MS = (Number(process.env.KX_LIMIT ?? 300) - 50) * 1000;
const MIB = 1 << 20;

const resident = () =>
  Number(/VmRSS:\s*(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;
// The bytes that wait in the kernel to be sent, of each of its connections that
// has any.
const unsent = () => {
  const table = "/proc/net/tcp";
  const rows = fs.existsSync(table) ? fs.readFileSync(table, "utf8").split("\n").slice(1) : [];
  return rows.map((row) => row.trim().split(/[ :]+/))
    .filter((words) => parseInt(words[2], 16) === port)
    .map((words) => parseInt(words[6], 16)).filter((size) => size > 0);
};
const connect = () => new Promise((resolve, reject) => {
  const socket = net.connect({ host: "127.0.0.1", port, noDelay: true }, () => resolve(socket));
  socket.on("error", reject);
});

// Sends its beginning, then a byte at a time, until the server has had enough.
// Resolves to the status that it was told.
function dribble(beginning) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: "127.0.0.1", port, noDelay: true }, () => {
      socket.write(beginning);
    });
    const timer = setInterval(() => socket.write("x"), BYTE_MS);
    let text = "";
    const end = () => {
      clearInterval(timer);
      socket.destroy();
      resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? "closed");
    };
    socket.on("data", (data) => { text += data; });
    socket.on("end", end);
    socket.on("error", end);
  });
}

// None of them comes to a limit before the server's patience is at its end, be it
// ever so late.
const BEGINNINGS = [
  "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
  "PUT /kv/slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n\"",
  "PUT /kv/slow HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
  "GET /",
];

async function reader() {
  const socket = await connect();
  socket.pause();
  socket.write("GET /list HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n");
  return socket;
}

function ask(agent, method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port, agent, method, path,
      headers: body === undefined ? {} : { "content-type": "application/json" } }, (reply) => {
      reply.resume();
      reply.on("end", () => resolve(reply.statusCode));
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function main() {
  setTimeout(() => process.exit(1), PATIENCE_MS).unref();
  const before = resident();
  const sockets = await Promise.all(Array.from({ length: readers }, reader));
  let over = false;
  const told = Promise.all(Array.from({ length: slow },
    (_, i) => dribble(BEGINNINGS[i % BEGINNINGS.length]))).then((all) => { over = true; return all; });
  const agent = new http.Agent({ keepAlive: true });
  const statuses = new Set();
  let most = before;
  let asked = 0;
  while (!over || asked < WORK) {
    statuses.add(await ask(agent, "PUT", `/kv/good/${asked % 50}`, JSON.stringify(asked)));
    statuses.add(await ask(agent, "GET", `/kv/good/${asked % 50}`));
    asked += 2;
    most = Math.max(most, resident());
  }
  const counts = {};
  for (const status of await told) counts[status] = (counts[status] ?? 0) + 1;
  const many = unsent().filter((size) => size > MIB).length;
  const grown = Math.round((most - before) / MIB);
  // What they were sent has waited for them.
  const heads = await Promise.all(sockets.map((socket) => new Promise((resolve) => {
    socket.once("data", (data) => resolve(data.toString("latin1", 0, 12)));
    socket.once("close", () => resolve("closed"));
    socket.resume();
  })));
  const held = heads.filter((head) => head === "HTTP/1.1 200").length;
  console.log(`slow: ${JSON.stringify(counts)}`);
  console.log(`readers: ${held}`);
  console.log(`much of them in the kernel: ${many}`);
  console.log(`good: ${[...statuses].sort().join(" ")}`);
  console.log(`grown: ${grown < 64 ? 0 : grown}`);
  process.exit(0);
}

main();

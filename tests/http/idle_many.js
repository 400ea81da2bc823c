// Many HTTP/1.1 connections that were used and are kept:
//
//   node tests/http/idle_many.js HOST PORT PID COUNT
//
// Prints the KiB of memory that the process PID has taken for each of them, and
// how many answer once more.
"use strict";
const fs = require("node:fs");
const net = require("node:net");

const [host, port, pid, count] = process.argv.slice(2);
const request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";

const memory = () => Number(/VmRSS:\s*(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

function connect() {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port }, () => resolve(socket));
    socket.on("error", reject);
  });
}

// Resolves to the first line of the answer, which comes in one piece.
function ask(socket) {
  return new Promise((resolve) => {
    socket.once("data", (part) => resolve(part.toString().split("\r\n")[0]));
    socket.write(request);
  });
}

async function main() {
  await ask(await connect()); // what is made once is made
  const before = memory();
  const sockets = [];
  for (let i = 0; i < count; i++) {
    sockets.push(await connect());
    await ask(sockets[i]);
  }
  const each = (memory() - before) / count;
  const answers = await Promise.all(sockets.map(ask));
  console.log(each.toFixed(1), answers.filter((line) => line === "HTTP/1.1 200 OK").length);
  process.exit(0);
}

main().catch((error) => { console.log(error.message); process.exit(1); });

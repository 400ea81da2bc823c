// Connections that end early: each sends some requests of all kinds up to a byte
// somewhere in the middle, takes as much of the replies as it likes, and is gone,
// by a reset, by its end, or by half of it:
//
//   node tests/http/early_ends.js PORT TOKEN COUNT SEED [CA]
//
// Over HTTP/1.1 and HTTP/2, and with the certificate of an authority over TLS.
// Prints how many connections there were.
"use strict";
const fs = require("node:fs");
const net = require("node:net");
const tls = require("node:tls");
const { PREFACE, frame, settings, setting, headers, pseudo, u32, END_STREAM, HEADER_TABLE_SIZE, INITIAL_WINDOW } =
  require("./h2.js");

const [port, count] = [process.argv[2], process.argv[4]].map(Number);
const token = process.argv[3];
let seed = Number(process.argv[5]);
const ca = process.argv[6] && fs.readFileSync(process.argv[6]);
const AT_ONCE = 40, LONGEST_MS = 30;
const PATIENCE_MS = (Number(process.env.KX_LIMIT ?? 300) - 50) * 1000;

const below = (limit) => {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return (seed >> 8) % limit;
};
const pick = (list) => list[below(list.length)];

// ---- Requests --------------------------------------------------------------

const json = ["content-type", "application/json"];
// The message Watch of KV Connect with the key ["e", "1"].
const WATCH = Buffer.from("0a080a06026500023100", "hex").toString("latin1");
const ranges = JSON.stringify({ reads: [{ prefix: ["rows"] }, { key: ["e", "1"] }] });

const KINDS = [
  () => ["GET", "/livez"],
  () => ["GET", "/kv/large"],
  () => ["HEAD", "/kv/large"],
  () => ["GET", "/list?prefix=rows"],
  () => ["GET", "/list", [["accept", "application/x-ndjson"]]],
  () => ["HEAD", "/list", [["accept", "application/x-ndjson"]]],
  () => ["GET", "/count"],
  () => ["GET", "/backup"],
  () => ["GET", "/nothing"],
  () => ["OPTIONS", "/kv/a"],
  () => ["GET", "/watch?key=e/1&key=e/2"],
  () => ["POST", "/v2/watch", [], WATCH],
  () => ["GET", "/indexes/paused", [["prefer", "wait=60"]]],
  () => ["GET", "/indexes/paused", [["accept", "text/event-stream"]]],
  () => ["POST", "/indexes/by_n/verify"],
  () => ["POST", "/get", [json], ranges],
  () => ["PUT", `/kv/e/${below(9)}`, [json], "1"],
  () => ["PUT", `/kv/e/${below(9)}`, [json], `"${"x".repeat(below(50000))}"`],
  () => ["PUT", "/kv/e/3", [json, ["expect", "100-continue"]], "3"],
  () => ["PUT", "/nothing", [json, ["expect", "100-continue"]], `"${"x".repeat(below(50000))}"`],
  () => ["PATCH", "/kv/o", [json], '{"n":1}'],
  () => ["DELETE", `/kv/e/${below(9)}`],
  () => ["POST", "/atomic", [json], '{"mutations":[{"type":"sum","key":["n"],"value":1}]}'],
];

// As bytes of HTTP/1.1; its body by its size or in chunks.
function line([method, path, more = [], body]) {
  const chunked = body !== undefined && below(3) === 0;
  const list = [["host", "localhost"], ["authorization", `Bearer ${token}`], ...more];
  if (chunked) list.push(["transfer-encoding", "chunked"]);
  else if (body !== undefined) list.push(["content-length", body.length]);
  const text = body === undefined ? "" : chunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
  return `${method} ${path} HTTP/1.1\r\n${list.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`;
}

// As frames of HTTP/2; sometimes the client changes its mind.
function frames([method, path, more = [], body], stream) {
  const list = [...pseudo(method, path), ["authorization", `Bearer ${token}`], ...more];
  const out = [headers(stream, list, body === undefined ? END_STREAM : 0)];
  for (let at = 0; body !== undefined && at < body.length; at += 16384)
    out.push(frame("DATA", at + 16384 >= body.length ? END_STREAM : 0, stream, body.slice(at, at + 16384)));
  if (below(4) === 0) out.splice(1 + below(out.length), 0, frame("RST_STREAM", 0, stream, u32(8)));
  return Buffer.concat(out);
}

function bytes(http2) {
  const requests = Array.from({ length: 1 + below(6) }, () => pick(KINDS)());
  if (!http2) return Buffer.from(requests.map(line).join(""), "latin1");
  const window = pick([0, 1, 1000, 65535, 0x7fffffff]);
  return Buffer.concat([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, window)),
    ...requests.map((request, i) => frames(request, 2 * i + 1))]);
}

// ---- Connections -----------------------------------------------------------

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// What the server makes of it shows in its figures, not here. Without TLS it may
// be plain where the server expects that, too.
function connect(http2) {
  const settings = { host: "127.0.0.1", port, allowHalfOpen: true };
  const secure = ca !== undefined && below(20) !== 0;
  const socket = secure
    ? tls.connect({ ...settings, ca, servername: "localhost", ALPNProtocols: [http2 ? "h2" : "http/1.1"] })
    : net.connect(settings);
  socket.on("error", () => {});
  return { socket, ready: new Promise((resolve) => {
    socket.on(secure ? "secureConnect" : "connect", resolve);
    socket.on("close", resolve);
  }) };
}

// Half of it: the server has to close the other one, or gets reset.
async function finish(socket) {
  socket.resume();
  socket.end();
  const closed = new Promise((resolve) => { socket.on("end", resolve); socket.on("close", resolve); });
  await Promise.race([closed, sleep(below(200))]);
  socket.destroy();
}

async function one() {
  const http2 = below(2) === 0;
  const { socket, ready } = connect(http2);
  if (below(2)) socket.resume();
  if (below(20)) await ready;
  else await sleep(below(5));
  const all = bytes(http2);
  const end = below(4) ? below(all.length) + 1 : all.length;
  for (let at = 0; at < end;) {
    const size = Math.min(end - at, pick([1, 10, 100, 1000, 100000, 100000]));
    if (!socket.destroyed) socket.write(all.subarray(at, at + size));
    at += size;
    if (below(8) === 0) await sleep(below(3));
  }
  await sleep(below(LONGEST_MS));
  const how = below(3);
  if (how === 0) await finish(socket);
  else if (how === 1 && socket.resetAndDestroy && !(socket instanceof tls.TLSSocket)) socket.resetAndDestroy();
  else socket.destroy();
}

async function main() {
  setTimeout(() => process.exit(1), PATIENCE_MS).unref();
  let begun = 0;
  const worker = async () => {
    while (begun < count) {
      begun++;
      await one();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  console.log(`${begun} connections`);
  process.exit(0);
}

main();

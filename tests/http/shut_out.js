// Clients that hold as much as they can get and take nothing, and one that asks
// for a little beside them:
//
//   node tests/http/shut_out.js HOST PORT attack KIND ADDRESS [TOKEN]
//   node tests/http/shut_out.js HOST PORT ask ADDRESS [TOKEN]
//   node tests/http/shut_out.js HOST PORT once ADDRESS [TOKEN]
//
// KIND is `streams` (over HTTP/2, of what takes no memory), `bodies` (over
// HTTP/2, a large value many times), `uploads` (over HTTP/2, values that never
// end), `lists` (over HTTP/1.1, streams of large values) or `slow` (over HTTP/2,
// a large page 8 times, of which some is taken ten times a second). An attack goes
// on until it is killed: what the server ends begins again.
//
// `ask` asks over HTTP/2 and over HTTP/1.1, and repeats what it is told to
// repeat. It prints a line for each of its questions: "whole", or what it got at
// last. `once` prints the first answer to each, and its Retry-After.
"use strict";
const http = require("node:http");
const net = require("node:net");
const { Connection, PREFACE, frame, settings, setting, headers, pseudo, u32,
  END_STREAM, HEADER_TABLE_SIZE, INITIAL_WINDOW } = require("./h2.js");

const [host, port, what, ...rest] = process.argv.slice(2);
const [address, token] = what === "attack" ? rest.slice(1) : rest;
const PATIENCE_MS = Number(process.env.KX_PATIENCE ?? 60) * 1000, AGAIN_MS = 200, HOLD_MS = 20000, WINDOW = 0x7fffffff;
const NDJSON = "application/x-ndjson";
const BEARER = token ? [["authorization", `Bearer ${token}`]] : [];
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// ---- The attack ----------------------------------------------------------------

// Opens a connection with so many requests; when the server ends one, another
// takes its place, when it ends the connection, that one too.
function hold(streams, make, each = () => {}) {
  const connection = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, 0))],
    { localAddress: address });
  let next = 1, over = 0;
  const open = () => { connection.send(make(next)); next += 2; };
  for (let i = 0; i < streams; i++) open();
  const timer = setInterval(() => {
    const { reset, ended, closed, goaway } = connection.seen;
    const count = Object.keys(reset).length + Object.keys(ended).length;
    for (; over < count; over++) open();
    each(connection, next);
    if (closed === null && goaway === null) return;
    clearInterval(timer);
    connection.socket.destroy();
    hold(streams, make, each);
  }, 100);
}

const ask = (path, more = []) => (id) => headers(id, [...pseudo("GET", path), ...BEARER, ...more]);
const upload = (id) => Buffer.concat([headers(id, [...pseudo("PUT", `/kv/up/${id}`), ...BEARER], 0),
  ...Array(50).fill(frame("DATA", 0, id, "1".repeat(16000)))]);

// Room for a little more of the reply.
const take = (connection, next) =>
  connection.send(...[0, next - 2].map((id) => frame("WINDOW_UPDATE", 0, id, u32(4096))));

function list() {
  const socket = net.connect({ host, port, localAddress: address });
  const authorization = BEARER.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.pause().on("error", () => {}).on("close", () => setTimeout(list, 100));
  setTimeout(() => socket.destroy(), HOLD_MS);
  socket.write(`GET /list?prefix=large HTTP/1.1\r\nHost: localhost\r\nAccept: ${NDJSON}\r\n${authorization}\r\n`);
}

const ATTACKS = {
  streams() {
    for (let i = 0; i < 9; i++) hold(1000, ask("/openapi.json"));
    for (let i = 0; i < 650; i++) hold(15, ask("/openapi.json"));
  },
  bodies() { for (let i = 0; i < 20; i++) hold(40, ask("/kv/large/=1")); },
  uploads() { for (let i = 0; i < 20; i++) hold(20, upload); },
  lists() { for (let i = 0; i < 500; i++) list(); },
  slow() { for (let i = 0; i < 8; i++) hold(1, ask("/list?prefix=large"), take); },
};

// ---- The victim ----------------------------------------------------------------

const VALUE = JSON.stringify("x".repeat(200000));

const isWhole = ({ path, accept }, text) => {
  if (accept !== undefined) return text.endsWith('{"end":true,"count":3}\n');
  try { JSON.parse(text); return true; } catch { return false; }
};

const fieldsOf = ({ accept, body }) => [...BEARER, ...(accept ? [["accept", accept]] : []),
  ...(body ? [["content-type", "application/json"]] : [])];

function over2(question) {
  const connection = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, WINDOW)),
    frame("WINDOW_UPDATE", 0, 0, u32(WINDOW - 65535))], { localAddress: address });
  const { method = "GET", path, body } = question;
  connection.send(headers(1, [...pseudo(method, path), ...fieldsOf(question)], body ? 0 : END_STREAM));
  for (let i = 0; body && i < body.length; i += 16000)
    connection.send(frame("DATA", i + 16000 >= body.length ? END_STREAM : 0, 1, body.slice(i, i + 16000)));
  return Promise.race([connection.over(1), pause(PATIENCE_MS)]).then(() => {
    const { status, body, reset, ended, closed } = connection.seen;
    connection.socket.destroy();
    return { status: status[1], text: body[1] ?? "", end: ended[1] ? "ended" : 1 in reset ? "reset" : closed ?? "waits" };
  });
}

function over1(question) {
  const { method = "GET", path, body } = question;
  return new Promise((resolve) => {
    const request = http.request({ host, port, path, method, localAddress: address, timeout: PATIENCE_MS,
      headers: Object.fromEntries(fieldsOf(question)) }, (reply) => {
      let text = "";
      const done = (end) => resolve({ status: reply.statusCode, text, end, again: reply.headers["retry-after"] });
      reply.setEncoding("utf8").on("data", (part) => { text += part; });
      reply.on("end", () => done("ended")).on("error", () => done("reset"));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve({ text: "", end: "waits" }));
    request.end(body);
  });
}

const QUESTIONS = [
  ["small value", { path: "/kv/small" }],
  ["large value", { path: "/kv/other/=1" }],
  ["large write", { method: "PUT", path: "/kv/written", body: VALUE }],
  ["page", { path: "/list?prefix=other" }],
  ["stream", { path: "/list?prefix=other", accept: NDJSON }],
];

// What says that it may be repeated is: a refused stream, 503, a stream that breaks
// off. What looks complete must be.
async function answerTo(send, question) {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const got = await send(question);
    if ((got.status === 200 || got.status === 201) && got.end === "ended")
      return isWhole(question, got.text) ? "whole" : `${got.status} with ${got.text.length} bytes`;
    if (Date.now() > until) return `${got.status ?? "nothing"} ${got.end}`;
    await pause(AGAIN_MS);
  }
}

// 408: this client sent its body so slowly, as on a busy machine, that it was itself
// the one that stalled and gave way.
async function firstTo(send, question) {
  const until = Date.now() + PATIENCE_MS;
  let got;
  do got = await send(question); while (got.status === 408 && Date.now() < until);
  const { status, end, again } = got;
  return `${status} ${end}${again === undefined ? "" : ` again in ${again} s`}`;
}

async function main() {
  if (what === "attack") {
    ATTACKS[rest[0]]();
    setInterval(() => {}, 1000); // a paused socket does not keep the process alive
    return;
  }
  for (const [door, send] of [["HTTP/2", over2], ["HTTP/1.1", over1]])
    for (const [name, question] of QUESTIONS)
      console.log(`${name} over ${door}:`, await (what === "once" ? firstTo : answerTo)(send, question));
  process.exit(0);
}

main();

// Clients that end their half of the connection as soon as they have sent their
// requests, and wait for the answers:
//
//   node tests/http/half_closed.js PORT TOKEN TIMES [CA]
//
// With the certificate of an authority over TLS, where the end is a close_notify.
// Meanwhile another connection is open, so that commits go over the queue. Prints
// for each kind of request how many were sent and how many answered.
"use strict";
const fs = require("node:fs");
const net = require("node:net");
const tls = require("node:tls");

const [port, token, times, authority] = process.argv.slice(2);
const ca = authority && fs.readFileSync(authority);
const connect = (then) => (ca ? tls.connect({ port, host: "127.0.0.1", servername: "localhost", ca, allowHalfOpen: true }, then)
  : net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }, then));
const PATIENCE_MS = Number(process.env.KX_PATIENCE ?? 60) * 1000;
const LARGE = `"${"x".repeat(40000)}"`;

const request = (method, path, body, more = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${more}` +
  (body === undefined ? "\r\n" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);

const PUT = request("PUT", "/kv/half/a", "1");
const KINDS = {
  put: PUT,
  "large put": request("PUT", "/kv/half/b", LARGE),
  patch: request("PATCH", "/kv/half/c", '{"n":1}'),
  post: request("POST", "/kv/half", "1"),
  delete: request("DELETE", "/kv/half/a"),
  atomic: request("POST", "/atomic", '{"mutations":[{"type":"sum","key":["half","n"],"value":1}]}'),
  range: request("DELETE", "/list?prefix=none"),
  get: request("GET", "/kv/half/a"),
  count: request("GET", "/count"),
  three: PUT + request("GET", "/kv/half/a") + PUT,
  "put and a part": PUT + PUT.slice(0, 30),
};

const count = (text, pattern) => (text.match(pattern) ?? []).length;

// How many answers came, at most so many. Without TLS the server closes then, too.
function ask(text, wanted) {
  return new Promise((resolve) => {
    let heard = "", answers = 0;
    const socket = connect(() => socket.end(text));
    socket.setEncoding("latin1").on("data", (part) => {
      heard += part;
      answers = count(heard, /HTTP\/1\.1 /g);
      if (ca && answers === wanted) socket.destroy();
    });
    const late = setTimeout(() => { console.log("still open:", text.slice(0, 40)); process.exit(1); }, PATIENCE_MS);
    socket.on("error", () => {}).on("close", () => { clearTimeout(late); resolve(answers); });
  });
}

(async () => {
  const other = connect(() => other.write(PUT));
  await new Promise((resolve) => other.once("data", resolve));
  for (const [kind, text] of Object.entries(KINDS)) {
    let answers = 0;
    const sent = count(text, /Content-Length: \d+\r\n\r\n|Bearer \S+\r\n\r\n/g);
    for (let i = 0; i < Number(times); i++) answers += await ask(text, sent);
    console.log(`${kind}: ${sent * Number(times)} sent, ${answers} answered`);
  }
  other.destroy();
})();

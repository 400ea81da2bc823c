// Clients that end their half of the connection as soon as they have sent their
// requests, and wait for the answers:
//
//   node tests/http/half_closed.js PORT TOKEN TIMES
//
// Meanwhile another connection is open, so that commits go over the queue. Prints
// for each kind of request how many were sent and how many answered.
"use strict";
const net = require("node:net");

const [port, token, times] = process.argv.slice(2);
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

function ask(text) {
  return new Promise((resolve) => {
    let heard = "";
    const socket = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => socket.end(text));
    socket.setEncoding("latin1").on("data", (part) => { heard += part; });
    socket.on("error", () => {}).on("close", () => resolve((heard.match(/HTTP\/1\.1 /g) ?? []).length));
  });
}

(async () => {
  const other = net.connect({ port, host: "127.0.0.1" });
  other.write(PUT);
  await new Promise((resolve) => other.once("data", resolve));
  for (const [kind, text] of Object.entries(KINDS)) {
    let answers = 0;
    const sent = (text.match(/Content-Length: \d+\r\n\r\n|Bearer \S+\r\n\r\n/g) ?? []).length;
    for (let i = 0; i < Number(times); i++) answers += await ask(text);
    console.log(`${kind}: ${sent * Number(times)} sent, ${answers} answered`);
  }
  other.destroy();
})();

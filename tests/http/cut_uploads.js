// Clients that end their half of the connection within the body of a request:
//
//   node tests/http/cut_uploads.js PORT TOKEN [CA]
//
// With the certificate of an authority over TLS, where the end is a close_notify.
// Prints for each kind of body what came before the server closed.
"use strict";
const fs = require("node:fs");
const net = require("node:net");
const tls = require("node:tls");
const { PREFACE, frame, settings, headers, pseudo } = require("./h2.js");

const [port, token, authority] = process.argv.slice(2);
const ca = authority && fs.readFileSync(authority);
const PATIENCE_MS = Number(process.env.KX_PATIENCE ?? 60) * 1000;

const connect = (protocol, then) => (ca
  ? tls.connect({ port, host: "127.0.0.1", servername: "localhost", ca, allowHalfOpen: true, ALPNProtocols: [protocol] }, then)
  : net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }, then));

const head = (more) => `PUT /kv/cut HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${more}\r\n\r\n`;
const whole = `${head("Content-Length: 1")}1`;
const h2 = Buffer.concat([PREFACE, settings(),
  headers(1, [...pseudo("PUT", "/kv/cut"), ["authorization", `Bearer ${token}`]], 0), frame("DATA", 0, 1, "\"half")]);

// [what, protocol, bytes]
const KINDS = [
  ["no byte of a body", "http/1.1", head("Content-Length: 9")],
  ["half a body", "http/1.1", `${head("Content-Length: 9")}"hal`],
  ["half a chunk", "http/1.1", `${head("Transfer-Encoding: chunked")}9\r\n"hal`],
  ["a chunk and no other", "http/1.1", `${head("Transfer-Encoding: chunked")}1\r\n1\r\n`],
  ["half a trailer", "http/1.1", `${head("Transfer-Encoding: chunked")}1\r\n1\r\n0\r\nA: b`],
  ["a request and half a body", "http/1.1", `${whole}${head("Content-Length: 9")}"hal`],
  ["half a body over HTTP/2", "h2", h2],
];

function cut([what, protocol, bytes]) {
  return new Promise((resolve) => {
    let heard = "";
    const socket = connect(protocol, () => socket.end(bytes));
    socket.setEncoding("latin1").on("data", (part) => { heard += part; });
    const late = setTimeout(() => { console.log(`${what}: still open`); process.exit(1); }, PATIENCE_MS);
    const closed = () => {
      clearTimeout(late);
      resolve(`${what}: ${(heard.match(/HTTP\/1\.1 \d+/g) ?? ["nothing"]).join(" ")}`);
    };
    socket.on("error", () => {}).on("end", closed).on("close", closed);
  });
}

(async () => {
  for (const kind of KINDS) console.log(await cut(kind));
})();

// HTTP without an HTTP client, for the tests beside this: bytes out, bytes in.
// The server is the one of the arguments HOST PORT.
"use strict";
const net = require("node:net");

const [host, port] = [process.argv[2], Number(process.argv[3])];
const PATIENCE_MS = Number(process.env.KX_PATIENCE ?? 60) * 1000;

// Sends the pieces, each in a separate write; what came until the server
// closed, and how it ended.
function exchange(pieces) {
  return new Promise((resolve) => {
    const received = [];
    const socket = net.connect({ host, port, noDelay: true, allowHalfOpen: false });
    const end = (how) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ how, bytes: Buffer.concat(received).toString("latin1") });
    };
    const timer = setTimeout(() => end("timeout"), PATIENCE_MS);
    socket.on("connect", () => pieces.forEach((piece) => socket.write(Buffer.from(piece, "latin1"))));
    socket.on("data", (data) => received.push(data));
    socket.on("end", () => end("closed"));
    socket.on("error", () => end("reset"));
  });
}

// Every response in the bytes; the methods are needed for HEAD only.
function responses(bytes, isHead) {
  const all = [];
  while (bytes !== "") {
    const match = /^HTTP\/1\.[01] (\d{3}) .*?\r\n\r\n/s.exec(bytes);
    if (!match) return [...all, { status: "garbage", body: bytes.slice(0, 200) }];
    const [head, status] = [match[0], Number(match[1])];
    let rest = bytes.slice(head.length);
    let body = "";
    const length = /^content-length: *(\d+)/im.exec(head);
    if (status >= 200 && !(isHead && all.length === 0)) {
      if (/^transfer-encoding: *chunked/im.test(head)) {
        for (let size = -1; size !== 0;) {
          size = parseInt(rest, 16);
          const start = rest.indexOf("\r\n") + 2;
          body += rest.slice(start, start + size);
          rest = rest.slice(start + size + 2);
        }
      } else {
        body = rest.slice(0, length ? Number(length[1]) : rest.length);
        rest = rest.slice(body.length);
      }
    }
    all.push({ status, head, body });
    bytes = rest;
  }
  return all;
}

module.exports = { exchange, responses };

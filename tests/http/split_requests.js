// Clients that send the head of a request and, only when the server has said that
// it waits for more, the body: by the system calls in its trace. Says for each
// protocol what the request was answered, and how often the server has said so
// during ten requests that came in one piece.
//
//   node tests/http/split_requests.js PORT TRACE [CA]
"use strict";
const fs = require("node:fs");
const http2 = require("node:http2");
const net = require("node:net");
const tls = require("node:tls");

const [port, trace] = [Number(process.argv[2]), process.argv[3]];
const ca = process.argv[4] && fs.readFileSync(process.argv[4]);
const PATIENCE_MS = Number(process.env.KX_PATIENCE ?? 60) * 1000;
const WHOLE = 10;
const BODY = JSON.stringify("x".repeat(2000));
const PATH = "/kv/split";

const acknowledged = () => fs.readFileSync(trace, "latin1").split("TCP_QUICKACK").length - 1;

// Resolves when there was one more; rejects when none comes.
function another(before) {
  const deadline = Date.now() + PATIENCE_MS;
  return new Promise((resolve, reject) => {
    const look = () => {
      if (acknowledged() > before) resolve();
      else if (Date.now() > deadline) reject(new Error("no acknowledgement"));
      else setTimeout(look, 10);
    };
    look();
  });
}

const connect = (more) => new Promise((resolve) => {
  const socket = ca
    ? tls.connect({ host: "127.0.0.1", port, ca, servername: "localhost", ...more }, () => resolve(socket))
    : net.connect({ host: "127.0.0.1", port, ...more }, () => resolve(socket));
});

// One request at a time; send() resolves to the status.
async function http1() {
  const socket = await connect({ ALPNProtocols: ["http/1.1"] });
  const reply = () => new Promise((resolve) => {
    socket.once("data", (data) => resolve(Number(data.toString("latin1", 9, 12))));
  });
  const head = `PUT ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${BODY.length}\r\n\r\n`;
  const send = (bytes) => { const got = reply(); socket.write(bytes); return got; };
  return {
    settle: () => send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    whole: () => send(head + BODY),
    async split() {
      const before = acknowledged();
      socket.write(head);
      await another(before);
      return send(BODY);
    },
    close: () => socket.destroy(),
  };
}

// What comes before the answer to a PING was read before it. A PUT has nothing to
// send until its commit is on disk: of requests in one piece GETs are counted.
async function overHttp2() {
  const socket = await connect({ ALPNProtocols: ["h2"] });
  const session = http2.connect(`http${ca ? "s" : ""}://localhost`, { createConnection: () => socket });
  const status = (stream) => new Promise((resolve, reject) => {
    stream.on("response", (head) => resolve(head[":status"]));
    stream.on("error", reject);
    stream.resume();
  });
  return {
    async settle() {
      await new Promise((resolve, reject) => session.ping((error) => error ? reject(error) : resolve()));
      return 200;
    },
    whole: () => status(session.request({ ":path": "/livez" })),
    async split() {
      const before = acknowledged();
      const stream = session.request({ ":method": "PUT", ":path": PATH, "content-type": "application/json" },
        { endStream: false });
      const answered = status(stream);
      await another(before);
      stream.end(BODY);
      return answered;
    },
    close: () => session.destroy(),
  };
}

async function main() {
  for (const [name, open] of [["HTTP/1.1", http1], ["HTTP/2", overHttp2]]) {
    const client = await open();
    await client.settle();
    await client.settle();
    const split = [await client.split(), await client.split()];
    await client.settle();
    const before = acknowledged();
    for (let i = 0; i < WHOLE; i++) await client.whole();
    console.log(`${name}: ${split.join(" ")}, ${acknowledged() - before} in one piece`);
    client.close();
  }
}

main().catch((error) => {
  console.log(error.message);
  process.exit(1);
});

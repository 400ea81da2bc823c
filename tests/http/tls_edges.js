// Clients of TLS that are not like the others. The program says a line "what:
// answer" for each; the test beside it knows what the answers must be.
//
//   node tests/http/tls_edges.js PORT CA CASE...
"use strict";
const fs = require("node:fs");
const net = require("node:net");
const stream = require("node:stream");
const tls = require("node:tls");
const http2 = require("node:http2");
const crypto = require("node:crypto");

const [port, ca] = [Number(process.argv[2]), fs.readFileSync(process.argv[3])];
const PATIENCE_MS = (Number(process.env.KX_LIMIT ?? 300) - 50) * 1000;
const GET = (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const settings = (more) => ({ host: "127.0.0.1", port, ca, servername: "localhost", ...more });

// A socket that sends one byte at a time.
function dribbling() {
  const socket = net.connect({ host: "127.0.0.1", port, noDelay: true });
  const duplex = new stream.Duplex({
    read() { socket.resume(); },
    write(data, encoding, done) {
      for (const byte of data) socket.write(Buffer.from([byte]));
      done();
    },
    final(done) { socket.end(done); },
  });
  socket.on("data", (data) => duplex.push(data) || socket.pause());
  socket.on("end", () => duplex.push(null));
  socket.on("error", (error) => duplex.destroy(error));
  return duplex;
}

// Resolves to all that came until the server closed, or until `enough` says so.
function gather(socket, enough = () => false) {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (data) => { text += data; if (enough(text)) resolve(text); });
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
  });
}

const statuses = (text) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]).join(" ");
const answers = (n) => (text) => [...text.matchAll(/\{"ok":true\}/g)].length >= n;
const digest = (data) => crypto.createHash("sha256").update(data).digest("hex").slice(0, 16);

// Reads a large body with pauses, so that the server's socket is full.
async function slowly(body) {
  const hash = crypto.createHash("sha256");
  let size = 0;
  for await (const chunk of body) {
    hash.update(chunk);
    size += chunk.length;
    await new Promise((done) => setImmediate(done));
  }
  return `${size} ${hash.digest("hex").slice(0, 16)}`;
}

function http2Client() {
  const client = http2.connect(`https://localhost:${port}`, { ca });
  client.on("error", () => {});
  return client;
}

const CASES = {
  // Handshake and request come byte by byte.
  async dribble() {
    const socket = tls.connect(settings({ socket: dribbling() }));
    socket.write(GET("/livez"));
    const text = await gather(socket, answers(1));
    socket.destroy();
    return statuses(text);
  },
  // Each byte of two requests is a record.
  async records() {
    const socket = tls.connect(settings());
    await new Promise((done) => socket.on("secureConnect", done));
    for (const byte of GET("/livez") + GET("/livez")) socket.write(byte);
    const text = await gather(socket, answers(2));
    socket.destroy();
    return statuses(text);
  },
  // A hundred requests in a few records: more than one read of the server.
  async pipeline() {
    const socket = tls.connect(settings());
    socket.write(GET("/livez").repeat(1000));
    const text = await gather(socket, answers(1000));
    socket.destroy();
    return String([...text.matchAll(/HTTP\/1\.1 200/g)].length);
  },
  // What is no request is answered through TLS, and the connection ended.
  async nonsense() {
    const socket = tls.connect(settings());
    socket.write("GET / HTTP/1.1\r\nHost : localhost\r\n\r\n");
    return statuses(await gather(socket));
  },
  // The client has ended its half; the server ends the connection.
  async notify() {
    const socket = tls.connect(settings());
    socket.write(GET("/livez"));
    await gather(socket, answers(1));
    socket.end();
    await new Promise((done) => socket.on("close", done));
    return "closed";
  },
  // The server's end is said in TLS, not only by the socket: no truncation.
  async goodbye() {
    const socket = tls.connect(settings());
    socket.write("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return statuses(await gather(socket));
  },
  // A handshake that is not gone on with is given up.
  async silence() {
    const socket = net.connect({ host: "127.0.0.1", port });
    socket.write(Buffer.from([22, 3, 1, 2, 0, 1]));
    await gather(socket);
    return "closed";
  },
  async unknownProtocol() {
    const socket = tls.connect(settings({ ALPNProtocols: ["spdy/3"] }));
    return gather(socket).then(() => "taken", (error) => error.code);
  },
  async renegotiation() {
    const socket = tls.connect(settings({ maxVersion: "TLSv1.2" }));
    await new Promise((done) => socket.on("secureConnect", done));
    const ended = new Promise((done) => socket.on("close", done).on("error", () => {}));
    const answered = new Promise((done) =>
      socket.renegotiate({}, (error) => done(error ? "refused" : "done")));
    return Promise.race([answered, ended.then(() => "refused")]);
  },
  async large1() {
    const socket = tls.connect(settings());
    socket.write(`GET /kv/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const bytes = [];
    for await (const chunk of socket) {
      bytes.push(chunk);
      await new Promise((done) => setImmediate(done));
    }
    const all = Buffer.concat(bytes);
    const body = all.subarray(all.indexOf("\r\n\r\n") + 4);
    return `${body.length} ${digest(body)}`;
  },
  async large2() {
    const client = http2Client();
    const seen = await slowly(client.request({ ":path": "/kv/large" }));
    client.close();
    return seen;
  },
  // Ten large bodies up and down at a time on one connection.
  async many2() {
    const client = http2Client();
    const body = Buffer.from(JSON.stringify("x".repeat(900000)));
    const put = (n) => new Promise((resolve, reject) => {
      const request = client.request({ ":method": "PUT", ":path": `/kv/many/${n}`,
        "content-type": "application/json" });
      request.on("response", (head) => resolve(head[":status"]));
      request.on("error", reject);
      request.end(body);
    });
    const statusesSeen = await Promise.all([...Array(10).keys()].map(put));
    const sizes = await Promise.all([...Array(10).keys()].map((n) =>
      slowly(client.request({ ":path": `/kv/many/${n}` }))));
    client.close();
    const whole = `${body.length} ${digest(body)}`;
    return `${new Set(statusesSeen).size} ${sizes.every((size) => size === whole)}`;
  },
};

async function main() {
  setTimeout(() => process.exit(1), PATIENCE_MS).unref();
  for (const name of process.argv.slice(4))
    console.log(`${name}: ${await CASES[name]().catch((error) => error.code ?? error.message)}`);
  process.exit(0);
}

main();

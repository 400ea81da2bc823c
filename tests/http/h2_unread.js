// A client that asks for large values over HTTP/2, has room for all of them by
// its windows, and takes nothing from its socket:
//
//   node tests/http/h2_unread.js HOST PORT
//
// Prints whether the server gives its requests up before the patience is at its
// end. The requests in flight are the server's own count, by another connection.
"use strict";
const http = require("node:http");
const { Connection, PREFACE, frame, settings, setting, get, u32, HEADER_TABLE_SIZE, INITIAL_WINDOW } =
  require("./h2.js");

const [host, port] = process.argv.slice(2);
const REQUESTS = 20, PATIENCE_MS = Number(process.env.KX_PATIENCE ?? 60) * 1000, WINDOW = 0x7fffffff;

const inFlight = () => new Promise((resolve, reject) => {
  http.get({ host, port, path: "/metrics", agent: false }, (reply) => {
    let text = "";
    reply.on("data", (data) => { text += data; });
    reply.on("end", () => resolve(Number(/^kindex_http_requests_in_flight (\d+)$/m.exec(text)[1])));
  }).on("error", reject);
});

async function until(condition) {
  const end = Date.now() + PATIENCE_MS;
  let holds = false;
  while (!(holds = condition(await inFlight())) && Date.now() < end)
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  return holds;
}

async function main() {
  const connection = new Connection([PREFACE,
    settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, WINDOW)),
    frame("WINDOW_UPDATE", 0, 0, u32(WINDOW - 65535))]);
  connection.socket.pause();
  for (let i = 0; i < REQUESTS; i++) connection.send(get(2 * i + 1, "/kv/large"));
  const held = await until((count) => count > REQUESTS / 2);
  const given = await until((count) => count === 1);
  console.log(`${held ? "held" : "not held"}, ${given ? "given up" : "not given up"}`);
  process.exit(0);
}

main();

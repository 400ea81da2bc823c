// A client that asks for many lists at once over HTTP/2, and another one that
// looks meanwhile how many of them the server has made:
//
//   node tests/http/h2_fair.js HOST PORT LISTS TRIES
//
// A client that is answered only after all of them has waited for all of them. Prints
// "fair" if in one of the tries some were still to be made: a slow client can
// come too late, an unfair server is never seen so.
"use strict";
const http = require("node:http");
const { Connection, PREFACE, frame, settings, setting, get, u32, HEADER_TABLE_SIZE, INITIAL_WINDOW } = require("./h2.js");

const [host, port] = process.argv.slice(2);
const [lists, tries] = process.argv.slice(4).map(Number);
const WINDOW = 0x7fffffff;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function made() {
  return new Promise((resolve, reject) => {
    http.get({ host, port, agent, path: "/metrics" }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (part) => { text += part; });
      reply.on("end", () => resolve(Number(/^kindex_http_requests_total\{route="\/list",method="GET",status="2xx"\} (\d+)/m
        .exec(text)?.[1] ?? 0)));
    }).on("error", reject);
  });
}

async function isFair() {
  const before = await made();
  const connection = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, WINDOW)),
    frame("WINDOW_UPDATE", 0, 0, u32(WINDOW - 65535))]);
  connection.send(Buffer.concat(Array.from({ length: lists }, (_, i) => get(2 * i + 1, "/list?prefix=fair&limit=1000&keys=true"))));
  await connection.until((seen) => Object.keys(seen.status).length > 0);
  const meanwhile = await made() - before;
  connection.socket.destroy();
  return meanwhile < lists;
}

(async () => {
  let fair = false;
  for (let i = 0; i < tries && !fair; i++) fair = await isFair();
  console.log(fair ? "fair" : "unfair");
  process.exit(0);
})();

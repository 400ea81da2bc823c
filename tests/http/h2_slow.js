// Requests over HTTP/2 of which the rest does not come:
//
//   node tests/http/h2_slow.js HOST PORT
//
// Prints what becomes of each: a line "what: answer".
"use strict";
const { Connection, frame, headers, pseudo, get } = require("./h2.js");

const json = ["content-type", "application/json"];

// A head without its end; no other frame may come in between.
async function head() {
  const connection = new Connection(undefined, { quiet: true });
  connection.send(frame("HEADERS", 1, 1, "\x82"));
  const seen = await connection.until(({ goaway, closed }) => goaway !== null || closed);
  return `goaway ${seen.goaway}`;
}

// A body without its end; the connection continues.
async function body() {
  const connection = new Connection();
  connection.send(headers(1, [...pseudo("PUT", "/kv/slow"), json], 0));
  connection.send(frame("DATA", 0, 1, "\"begun"));
  const late = await connection.until(({ ended }) => ended[1]);
  connection.send(get(3, "/livez"));
  const after = await connection.until(({ ended }) => ended[3]);
  const reset = await connection.until(({ reset: seen }) => seen[1] !== undefined);
  return `${late.status[1]} ${after.status[3]} reset ${reset.reset[1]}`;
}

// A body whose end comes with its answer, however slowly: bytes do not help.
async function dribble() {
  const connection = new Connection();
  connection.send(headers(1, [...pseudo("PUT", "/kv/slow"), json], 0));
  connection.send(frame("DATA", 0, 1, "\""));
  const timer = setInterval(() => connection.send(frame("DATA", 0, 1, "x")), 50);
  const seen = await connection.until(({ ended }) => ended[1]);
  clearInterval(timer);
  return String(seen.status[1]);
}

async function main() {
  for (const [name, run] of Object.entries({ head, body, dribble }))
    console.log(`${name}: ${await run()}`);
  process.exit(0);
}

main();

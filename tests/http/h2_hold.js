// A client that asks for a large value many times and takes nothing of it for a
// while:
//
//   node tests/http/h2_hold.js HOST PORT PID TIMES
//
// Prints how many requests were answered and how many refused (REFUSED_STREAM)
// meanwhile, then the most memory that the process has had, in MiB, and at last
// how many replies the client gets once it takes them.
"use strict";
const fs = require("node:fs");
const { Connection, PREFACE, frame, settings, setting, get, u32, HEADER_TABLE_SIZE, INITIAL_WINDOW } = require("./h2.js");

const [pid, times] = process.argv.slice(4).map(Number);
const ENOUGH = 16, WINDOW = 0x7fffffff;
const replies = (seen) => [Object.keys(seen.status).length, Object.values(seen.reset).filter((code) => code === 7).length];

async function main() {
  const connection = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, 0))]);
  for (let k = 0; k < times; k++) connection.send(get(2 * k + 1, "/kv/large"));
  await connection.until((now) => replies(now)[0] > ENOUGH || replies(now)[1] > ENOUGH);
  await new Promise((resolve) => setTimeout(resolve, 100));
  console.log(...replies(connection.seen));
  console.log(Math.round(/VmHWM:\s*(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1] / 1024));
  connection.send(settings(setting(INITIAL_WINDOW, WINDOW)), frame("WINDOW_UPDATE", 0, 0, u32(WINDOW - 65535)));
  const seen = await connection.over(...Array.from({ length: times }, (_, k) => 2 * k + 1));
  console.log(Object.keys(seen.ended).length);
  process.exit(0);
}

main();

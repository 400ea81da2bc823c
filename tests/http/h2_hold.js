// A client that asks for a large value many times and takes nothing of it:
//
//   node tests/http/h2_hold.js HOST PORT PID TIMES
//
// Prints how many requests were answered, how many refused (REFUSED_STREAM),
// and the most memory that the process has had, in MiB.
"use strict";
const fs = require("node:fs");
const { Connection, PREFACE, settings, setting, get, HEADER_TABLE_SIZE, INITIAL_WINDOW } = require("./h2.js");

const [pid, times] = process.argv.slice(4).map(Number);

async function main() {
  const connection = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, 0))]);
  for (let i = 0; i < times; i++) connection.send(get(2 * i + 1, "/kv/large"));
  const replies = (seen) => [Object.keys(seen.status).length, Object.values(seen.reset).filter((code) => code === 7).length];
  const [answered, refused] = replies(await connection.until((seen) => replies(seen)[0] + replies(seen)[1] === times));
  const memory = /VmHWM:\s*(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
  console.log(`${answered} ${refused} ${Math.round(memory[1] / 1024)}`);
  process.exit(0);
}

main();

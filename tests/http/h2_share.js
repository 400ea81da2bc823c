// Clients that watch a key so many times each, one after the other:
//
//   node tests/http/h2_share.js HOST PORT TIMES...
//
// Prints for each how many of its requests are answered and how many refused
// (REFUSED_STREAM).
"use strict";
const { Connection, get } = require("./h2.js");

(async () => {
  for (const times of process.argv.slice(4).map(Number)) {
    const connection = new Connection();
    for (let i = 0; i < times; i++) connection.send(get(2 * i + 1, "/watch?key=a"));
    const count = (seen) => [Object.keys(seen.status).length, Object.values(seen.reset).filter((code) => code === 7).length];
    const seen = await connection.until((now) => count(now)[0] + count(now)[1] === times);
    console.log(...count(seen));
  }
  process.exit(0);
})();

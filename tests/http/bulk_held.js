// A client of POST /bulk over HTTP/2 with room for about one line of the reply,
// which it does not read before its standard input ends:
//
//   node tests/http/bulk_held.js URL FILE
//
// Prints the last line of the reply then, and after it "cut" if the reply had
// no end.
"use strict";
const fs = require("node:fs");
const http2 = require("node:http2");

const [url, file] = process.argv.slice(2);
const session = http2.connect(url, { settings: { initialWindowSize: 100 } });
const stream = session.request({ ":method": "POST", ":path": "/bulk" });
let text = "", ended = false;

function finish() {
  console.log(text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1) + (ended ? "" : "\ncut"));
  process.exit(0);
}

session.on("error", () => {});
stream.on("error", () => {}).on("close", finish).on("end", () => { ended = stream.rstCode === 0 && !stream.aborted; });
stream.end(fs.readFileSync(file));
process.stdin.on("end", () => stream.setEncoding("utf8").on("data", (part) => { text += part; })).resume();

// A server that is told to stop while a reply is on its way:
//
//   node tests/http/h2_stop.js HOST PORT PID
//
// There must be more to list than the client takes before it reads on.
"use strict";
const http2 = require("node:http2");

const [host, port, pid] = process.argv.slice(2);
const client = http2.connect(`http://${host}:${port}`);
const said = [];
let body = "";

client.on("goaway", (code, last) => said.push(`goaway ${code} ${last === list.id ? "after the list" : last}`));
client.on("error", (error) => said.push(error.message));
client.on("close", () => {
  console.log(said.join(", "));
  console.log(body.trimEnd().split("\n").at(-1));
});

const list = client.request({ ":path": "/list?prefix=stop", accept: "application/x-ndjson" });
list.setEncoding("utf8");
list.once("data", () => {
  list.pause();
  client.once("goaway", () => list.resume());
  process.kill(Number(pid), "SIGTERM");
});
list.on("data", (text) => { body += text; });
list.on("error", (error) => said.push(error.message));
list.on("end", () => said.push("end"));
setTimeout(() => process.exit(1), 100000).unref();

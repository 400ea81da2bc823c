// A proxy between a client and a server, which spoils what it is told to:
//
//   node tests/http/between.js URL RULE...
//
// Prints its own URL, and a line for each rule that applies. A rule is
// WHAT:PATH:N, for the N-th request (from 1) whose path ends with PATH:
//   hold     forwards it, and never answers it
//   wait     forwards it, and answers after the process has got SIGUSR2
//   lose     neither forwards nor answers it
//   cut      forwards it, and closes the connection instead of answering
//   STATUS   answers with this status and a text, without forwarding
// or version:V, which leaves the client only this version of KV Connect; or
// stale:PATH:N, which marks the page as not strongly consistent.
"use strict";
const { once } = require("node:events");
const http = require("node:http");

const [target, ...rules] = process.argv.slice(2);
const version = Number((rules.find((rule) => rule.startsWith("version:")) ?? ":").split(":")[1]);
const counts = new Map();

// The rule for this request, or undefined.
function ruleFor(path) {
  let found;
  for (const name of new Set(rules.map((rule) => rule.split(":")[1]))) {
    if (!path.endsWith(name)) continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    found ??= rules.find((rule) => rule.endsWith(`:${name}:${counts.get(name)}`));
  }
  return found;
}

function bodyOf(message) {
  return new Promise((resolve, reject) => {
    const parts = [];
    message.on("data", (part) => parts.push(part)).on("error", reject).on("end", () => resolve(Buffer.concat(parts)));
  });
}

// Sends the request to the server; resolves to its answer.
async function forward(request, body) {
  const { host, ...headers } = request.headers;
  const own = { ...headers, "content-length": body.length };
  const reply = await new Promise((resolve, reject) => {
    http.request(new URL(request.url, target), { method: request.method, headers: own }, resolve)
      .on("error", reject).end(body);
  });
  return { status: reply.statusCode, headers: reply.headers, body: await bodyOf(reply) };
}

// Replaces the field read_is_strongly_consistent (4, a varint) by false.
function madeStale(body) {
  const at = body.lastIndexOf(Buffer.from([0x20, 0x01]));
  return Buffer.concat([body.subarray(0, at), body.subarray(at + 2)]);
}

const server = http.createServer(async (request, response) => {
  let body = await bodyOf(request);
  const rule = ruleFor(request.url);
  const what = rule?.split(":")[0];
  if (rule !== undefined && what !== "wait") console.log(rule);
  if (what === "lose") return;
  if (what !== undefined && /^\d/.test(what)) {
    response.writeHead(Number(what), { "content-type": "text/plain" }).end("spoilt\n");
    return;
  }
  if (version && request.url === "/") body = Buffer.from(JSON.stringify({ supportedVersions: [version] }));
  const reply = await forward(request, body);
  if (what === "hold") return;
  if (what === "wait") {
    const told = once(process, "SIGUSR2");
    console.log(rule);
    await told;
  }
  if (what === "cut") {
    request.socket.destroy();
    return;
  }
  const bytes = what === "stale" ? madeStale(reply.body) : reply.body;
  response.writeHead(reply.status, { ...reply.headers, "content-length": bytes.length }).end(bytes);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));

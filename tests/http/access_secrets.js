// What a token that may write, and not read, is told: nothing that depends on what
// is stored. Each request is sent again and again, before each of which another
// value is stored (or none); for any value, the answer must be the same, but
// for versionstamps and names of requests.
//
//   node tests/http/access_secrets.js URL ADMIN-TOKEN
//
// Each request is also sent with a token that may read, too, whose answers must
// differ: else the request would show nothing. The last line: N passed, N failed.
"use strict";

const [url, admin] = process.argv.slice(2);
const json = (value) => encodeURIComponent(JSON.stringify(value));
const KEY = ["a", "secret"];
const PATH = `/kv?key=${json(KEY)}`;
// The index a_by_x is of the same entries: for the value 7 it has one or it has not.
const INDEX_KEY = ["a_by_x", 7, "secret"];
const INDEX_PATH = `/kv?key=${json(INDEX_KEY)}`;
const TYPED = "application/vnd.kindex.typed+json";
const STATES = [
  null,
  ["application/json", "7"],
  ["application/json", '"text"'],
  ["application/json", '{"x":7}'],
  ["application/json", '{"x":8,"y":"' + "y".repeat(1048000) + '"}'],
  ["application/octet-stream", "bytes"],
  [TYPED, '{"type":"bigint","value":"7"}'],
  [TYPED, '{"type":"KvU64","value":"7"}'],
];

async function send(token, method, path, { body, headers = {} } = {}) {
  const type = body === undefined ? {} : { "content-type": "application/json" };
  return fetch(url + path, { method, body, headers: { ...type, ...headers, authorization: `Bearer ${token}` } });
}

async function store(state) {
  const reply = state === null ? await send(admin, "DELETE", PATH)
    : await send(admin, "PUT", PATH, { body: state[1], headers: { "content-type": state[0] } });
  if (!reply.ok) throw new Error(`${state}: ${reply.status} ${await reply.text()}`);
}

async function told(token, [method, path, options]) {
  const reply = await send(token, method, path, options);
  const text = await reply.text();
  return `${reply.status} ${reply.headers.get("preference-applied")} ` +
    text.replace(/"versionstamp":"[0-9a-f]+"/g, '"versionstamp":"-"').replace(/[0-9a-f]{20}/g, "-");
}

async function makeToken(scopes) {
  const reply = await send(admin, "POST", "/tokens",
    { body: JSON.stringify({ name: "made", grants: [{ scopes, prefix: ["a"] }] }) });
  return (await reply.json()).token;
}

const atomic = (mutations, more) => ["POST", "/atomic", { body: JSON.stringify({ mutations, ...more }) }];
const mutation = (type, value, key = KEY) => ({ type, key, value });

const requests = [
  ["PUT", PATH, { body: '{"x":7}' }],
  ["PUT", PATH, { body: "1", headers: { "if-none-match": "*" } }],
  ["PUT", PATH, { body: "1", headers: { "if-match": "*" } }],
  ["DELETE", PATH, { headers: { prefer: "return=representation" } }],
  ["DELETE", PATH, { headers: { "if-match": "*" } }],
  ["PATCH", PATH, { body: '{"x":9}' }],
  ["PATCH", PATH, { body: `{"z":"${"z".repeat(2000)}"}` }],
  ["DELETE", `/list?prefix=${json(["a"])}`],
  ["DELETE", `/list?prefix=${json(["a"])}&limit=1`],
  ["DELETE", INDEX_PATH],
  ["PUT", INDEX_PATH, { body: '"secret"' }],
  atomic([], { checks: [{ key: KEY, versionstamp: null }] }),
];
for (const dry of [false, true]) {
  for (const type of ["sum", "min", "max"])
    for (const value of [0, 1e308])
      if (type === "sum" || value === 0) requests.push(atomic([mutation(type, value)], { dry }));
  requests.push(atomic([{ type: "sum", key: KEY, typed: { type: "bigint", value: "1" } }], { dry }));
  requests.push(atomic([mutation("patch", { z: 1 })], { dry }));
  requests.push(atomic([{ type: "delete", key: INDEX_KEY }], { dry }));
  requests.push(atomic([mutation("set", "secret", INDEX_KEY)], { dry }));
}

async function main() {
  let passed = 0;
  let failed = 0;
  const fail = (text) => { failed++; console.log("FAILED", text.slice(0, 600)); };
  await send(admin, "POST", "/indexes",
    { body: JSON.stringify({ name: "a_by_x", prefix: ["a"], fields: ["/x"] }) });
  const writer = await makeToken(["write"]);
  const reader = await makeToken(["write", "read", "list"]);
  for (const request of requests) {
    const answers = { writer: new Set(), reader: new Set() };
    for (const state of STATES)
      for (const [name, token] of [["writer", writer], ["reader", reader]]) {
        await store(state);
        answers[name].add(await told(token, request));
      }
    const what = `${request[0]} ${request[1]} ${(request[2]?.body ?? "").slice(0, 100)}`;
    if (answers.writer.size !== 1) fail(`${what} tells: ${[...answers.writer].join(" | ")}`);
    else if (answers.reader.size === 1) fail(`${what} shows nothing: ${[...answers.reader]}`);
    else passed++;
  }
  console.log(passed, "passed,", failed, "failed");
}

main().catch((error) => { console.log("FAILED", error); console.log("0 passed, 1 failed"); });

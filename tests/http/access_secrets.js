// What a token that may write, and not read, is told: nothing that depends on what
// is stored. What a token that may declare indexes, and not list, is told of them:
// nothing that depends on which entries they have. Each request is sent again and again, before each of which another
// value is stored (or none); for any value, the answer must be the same, but
// for versionstamps and names of requests.
//
//   node tests/http/access_secrets.js URL ADMIN-TOKEN
//
// Each request is also sent with a token that may read or list, too, whose answers
// must differ: else the request would show nothing. The last line: N passed, N failed.
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
    text.replace(/"versionstamp":"[0-9a-f]+"/g, '"versionstamp":"-"').replace(/[0-9a-f]{20}/g, "-")
      .replace(/[0-9]{13}/g, "-"); // a time
}

async function makeToken(scopes, ...prefixes) {
  const grants = [["a"], ...prefixes].map((prefix) => ({ scopes, prefix }));
  const reply = await send(admin, "POST", "/tokens", { body: JSON.stringify({ name: "made", grants }) });
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

// Indexes with the entry if its member x is 7, with the entry if it has x, and with
// neither if x is too large.
const declaration = (name, more) => ({ name, prefix: ["a"], fields: ["/x"], where: { path: "/x", eq: 7 }, ...more });
const declare = (path, document, method = "POST", undo = undefined) =>
  [method, path, { body: JSON.stringify(document), headers: { prefer: "wait=60" } }, undo];
const about = [
  declare("/indexes?dry=1", declaration("tried")),
  declare("/indexes?dry=1", declaration("tried", { where: undefined, missing: "error", unique: true })),
  declare("/indexes?dry=1", { tried: declaration("tried", { where: undefined }) }, "PUT"),
  declare("/indexes?dry=1&prune=1", {}, "PUT"),
  declare("/indexes", declaration("tried"), "POST", ["DELETE", "/indexes/tried"]),
  declare("/indexes", declaration("seven"), "POST"),
  declare("/indexes", { seven: declaration("seven") }, "PUT"),
  declare("/indexes/seven", { store: "pointer" }, "PATCH"),
  ["POST", "/indexes/seven/resume"],
  ["GET", "/indexes/seven"],
  ["GET", "/indexes/seven", { headers: { accept: "text/event-stream" } }],
  ["GET", "/indexes"],
];
const ENTRIES = ['{"x":7}', '{"x":8}', "{}", '[1]'].map((text) => ["application/json", text]);

// Counts what the first token is told that depends on the state, and what the second
// is not.
async function main() {
  let passed = 0;
  let failed = 0;
  const fail = (text) => { failed++; console.log("FAILED", text.slice(0, 600)); };
  await send(admin, "POST", "/indexes",
    { body: JSON.stringify({ name: "a_by_x", prefix: ["a"], fields: ["/x"] }) });
  const writer = await makeToken(["write"]);
  const reader = await makeToken(["write", "read", "list"]);
  const compare = async (request, states, blind, seeing) => {
    const answers = { blind: new Set(), seeing: new Set() };
    for (const state of states)
      for (const [name, token] of [["blind", blind], ["seeing", seeing]]) {
        await store(state);
        answers[name].add(await told(token, request));
        if (request[3]) await send(admin, ...request[3]);
      }
    const what = `${request[0]} ${request[1]} ${(request[2]?.body ?? "").slice(0, 100)}`;
    if (answers.blind.size !== 1) fail(`${what} tells: ${[...answers.blind].join(" | ")}`);
    else if (answers.seeing.size === 1) fail(`${what} shows nothing: ${[...answers.seeing]}`);
    else passed++;
  };
  for (const request of requests) await compare(request, STATES, writer, reader);
  await send(admin, ...declare("/indexes", declaration("seven")));
  const names = [["seven"], ["tried"]];
  const declarer = await makeToken(["read", "index"], ...names);
  const lister = await makeToken(["read", "index", "list"], ...names);
  for (const request of about) await compare(request, ENTRIES, declarer, lister);
  await send(admin, "DELETE", "/indexes/seven");
  console.log(passed, "passed,", failed, "failed");
}

main().catch((error) => { console.log("FAILED", error); console.log("0 passed, 1 failed"); });

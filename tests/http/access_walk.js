// Walks tokens x requests x places: what each token is answered, cell by cell.
//
//   node tests/http/access_walk.js URL ADMIN-TOKEN KINDEX [--plant | --identities DIRECTORY]
//
// A token is for the keys under ["a"], or for all; each has one scope, or all
// of them. A request has a route's scope and needs; from these follows what
// the answer must be, which is written down here and not taken from the server.
// Every operation of the route table must have a row. HTTP/1.1 is walked with all
// tokens, HTTP/2 with some, since one function decides for both. With --plant the tokens
// are for all keys although the walk believes they are for ["a"]: with these tokens it
// must find that out for every operation that has a row outside of ["a"].
//
// With --identities the same rows are walked with JSON Web Tokens and client certificates, at
// an https URL. The directory has the authority ours.pem, the key ed.key of the issuer, and
// the certificates plain, a, whole and ada with their keys. What they are granted stands in
// IDENTITIES, and so does the file that the server takes for --grants:
//
//   node tests/http/access_walk.js --grants
"use strict";
const { execFileSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const http2 = require("node:http2");
const https = require("node:https");

const [url, admin, kindex, option, directory] = process.argv.slice(2);
const plant = option === "--plant";
const identities = option === "--identities";
const SCOPES = ["read", "write", "list", "watch", "index", "admin", "monitor"];

// ---- Identities from outside ---------------------------------------------------

// Lines of --grants: `whole` has everything, `a` what its subject names, `ada` two parts of a
// key of which one is its subject. An admin line has no other scopes.
const lines = (holder, prefix) => [SCOPES.filter((scope) => scope !== "admin"), ["admin"]].map((scopes) =>
  ({ ...holder, scopes, prefix }));
const GRANTS = [
  ...lines({ when: { role: "whole" } }, []), ...lines({ when: { role: "a" } }, ["{sub}"]),
  ...lines({ when: { role: "ada" } }, ["u", "{sub}"]), { when: { role: "a" }, scopes: ["index"], prefix: ["ia"] },
  ...lines({ certificate: { cn: "whole" } }, []), ...lines({ certificate: { dns: "a.example.org" } }, ["{cn}"]),
  ...lines({ certificate: { cn: "ada" } }, ["u", "{cn}"]),
  { certificate: { cn: "a" }, scopes: ["index"], prefix: ["ia"] },
];
if (url === "--grants") {
  console.log(JSON.stringify(GRANTS));
  process.exit(0);
}

function jwt(claims, { alg = "EdDSA", exp = 3600 } = {}) {
  const all = { iss: "id", aud: "kindex", exp: Math.floor(Date.now() / 1000) + exp, ...claims };
  const text = [{ alg, kid: "ed" }, all].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${crypto.sign(null, Buffer.from(text), fs.readFileSync(`${directory}/ed.key`)).toString("base64url")}`;
}

// {name, text of a token, certificate, grants}; without grants it is refused.
function makeIdentities() {
  const all = (...prefixes) => prefixes.map((prefix) => ({ scopes: SCOPES, prefix }));
  const ofA = [...all(["a"]), { scopes: ["index"], prefix: ["ia"] }];
  return [
    { name: "JWT of a", text: jwt({ sub: "a", role: "a" }), grants: ofA },
    { name: "JWT of all", text: jwt({ sub: "x", role: "whole" }), grants: all([]) },
    { name: "JWT of u/ada", text: jwt({ sub: "ada", role: ["x", "ada"] }), grants: all(["u", "ada"]) },
    { name: "JWT without sub", text: jwt({ role: "ada" }), grants: [] },
    { name: "JWT with an empty sub", text: jwt({ sub: "", role: "ada" }), grants: [] },
    { name: "JWT without a role", text: jwt({ sub: "ada", cn: "whole" }), grants: [] },
    { name: "expired JWT", text: jwt({ sub: "x", role: "whole" }, { exp: -61 }) },
    { name: "JWT of no algorithm", text: jwt({ sub: "x", role: "whole" }, { alg: "none" }) },
    { name: "JWT for others", text: jwt({ sub: "x", role: "whole", aud: "other" }) },
    { name: "certificate of a", certificate: "a", grants: ofA },
    { name: "certificate of all", certificate: "whole", grants: all([]) },
    { name: "certificate of u/ada", certificate: "ada", grants: all(["u", "ada"]) },
    { name: "certificate without grants", certificate: "plain" },
    { name: "expired JWT with a certificate of all", certificate: "whole", text: jwt({ role: "whole" }, { exp: -61 }) },
    { name: "JWT of a with a certificate of all", certificate: "whole", text: jwt({ sub: "a", role: "a" }), grants: ofA },
  ];
}

// What a connection with this certificate needs.
function tlsOf(certificate = "plain") {
  const file = (name) => fs.readFileSync(`${directory}/${name}`);
  return identities ? { ca: file("ours.pem"), cert: file(`${certificate}.pem`), key: file(`${certificate}.key`) } : {};
}

const agents = new Map();
function agentOf(certificate, keepAlive = true) {
  const made = () => new (identities ? https : http).Agent({ keepAlive, maxSockets: keepAlive ? 1 : 100, ...tlsOf(certificate) });
  if (!keepAlive) return made();
  if (!agents.has(certificate)) agents.set(certificate, made());
  return agents.get(certificate);
}

// ---- Requests over both protocols -------------------------------------------

const headersOf = (request, token) => ({
  ...(token ? { authorization: `Bearer ${token}` } : {}),
  ...request.headers,
});

// Answers {status, text}. What does not end is not read to its end.
function one(request, token, certificate) {
  return new Promise((resolve, reject) => {
    const sent = (identities ? https : http).request(url + request.path, {
      method: request.method, agent: agentOf(certificate, !request.endless),
      headers: headersOf(request, token) }, (reply) => {
      if (request.endless && reply.statusCode === 200) {
        sent.on("error", () => {});
        sent.destroy();
        resolve({ status: 200, text: "" });
        return;
      }
      let text = "";
      reply.setEncoding("latin1").on("data", (part) => { text += part; });
      reply.on("end", () => resolve({ status: reply.statusCode, text }));
    });
    sent.on("error", reject);
    sent.end(request.body);
  });
}

const sessions = new Map();
function two(request, token, certificate) {
  if (!sessions.has(certificate)) sessions.set(certificate, http2.connect(url, tlsOf(certificate)));
  return new Promise((resolve, reject) => {
    const stream = sessions.get(certificate).request({ ":path": request.path, ":method": request.method,
      ...headersOf(request, token) });
    let status, text = "";
    stream.on("response", (headers) => {
      status = headers[":status"];
      if (!request.endless || status !== 200) return;
      stream.close(http2.constants.NGHTTP2_CANCEL);
      resolve({ status, text });
    });
    stream.setEncoding("latin1").on("data", (part) => { text += part; });
    stream.on("end", () => resolve({ status, text }));
    stream.on("error", reject);
    stream.end(request.body);
  });
}

// ---- Messages of KV Connect -------------------------------------------------

const part = (text) => Buffer.concat([Buffer.from([2]),
  Buffer.from(text.replaceAll("\0", "\0\xff"), "latin1"), Buffer.from([0])]);
const encode = (key) => Buffer.concat(key.map(part));
const field = (number, bytes) =>
  Buffer.concat([Buffer.from([number << 3 | 2, bytes.length]), bytes]);
const range = (start, end, limit) => field(1, Buffer.concat([field(1, start),
  field(2, end), Buffer.from([3 << 3, limit])]));
const after = (key, byte) => Buffer.concat([encode(key), Buffer.from([byte])]);
const kvCheck = (key) => field(1, field(1, encode(key)));
const kvDelete = (key) => field(2, Buffer.concat([field(1, encode(key)), Buffer.from([3 << 3, 2])]));

// ---- The rows ---------------------------------------------------------------

const rows = [];
const json = (value) => encodeURIComponent(JSON.stringify(value));
// needs: [scope, prefix of the keys]; prefix null: only a token for all keys.
function row(operation, method, path, { route, needs = [], below, ok, body, type, endless, accept, restore, headers: others }) {
  const headers = { ...others };
  if (body !== undefined) headers["content-type"] = type ?? "application/json";
  if (body !== undefined) headers["content-length"] = Buffer.byteLength(body);
  if (accept) headers.accept = accept;
  rows.push({ operation, method, path, route, needs, below, ok, body, headers, endless, restore });
}

// Inside, the prefix itself, and neighbours in the order of keys.
const PLACES = [["a", "k"], ["a"], ["ab"], ["a\0b"], ["b", "k"], ["A"]];
// And of ["u","ada"]: one part longer and shorter, and siblings.
if (identities) PLACES.push(["u", "ada", "k"], ["u", "ada"], ["u"], ["u", "adam"], ["u", "ad"], ["u", "bob", "k"]);
for (const key of PLACES) {
  const at = `/kv?key=${json(key)}`;
  const gone = [...key, "gone"];
  row("getEntry", "GET", at, { route: "read", needs: [["read", key]], ok: 200 });
  row("getEntry", "HEAD", at, { route: "read", needs: [["read", key]], ok: 200 });
  row("putEntry", "PUT", at, { route: "write", needs: [["write", key]], ok: 200, body: '{"x":1}' });
  row("patchEntry", "PATCH", at, { route: "write", needs: [["write", key], ["read", key]], ok: 200, body: '{"x":1}' });
  row("createEntry", "POST", at, { route: "write", needs: [["write", key]], ok: 201, body: "1" });
  row("deleteEntry", "DELETE", `/kv?key=${json(gone)}`, { route: "write", needs: [["write", gone]], ok: 204 });
  row("listEntries", "GET", `/list?prefix=${json(key)}&limit=1`, { route: "list", needs: [["list", key]], ok: 200 });
  row("listEntries", "GET", `/list?prefix=${json(key)}`, { route: "list", needs: [["list", key]], ok: 200,
    accept: "application/x-ndjson" });
  row("countEntries", "GET", `/count?prefix=${json(key)}`, { route: "list", needs: [["list", key]], ok: 200 });
  row("listChildren", "GET", `/tree?prefix=${json(key)}`, { route: "list", needs: [["list", key]], below: true, ok: 200 });
  row("deleteEntries", "DELETE", `/list?start=${json(gone)}&end=${json([...gone, "z"])}`,
    { route: "write", needs: [["write", gone], ["list", gone]], ok: 200 });
  row("patchEntries", "PATCH", `/list?prefix=${json(gone)}`,
    { route: "write", needs: [["write", gone], ["list", gone], ["read", gone]], ok: 200, body: '{"x":1}' });
  row("watchEntries", "GET", `/watch?key=${json(["a", "k"])}&key=${json(key)}`,
    { route: "watch", needs: [["watch", ["a", "k"]], ["watch", key]], ok: 200, endless: true });
  row("watchEntries", "GET", `/watch?prefix=${json(key)}`, { route: "watch", needs: [["watch", key]], ok: 200, endless: true });
  row("getMany", "POST", "/get", { needs: [["read", ["a", "k"]], ["read", key]], ok: 200,
    body: JSON.stringify({ keys: [["a", "k"], key] }) });
  row("getMany", "POST", "/get", { needs: [["list", key]], ok: 200,
    body: JSON.stringify({ ranges: [{ prefix: key }] }) });
  row("listRanges", "POST", "/list", { route: "list", needs: [["list", ["a", "k"]], ["list", key]], ok: 200,
    body: JSON.stringify({ ranges: [{ prefix: ["a", "k"] }, { prefix: key }], order: "merge" }) });
  row("explainList", "POST", "/explain", { route: "list", needs: [["list", key]], ok: 200,
    body: JSON.stringify({ prefix: key }) });
  row("commitAtomic", "POST", "/atomic", { route: "write", needs: [["write", ["a", "gone"]], ["write", gone]], ok: 200,
    body: JSON.stringify({ mutations: [["a", "gone"], gone].map((k) => ({ type: "delete", key: k })) }) });
  // The entry is an object, so a number does not go with it; nor may a dry run tell
  // that, or what an index has already.
  const readToo = { route: "write", needs: [["write", key], ["read", key]] };
  const atomic = (mutation, dry) => JSON.stringify({ mutations: [{ key, ...mutation }], dry });
  for (const dry of [false, true]) {
    for (const type of ["sum", "min", "max"])
      row("commitAtomic", "POST", "/atomic", { ...readToo, ok: 409, body: atomic({ type, value: 1 }, dry) });
    row("commitAtomic", "POST", "/atomic", { ...readToo, ok: 200, body: atomic({ type: "patch", value: { x: 1 } }, dry) });
  }
  row("commitAtomic", "POST", "/atomic", { ...readToo, ok: 200, body: atomic({ type: "set", value: { x: 1 } }, true) });
  row("commitAtomic", "POST", "/atomic", { ...readToo, ok: 200, body: atomic({ type: "delete" }, true) });
  for (const match of ["If-Match", "If-None-Match"])
    row("putEntry", "PUT", at, { route: "write", needs: [["read", key], ["write", key]], ok: match === "If-Match" ? 200 : 412,
      body: '{"x":1}', headers: { [match]: "*" } });
  // The check fails: that must not be told to clients that may not read the key.
  row("commitAtomic", "POST", "/atomic", { route: "write", needs: [["read", key], ["write", ["a", "gone"]]], ok: 409,
    body: JSON.stringify({ checks: [{ key, versionstamp: null }],
      mutations: [{ type: "delete", key: ["a", "gone"] }] }) });
  // The entry is an object, and the first line is refused: the status is of that.
  const line = (body) => ({ type: "application/x-ndjson", body });
  row("writeLines", "POST", "/bulk", { ...line(`{"type":"delete","key":${JSON.stringify(gone)}}`),
    route: "write", needs: [["write", gone]], ok: 200 });
  row("writeLines", "POST", "/bulk", { ...line(`{"type":"sum","key":${JSON.stringify(key)},"value":1}\n`), ...readToo, ok: 409 });
  const proto = { type: "application/x-protobuf" };
  const lookUp = [["read", key, "list"]];
  row("snapshotRead", "POST", "/v2/snapshot_read", { ...proto, needs: lookUp, ok: 200,
    body: range(encode(key), after(key, 0), 1) });
  row("snapshotRead", "POST", "/v2/snapshot_read", { ...proto, needs: [["read", key, "list", []]], ok: 200,
    body: range(encode(key), Buffer.from([255]), 1) });
  row("snapshotRead", "POST", "/v2/snapshot_read", { ...proto, needs: [["list", key]], ok: 200,
    body: range(after(key, 0), after(key, 255), 9) });
  row("atomicWrite", "POST", "/v2/atomic_write", { ...proto, route: "write", needs: [["write", gone]], ok: 200,
    body: kvDelete(gone) });
  row("atomicWrite", "POST", "/v2/atomic_write", { ...proto, route: "write",
    needs: [["read", key], ["write", ["a", "gone"]]], ok: 200,
    body: Buffer.concat([kvCheck(key), kvDelete(["a", "gone"])]) });
  row("watch", "POST", "/v2/watch", { ...proto, route: "watch", needs: [["watch", key]], ok: 200, endless: true,
    body: field(1, field(1, encode(key))) });
}

// Ranges that leave the prefix, or are everything.
const wide = [`/list?start=${json(["a", "k"])}&end=${json(["ab"])}`, "/list", "/list?prefix=[]"];
for (const path of wide)
  row("listEntries", "GET", path, { route: "list", needs: [["list", []]], ok: 200 });
row("countEntries", "GET", "/count", { route: "list", needs: [["list", []]], ok: 200 });
row("listChildren", "GET", "/tree", { route: "list", ok: 200 });
row("deleteEntries", "DELETE", `/list?start=${json(["a", "zz"])}&end=${json(["a\0a"])}`,
  { route: "write", needs: [["write", []], ["list", []]], ok: 200 });
const all = [["write", []], ["list", []], ["read", []]];
for (const path of [`/list?start=${json(["a", "zz"])}&end=${json(["a\0a"])}`, "/list?prefix=[]&limit=1&dry=1"])
  row("patchEntries", "PATCH", path, { route: "write", needs: all, ok: 200, body: '{"x":1}' });
row("snapshotRead", "POST", "/v2/snapshot_read", { type: "application/x-protobuf", needs: [["list", []]], ok: 200,
  body: range(encode(["a", "k"]), Buffer.from([255]), 9) });
row("discoverIndexes", "POST", "/indexes/discover", { route: "list", needs: [["list", []], ["read", []]], ok: 200 });
row("discoverIndexes", "POST", "/indexes/discover?prefix=a", { route: "list", ok: 200,
  needs: [["list", ["a"]], ["read", ["a"]]] });
row("explainList", "POST", "/explain", { route: "list", needs: [["list", []]], ok: 200, body: '{"prefix":[]}' });

// Indexes: ia and xa are declared for ["a"], ib for ["b"]; there is no ix. A
// token for ["a"] with the scope index has it for the name ia, too.
const SOURCES = { ia: ["a"], xa: ["a"], ib: ["b"], ix: null };
const declaration = (name, prefix) => ({ name, prefix, fields: ["/x"], unique: false });
for (const [name, source] of Object.entries(SOURCES)) {
  const at = `/indexes/${name}`;
  const there = (status) => (source ? status : 404);
  const read = { route: "read", needs: [["read", source]] };
  const list = { route: "list", needs: [["list", source]] };
  const change = { route: "index", needs: [["index", source], ["index", [name]]] };
  row("getIndex", "GET", at, { ...read, ok: there(200) });
  row("getVerification", "GET", `${at}/verify`, { ...list, ok: there(200) });
  row("getByIndex", "GET", `${at}/get/=1`, { ...read, ok: there(409) });
  row("putByIndex", "PUT", `${at}/get/=1?new=a/x`, { route: "write", body: '{"x":1}', ok: there(409),
    needs: [["write", source], ["read", source], ["write", ["a", "x"]]] });
  row("listConflicts", "GET", `${at}/conflicts`, { ...list, ok: there(200) });
  row("listEntries", "GET", `/list?index=${name}`, { ...list, ok: there(200) });
  row("listEntries", "GET", `/list?index=${name}&in=a&in=b&order=merge`, { ...list, ok: there(200) });
  row("listRanges", "POST", "/list", { ...list, ok: there(200), body: JSON.stringify({ ranges: [{ index: name }] }) });
  row("countEntries", "GET", `/count?index=${name}`, { ...list, ok: there(200) });
  row("patchEntries", "PATCH", `/list?index=${name}&prefix=none`, { route: "write", ok: there(200), body: '{"x":1}',
    needs: [["write", source], ["list", source], ["read", source]] });
  row("listChildren", "GET", `/tree?index=${name}`, { ...list, ok: there(200) });
  row("aggregateGroups", "GET", `/aggregate?index=${name}`, { ...list, ok: there(400) }); // it has no totals
  row("getMany", "POST", "/get", { needs: list.needs, ok: there(200),
    body: JSON.stringify({ ranges: [{ index: name }] }) });
  for (const action of ["pause", "resume", "throttle", "verify"])
    row(`${action}Index`, "POST", `${at}/${action}`, { ...change,
      needs: action === "verify" ? [...change.needs, ["list", source]] : change.needs,
      ok: there(action === "verify" ? [200, 202] : 200),
      body: action === "throttle" ? '{"perSecond":null}' : undefined });
  row("migrateIndex", "PATCH", at, { ...change, ok: there(200), body: '{"store":"pointer"}' });
  row("undoMigration", "DELETE", `${at}/migration`, { ...change, ok: 404 });
  row("dropIndex", "DELETE", at, { ...change, ok: there(204), restore: source && ["POST", "/indexes", declaration(name, source)] });
  if (!source) continue;
  // Its entries, as keys, are those of its source; of no token for its name.
  row("getEntry", "GET", `/kv?key=${json([name, 1, "none"])}`, { ...read, ok: 404 });
  row("listEntries", "GET", `/list?prefix=${json([name])}`, { ...list, ok: 200 });
  row("declareIndex", "POST", "/indexes", { ...change, ok: 200, body: JSON.stringify(declaration(name, source)) });
  row("declareIndexes", "PUT", "/indexes", { ...change, ok: 200, body: JSON.stringify({ [name]: declaration(name, source) }) });
  // What is written there is compared with what the index holds: with something for
  // the value 1, and with nothing for 2.
  const own = { route: "write", needs: [["write", source], ["read", source]] };
  for (const [value, ok] of [[1, 409], [2, 200]]) {
    const key = [name, value, "k"];
    const path = `/kv?key=${json(key)}`;
    row("deleteEntry", "DELETE", path, { ...own, ok: ok === 200 ? 204 : ok });
    row("putEntry", "PUT", path, { ...own, ok: 409, body: '"other"' });
    for (const dry of [false, true])
      row("commitAtomic", "POST", "/atomic", { ...own, ok, body: JSON.stringify({ mutations: [{ type: "delete", key }], dry }) });
  }
}
// Queues: qa is declared for ["a","q"], qb for ["b"]; there is no qx. A claim and a
// receipt tell nothing of a queue to clients without its scopes.
const receipt = (key) => Buffer.concat([Buffer.alloc(8, 1), encode(key)]).toString("base64url");
for (const [name, source] of [["qa", ["a", "q"]], ["qb", ["b"]], ["qx", null]]) {
  const at = `/queues/${name}`;
  const there = (status) => (source ? status : 404);
  row("getQueue", "GET", at, { route: "list", needs: [["list", source]], ok: there(200) });
  row("claimJobs", "POST", `${at}/claim?prefix=none`, { route: "write", ok: there(200),
    needs: [["write", source], ["list", source], ["read", source]] });
  for (const action of ["ack", "extend", "release", "fail"])
    for (const key of [["a", "q", "none"], ["b", "none"]])
      row(`${action}Jobs`, "POST", `${at}/${action}`, { route: "write", needs: [["write", key]], ok: there(409),
        body: JSON.stringify({ receipts: [receipt(key)] }) });
}
// Indexes of changes, which are followed: ca of ["a"], cb of ["b"]; there is no cx. The
// keys of an adopted index, da of ["a"], belong to it as well.
const CHANGES = [["ca", ["a"]], ["cb", ["b"]], ["cx", null]];
for (const [name, source] of CHANGES)
  for (const since of ["", "&since=00000000000000000000"])
    row("watchEntries", "GET", `/watch?index=${name}${since}`, { route: "watch", needs: [["watch", source]],
      ok: !source ? 404 : since ? 410 : 200, endless: true });
const ADOPTED = { name: "da", prefix: ["a"], fields: ["/y"], adopt: true };
row("getEntry", "GET", `/kv?key=${json(["da", 1, "none"])}`, { route: "read", needs: [["read", ["a"]]], ok: 404 });
row("listEntries", "GET", `/list?prefix=${json(["da"])}`, { route: "list", needs: [["list", ["a"]]], ok: 200 });
row("watchEntries", "GET", `/watch?prefix=${json(["da"])}`, { route: "watch", needs: [["watch", ["a"]]], ok: 200, endless: true });
row("putEntry", "PUT", `/kv?key=${json(["da", 1, "none"])}`, { route: "write", ok: 409, body: '"other"',
  needs: [["write", ["a"]], ["read", ["a"]]] });
// Rules: ra is for ["a","r"], rb for ["b","r"]; there is no rx. A rule is declared and
// dropped by those that may list the entries of its prefix.
const RULES = [["ra", ["a", "r"]], ["rb", ["b", "r"]], ["rx", null]];
const ruleOf = (prefix) => ({ prefix, bounds: { max: 9 } });
for (const [name, source] of RULES) {
  const at = `/rules/${name}`;
  const there = (status) => (source ? status : 404);
  const change = { route: "index", needs: [["index", source], ["list", source]] };
  row("getRule", "GET", at, { route: "read", needs: [["read", source]], ok: there(200) });
  row("listViolations", "GET", `${at}/violations`, { route: "list", needs: [["list", source]], ok: there(200) });
  for (const prefix of source ? RULES.map(([, p]) => p).filter(Boolean) : []) {
    const both = { route: "index", needs: [["index", prefix], ["list", prefix], ...change.needs] };
    if (prefix === source) row("putRule", "PUT", at, { ...both, ok: 200, body: JSON.stringify(ruleOf(prefix)) });
    row("putRule", "PUT", `${at}?dry=1`, { ...both, ok: 200, body: JSON.stringify(ruleOf(prefix)) });
  }
  row("dropRule", "DELETE", at, { ...change, ok: there(204),
    restore: source && ["PUT", at, ruleOf(source)] });
}
row("listRules", "GET", "/rules", { route: "read", ok: 200 });
for (const prefix of [["a"], ["a", "k"], ["ab"], []])
  row("getUsage", "GET", `/usage?prefix=${json(prefix)}`, { route: "list", needs: [["list", prefix]], ok: 200 });
// Receipts in /atomic name no queue; a dry run would tell whether there is a job.
for (const key of [["a", "q", "none"], ["b", "none"]])
  for (const dry of [false, true])
    row("commitAtomic", "POST", "/atomic", { route: "write", ok: 409,
      needs: dry ? [["write", key], ["read", key]] : [["write", key]],
      body: JSON.stringify({ ack: [receipt(key)], dry }) });
row("listQueues", "GET", "/queues", { route: "list", ok: 200 });
// Dead jobs are moved without further rights, so the declaration needs them.
for (const dead of [["a", "dead"], ["b", "dead"]])
  row("declareIndex", "POST", "/indexes?dry=1", { route: "index", ok: 409,
    needs: [["index", ["a", "n"]], ["index", ["ia"]], ["write", dead]],
    body: JSON.stringify({ name: "ia", prefix: ["a", "n"], fields: ["/due"], queue: { dead } }) });
// An index that folds is told by what is wrong with a folded key only to clients that
// may list by it: fb is declared for ["b"], and there is no fx.
const FOLDING = { name: "fb", prefix: ["b"], fields: [{ path: "/x", fold: "lower" }] };
for (const [name, source, ok] of [["fb", ["b"], 400], ["fx", null, 404]]) {
  const needs = { needs: [["list", source]], ok };
  for (const [operation, path] of [["listEntries", "/list"], ["countEntries", "/count"], ["listChildren", "/tree"], ["aggregateGroups", "/aggregate"]])
    row(operation, "GET", `${path}?index=${name}&start=B&end=a`, { route: "list", ...needs });
  row("getMany", "POST", "/get", { ...needs, body: JSON.stringify({ ranges: [{ index: name, start: ["B"], end: ["a"] }] }) });
  row("listRanges", "POST", "/list", { route: "list", ...needs, body: JSON.stringify({ ranges: [{ index: name, start: ["B"], end: ["a"] }] }) });
}
row("declareIndex", "POST", "/indexes?dry=1", { route: "index", needs: [["index", []], ["index", ["ia"]]], ok: 409,
  body: JSON.stringify(declaration("ia", [])) });
// An existing declaration is told only to clients that may see it.
row("declareIndex", "POST", "/indexes?dry=1", { route: "index", needs: [["index", ["ia"]], ["index", ["a"]]], ok: 409,
  body: JSON.stringify({ ...declaration("ia", ["a"]), unique: true }) });
row("declareIndexes", "PUT", "/indexes?dry=1", { route: "index", needs: [["index", ["ia"]], ["index", ["a"]]], ok: 200,
  body: JSON.stringify({ ia: { ...declaration("ia", ["a"]), fields: ["/y"] } }) });
// What a token may not drop stays, and is not in the answer.
// Another prefix needs the right for both.
for (const [name, from, to] of [["ia", ["a"], ["b"]], ["ib", ["b"], ["a"]]])
  row("declareIndexes", "PUT", "/indexes?dry=1", { route: "index", needs: [["index", [name]], ["index", from], ["index", to]], ok: 200,
    body: JSON.stringify({ [name]: { ...declaration(name, to), unique: false } }) });
row("migrateIndex", "PATCH", "/indexes/ia", { route: "index", needs: [["index", ["ia"]], ["index", ["a"]], ["index", ["b"]]], ok: 400,
  body: '{"prefix":["b"],"name":"other"}' });
row("declareIndexes", "PUT", "/indexes?dry=1&prune=1", { route: "index", ok: 200, body: "{}" });
row("listIndexes", "GET", "/indexes", { route: "read", ok: 200 });

// Tokens: an administrator of ["a"] deals with what is for ["a"], and gives what it has.
const grant = (prefix) => JSON.stringify({ name: "made", grants: [{ scopes: ["read"], prefix }], ttl: "1ms" });
for (const prefix of [["a"], ["a", "k"], ["ab"], []])
  row("createToken", "POST", "/tokens", { route: "admin", needs: [["admin", prefix], ["read", prefix]], ok: 201, body: grant(prefix) });
row("listTokens", "GET", "/tokens", { route: "admin", ok: 200 });
for (const [operation, method] of [["getToken", "GET"], ["revokeToken", "DELETE"]])
  row(operation, method, "/tokens/0000000000000000", { route: "admin", ok: 404 });

row("getOwnToken", "GET", "/tokens/self", { route: "optional", ok: 200 });

row("exchangeMetadata", "POST", "/", { ok: 200, body: '{"supportedVersions":[3]}' });
row("getMetrics", "GET", "/metrics", { needs: [["monitor", []]], ok: 200 });
row("getHistory", "GET", "/metrics/history", { needs: [["monitor", []]], ok: 200 });
row("listSlow", "GET", "/slow", { needs: [["admin", []]], ok: 200 });
row("getCluster", "GET", "/cluster", { needs: [["admin", []]], ok: 200 });
row("stepDown", "POST", "/cluster/step-down", { needs: [["admin", []]], ok: 409 });
row("promote", "POST", "/promote", { needs: [["admin", []]], ok: 409 });
row("getBackup", "GET", "/backup", { needs: [["admin", []]], ok: 200, endless: true });
row("createBackupTicket", "POST", "/backup/tickets", { needs: [["admin", []]], ok: [201, 503] });
row("getBackupByTicket", "GET", "/backup/tickets/0", { route: "optional", ok: 404 });
for (const [operation, path] of [["getService", "/"], ["getLive", "/livez"], ["getReady", "/readyz"],
  ["getVersion", "/version"], ["getOpenapi", "/openapi.json"],
  ["getOpenapiYaml", "/openapi.yaml"], ["getConsole", "/console"], ["getDocs", "/docs"], ["getProblem", "/problems/forbidden"]])
  row(operation, "GET", path, { route: "open", ok: 200 });
row("getConsoleFile", "GET", "/console/~0/app.js", { route: "open", ok: 404 });

// ---- The model --------------------------------------------------------------

const begins = (key, prefix) => prefix.every((p, i) => key[i] === p);
function has(token, scope, prefix) {
  return token.grants.some((g) => g.scopes.includes(scope) &&
    (g.prefix.length === 0 || (prefix !== null && begins(prefix, g.prefix))));
}

// With a right for some keys under a prefix, the names under it that lead there are shown.
const hasBelow = (token, scope, prefix) =>
  token.grants.some((g) => g.scopes.includes(scope) && begins(g.prefix, prefix));

// {statuses} and, when it is a refusal, the scope that is missing.
function expected(token, { route, needs, below, ok }) {
  if (route === "open") return { statuses: [ok].flat() };
  if (route === "optional") return { statuses: [token.text && !token.grants ? 401 : ok] };
  if (!token.grants) return { statuses: [401] };
  if (route && !token.grants.some((g) => g.scopes.includes(route))) return { statuses: [403], scope: route };
  for (const [scope, prefix, or, orPrefix] of needs)
    if (!has(token, scope, prefix) && !(below && hasBelow(token, scope, prefix)) && !(or && has(token, or, orPrefix ?? prefix))) return { statuses: [403], scope };
  return { statuses: [ok].flat() };
}

// ---- The walk ---------------------------------------------------------------

async function ask(method, path, document, token = admin) {
  const body = document === undefined ? undefined : JSON.stringify(document);
  const headers = { prefer: "wait=60", ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }) };
  const answer = await one({ method, path, headers, body }, token);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.text === "" ? undefined : JSON.parse(answer.text);
}

async function makeToken(name, grants) {
  const real = plant ? grants.map((g) => ({ ...g, prefix: [] })) : grants;
  const { id, token } = await ask("POST", "/tokens", { name, grants: real });
  return { name, id, text: token, grants };
}

async function makeTokens() {
  const narrow = (scopes) => [{ scopes, prefix: ["a"] },
    ...(scopes.includes("index") ? [{ scopes: ["index"], prefix: ["ia"] }] : [])];
  const tokens = [];
  for (const scope of SCOPES) {
    tokens.push(await makeToken(`${scope} of a`, narrow([scope])));
    tokens.push(await makeToken(`${scope} of all`, [{ scopes: [scope], prefix: [] }]));
  }
  tokens.push(await makeToken("all of a", narrow(SCOPES)), await makeToken("all of all", [{ scopes: SCOPES, prefix: [] }]));
  // An index's name is in no token's prefix.
  tokens.push(await makeToken("all of an index's name", [{ scopes: SCOPES, prefix: ["ib"] }]));
  if (!plant) tokens.at(-1).grants[0].prefix = ["nowhere"];
  const over = await ask("POST", "/tokens", { name: "over", grants: [{ scopes: SCOPES, prefix: [] }], ttl: "1ms" });
  const revoked = await makeToken("revoked", [{ scopes: SCOPES, prefix: [] }]);
  await ask("DELETE", `/tokens/${revoked.id}`);
  const wrong = `${admin.slice(0, -2)}${admin.at(-2) === "A" ? "B" : "A"}${admin.at(-1)}`;
  return [...tokens, { name: "none" }, { name: "expired", text: over.token }, { name: "revoked", text: revoked.text },
    { name: "wrong secret", text: wrong }, { name: "no token", text: "x" }, { name: "half a token", text: admin.slice(0, 30) }];
}

function missing(text) {
  return /"scope":"(\w+)"/.exec(text)?.[1] ?? /the scope (\w+)/.exec(text)?.[1];
}

let passed = 0;
const answered = new Set(); // "true OPERATION" if it was refused to one, "false OPERATION" if not
const wrongly = new Map(); // operation -> what was wrong
async function look(send, token, request) {
  const want = expected(token, request);
  const { status, text } = await send(request, token.text, token.certificate);
  const right = want.statuses.includes(status) &&
    (!want.scope || request.method === "HEAD" || missing(text) === want.scope);
  answered.add(`${status === 401 || status === 403} ${request.operation}`);
  if (right) passed++;
  else wrongly.set(request.operation, [...(wrongly.get(request.operation) ?? []),
    `${token.name}: ${request.method} ${request.path} ${request.body ?? ""}: ${status} ${missing(text) ?? ""}, ` +
    `not ${want.statuses} ${want.scope ?? ""}: ${text.slice(0, 300)}`]);
  if (status < 300 && request.restore) await ask(...request.restore);
}

async function main() {
  for (const key of PLACES) await ask("PUT", `/kv?key=${json(key)}`, { x: 1 });
  for (const [name, source] of Object.entries(SOURCES)) {
    if (!source) continue;
    await ask("POST", "/indexes", declaration(name, source));
    await ask("POST", `/indexes/${name}/verify`);
  }
  await ask("POST", "/indexes", FOLDING);
  for (const [name, prefix] of [["qa", ["a", "q"]], ["qb", ["b"]]])
    await ask("POST", "/indexes", { name, prefix, fields: ["/due"], queue: {} });
  await ask("POST", "/indexes", ADOPTED);
  for (const [name, prefix] of CHANGES)
    if (prefix) await ask("POST", "/indexes", { name, prefix, fields: [{ versionstamp: true }] });
  for (const [name, prefix] of RULES)
    if (prefix) await ask("PUT", `/rules/${name}`, ruleOf(prefix));
  const tokens = await makeTokens();
  // A dropped index has not been verified: that row comes before it is.
  const order = rows.filter((r) => r.operation !== "dropIndex");
  order.push(...rows.filter((r) => r.operation === "dropIndex"));
  const narrow = tokens.filter(({ name }) => / of a$/.test(name));
  const some = tokens.filter(({ name }) => ["all of a", "all of all", "none", "no token"].includes(name));
  const outside = identities ? makeIdentities() : [];
  const walks = identities ? [[one, outside], [two, outside.filter(({ name }) => / of (a|u.ada)$/.test(name))]]
    : plant ? [[one, narrow]] : [[one, tokens], [two, some]];
  for (const [send, walkers] of walks)
    for (const request of order) {
      for (const token of walkers) await look(send, token, request);
      if (request.operation === "dropIndex" && request.restore)
        await ask("POST", `/indexes/${request.restore[2].name}/verify`);
    }
  // The route table says what must have been walked: each method of an operation, allowed to
  // some and, unless it is open, refused to others.
  const routes = execFileSync(kindex, ["serve", "--print-routes"], { encoding: "utf8" });
  for (const [method, , operation] of routes.split("\n").filter(Boolean).map((line) => line.split(" "))) {
    const own = rows.filter((r) => r.operation === operation && r.method === method);
    if (own.length === 0) wrongly.set(operation, ["no row of the walk is for this operation"]);
    else if (!plant && !answered.has(`false ${operation}`)) wrongly.set(operation, ["allowed to no identity"]);
    else if (!plant && own[0].route !== "open" && !answered.has(`true ${operation}`))
      wrongly.set(operation, ["refused to no identity"]);
    else passed++;
  }
  if (plant) {
    const outside = new Set(rows.filter((r) => tokens.some((t) => t.grants && expected(t, r).scope &&
      expected({ grants: t.grants.map((g) => ({ ...g, prefix: [] })) }, r).statuses[0] !== 403)).map((r) => r.operation));
    const unseen = [...outside].filter((operation) => !wrongly.has(operation));
    console.log(outside.size - unseen.length, "of", outside.size, ...unseen);
  } else {
    for (const list of wrongly.values()) for (const text of list.slice(0, 4)) console.log("FAILED", text);
    const count = [...wrongly.values()].reduce((sum, list) => sum + list.length, 0);
    console.log(passed, "passed,", count, "failed");
  }
  process.exit(0);
}

main().catch((error) => { console.log("FAILED", error); process.exit(1); });

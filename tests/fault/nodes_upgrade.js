// A rolling upgrade under load: three nodes in front of tables that an earlier program
// has made. Each is stopped (SIGTERM) and started again with another program, in turn,
// while clients write and read through all of them. They do what is documented
// (deploy/README.md): a request without an answer, or with a 503 that has Retry-After,
// is sent again, a write with the same Idempotency-Key. So each write is answered in
// the end, each sum is exactly what its client has added, what the earlier program
// stored is as it was, and no client gets another error. Every other round has the
// documented order: the standbys, step-down, and then the last one; this is one
// take-over. The rounds between stop the nodes by their names: at most one for each.
//
//   node nodes_upgrade.js PROGRAM NEXT ROUNDS ENGINE [SEED]   last line: N passed, N failed
//
// NEXT has another version; PROGRAM comes back in the next round. The database is empty.
// KX_UPGRADE_PLANT=loss: one acknowledged entry is removed in the database.
// KX_UPGRADE_PLANT=rule: clients do not repeat what was answered 503.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { FleetNode, activeOf, epochOf, psql, soon } = require('./nodes_fleet.js');
const { entriesUnder, pause } = require('./server.js');
const { randomFrom } = require('./random.js');
const { Finding, announce, linesOf, seedOf } = require('./report.js');

const CLIENTS = 8;
const READERS = 3;
const GONE_MS = 20;   // before a request is sent again, after a connection broke
const QUIET_MS = 400; // under load, between two stops
const OLD = path.join(__dirname, '../data/0.1.0-postgresql.tar.gz');
const [program, next, roundsText, engine, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const random = randomFrom(seed);
const plant = process.env.KX_UPGRADE_PLANT;

const until = { stopped: false };
const figures = { sent: 0, acked: 0, again: 0, reads: 0, gaps: [], stops: 0, takes: 0 };
const stamps = new Map(); // of each entry that was acknowledged
const wrong = [];
let lastAck = 0;
let longestGap = 0;

function version(of) {
  return execFileSync(of, ['--version'], { encoding: 'utf8' }).match(/\d+\.\d+\.\d+/)[0];
}

function unpack() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-upgrade-'));
  try {
    execFileSync('tar', ['-xzf', OLD, '-C', directory]);
    psql(engine, `--file=${path.join(directory, 'dump.sql')}`);
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
  execFileSync(program, ['cluster', 'upgrade', '--engine', engine], { stdio: 'pipe' });
}

// Sends a request, to any node each time, until it has another answer than those
// that are documented to be sent again.
async function insist(nodes, method, target, body, headers) {
  for (;;) {
    const node = nodes[random(nodes.length)];
    const reply = await node.follow(method, target, body, headers).catch(() => null);
    const later = Number(reply?.headers['retry-after']);
    if (reply !== null && (reply.status !== 503 || !(later > 0) || plant === 'rule'))
      return reply;
    figures.again++;
    await pause(reply === null ? GONE_MS : later * 1000);
  }
}

function refused(what, reply) {
  wrong.push(`an error that no rule covers: ${what}: ${reply.status} ${reply.text}`);
  until.stopped = true;
}

// One commit, until it is answered: a new entry, and one more in the client's sum.
async function commit(nodes, client) {
  const name = `${client.number}-${client.sent++}`;
  figures.sent++;
  const mutations = [{ type: 'set', key: ['rolling', name], value: name },
    { type: 'sum', key: ['sums', client.number], value: 1 }];
  const reply = await insist(nodes, 'POST', '/atomic', { mutations },
    { 'idempotency-key': `"${name}"` });
  if (reply.status !== 200) return refused(`commit ${name}`, reply);
  const { versionstamp } = reply.json;
  if (versionstamp <= client.stamp)
    wrong.push(`a versionstamp came after a later one: ${versionstamp} of ${name}`);
  stamps.set(name, versionstamp);
  Object.assign(client, { stamp: versionstamp, acked: client.acked + 1,
    position: reply.headers['kindex-at'] });
  figures.acked++;
  longestGap = Math.max(longestGap, performance.now() - lastAck);
  lastAck = performance.now();
}

async function write(nodes, client) {
  while (!until.stopped) {
    await commit(nodes, client);
    if (random(4) === 0) await pause(random(20));
  }
}

// The sum of a client, from any node, strongly or after the position of its last write.
async function read(nodes, client) {
  const { acked, position } = client;
  const strong = position === '' || random(2) === 0;
  const target = `/kv/sums/=${client.number}?consistency=${strong ? 'strong' : 'session'}`;
  const reply = await insist(nodes, 'GET', target, undefined,
    strong ? {} : { 'kindex-after': position });
  figures.reads++;
  if (reply.status !== 200 && reply.status !== 404) return refused(`GET ${target}`, reply);
  const sum = reply.status === 200 ? reply.json : 0;
  if (sum < acked || sum > client.sent)
    wrong.push(`a read is wrong: GET ${target} is ${sum} of ${acked} to ${client.sent}`);
}

async function readOn(nodes, clients) {
  while (!until.stopped) {
    await read(nodes, clients[random(clients.length)]);
    await pause(random(10));
  }
}

// All entries under a prefix.
function list(nodes, prefix) {
  return entriesUnder((...words) => insist(nodes, ...words), prefix);
}

// What the earlier program has stored.
async function oldEntries(nodes) {
  const entries = await list(nodes, []);
  return JSON.stringify(entries.filter(({ key }) => !['rolling', 'sums'].includes(key[0])));
}

// ---- The nodes one after the other -------------------------------------------------

// Waits until a node is ready. None may end unless it is stopped.
function ready(node) {
  return soon(`${node.name} is ready`, async () => {
    if (!node.running) throw new Finding(`${node.name} has ended by itself`);
    return (await node.ask('GET', '/readyz').catch(() => null))?.status === 200;
  });
}

// Does something, counts the take-overs meanwhile, and leaves the load for a moment.
async function counted(nodes, what, most, body) {
  const epoch = epochOf(engine);
  longestGap = 0;
  await body();
  await activeOf(nodes);
  await pause(QUIET_MS);
  const takes = epochOf(engine) - epoch;
  figures.takes += takes;
  figures.gaps.push(longestGap);
  if (takes > most) throw new Finding(`too many take-overs: ${takes}, not ${most}, by ${what}`);
}

async function replace(nodes, node, most, to) {
  figures.stops++;
  await counted(nodes, `the stop of ${node.name}`, most, async () => {
    const code = await node.kill('SIGTERM');
    if (code !== 0) wrong.push(`${node.name} has ended with ${code}`);
    node.program = to;
    node.launch();
    await ready(node);
  });
}

async function documented(nodes, to) {
  const last = await activeOf(nodes);
  for (const node of nodes.filter((one) => one !== last)) await replace(nodes, node, 0, to);
  await counted(nodes, 'step-down', 1, async () => {
    execFileSync(to, ['cluster', 'step-down', '--url', last.origin], { stdio: 'pipe' });
    await soon('another node is active', async () => !await last.isActive() &&
      (await Promise.all(nodes.map((one) => one.isActive()))).includes(true));
    await ready(last);
  });
  await replace(nodes, last, 0, to);
}

async function oneRound(nodes, number) {
  const to = number % 2 === 0 ? next : program;
  if (number % 2 === 0) await documented(nodes, to);
  else for (const node of nodes) await replace(nodes, node, 1, to);
  for (const node of nodes) {
    const { json } = await node.ask('GET', '/version');
    if (json.version !== version(to)) wrong.push(`${node.name} is ${json.version}`);
  }
}

function some(what, names) {
  return names.length === 0 ? [] : [`${names.length} ${what}: ${names.slice(0, 5)}`];
}

async function check(nodes, clients, before) {
  const found = new Map((await list(nodes, ['rolling']))
    .map(({ key, versionstamp }) => [key[1], versionstamp]));
  const sums = new Map((await list(nodes, ['sums'])).map(({ key, value }) => [key[1], value]));
  wrong.push(
    ...some('acknowledged commits are lost', [...stamps]
      .filter(([name, stamp]) => found.get(name) !== stamp).map(([name]) => name)),
    ...some('entries whose client was not told', [...found.keys()]
      .filter((name) => !stamps.has(name))),
    ...some('versionstamps that came twice',
      new Set(stamps.values()).size === stamps.size ? [] : ['of two commits']),
    ...some('sums that are wrong', clients
      .filter(({ number, acked }) => sums.get(number) !== acked)
      .map(({ number, acked }) => `${number} has ${sums.get(number)} of ${acked}`)),
    ...some('differences', await oldEntries(nodes) === before ? [] :
      ['what the earlier program has stored']));
}

async function run(nodes) {
  unpack();
  for (const node of nodes) node.launch();
  for (const node of nodes) await ready(node);
  const before = await oldEntries(nodes);
  if (before.length < 1000) wrong.push(new Error(`the earlier program has left only ${before}`));
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    ({ number, sent: 0, acked: 0, stamp: '', position: '' }));
  lastAck = performance.now();
  const working = [...clients.map((client) => write(nodes, client)),
    ...Array.from({ length: READERS }, () => readOn(nodes, clients))];
  for (let n = 0; n < Number(roundsText) && wrong.length === 0; n++)
    await oneRound(nodes, n);
  until.stopped = true;
  await Promise.all(working);
  if (plant === 'loss')
    psql(engine, '--command=DELETE FROM kindex.entries WHERE k = (SELECT k FROM ' +
      "kindex.entries WHERE encode(k, 'escape') LIKE '%rolling%' LIMIT 1)");
  await check(nodes, clients, before);
}

async function main() {
  announce(seed, program, next, roundsText, engine);
  const nodes = [];
  for (const [name, forward] of [['one', 'redirect'], ['two', 'proxy'], ['three', 'proxy']])
    nodes.push(await FleetNode.make(program, name, engine, '--forward', forward));
  await run(nodes).catch((error) => wrong.push(error));
  console.log(`${figures.acked} of ${figures.sent} commits and ${figures.reads} reads ` +
    `were answered, ${figures.again} times by a repetition`);
  const gaps = figures.gaps.map(Math.round).sort((a, b) => a - b);
  console.log(`${figures.stops} stops, ${figures.takes} take-overs; without an answer for ` +
    `${gaps[gaps.length >> 1]} ms at a stop (median), ${gaps.at(-1)} ms at most`);
  if (wrong.length > 0)
    console.log([...linesOf(wrong).slice(0, 10), ...nodes.map((node) => node.shownLog())].join('\n'));
  console.log(wrong.length > 0 ? '0 passed, 1 failed' : `${roundsText} passed, 0 failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

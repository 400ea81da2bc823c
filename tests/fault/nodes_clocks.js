// Wrong clocks: three nodes and their database, each with a clock that is set an hour ahead
// or back at random moments, while the active node is killed or steps down. Nothing that was
// acknowledged is lost, versionstamps go up, an entry that lives for half an hour is
// not gone before the database's clock has been set, one that lives for a second is gone
// soon, also after that clock was set back, and none that was gone for one node is there
// again for another.
//
//   node nodes_clocks.js PROGRAM ROUNDS ENGINE [SEED]     the last line: N passed, N failed
//
// The clocks are those of libfaketime, KX_FAKETIME its path; KX_CLOCK is the file with that
// of the database (clocks in run.sh). The database is empty.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { performance } = require('node:perf_hooks');
const { FleetNode, activeOf, psql, soon } = require('./nodes_fleet.js');
const { randomFrom } = require('./random.js');
const { announce, linesOf, seedOf } = require('./report.js');
const { entriesUnder, pause } = require('./server.js');

const WRITERS = 4;
const READERS = 4;
const CLOCKS = ['-1h', '+0', '+1h'];
const DATABASE_CLOCKS = ['+0', '+1h', '+0', '-1h']; // in turn
const AGREE_MS = 2000; // so long nodes may differ, when the database's clock was set
const LEASE_S = 3;     // at most
const ROUND_MS = 1000; // longer than the shorter time to live
const SEEN_MIN = 20;   // entries that were seen gone: less proves nothing
const [program, roundsText, engine, seedText] = process.argv.slice(2);
const { KX_FAKETIME: library, KX_CLOCK: databaseClock } = process.env;
const seed = seedOf(seedText);
const random = randomFrom(seed);

const until = { stopped: false };
const wrong = [];
const kept = new Map();  // acknowledged entries without a time to live: versionstamps
const living = { short: [], long: [] }; // acknowledged: { kind, key, gone }, since when
const counts = { reads: 0, gone: 0, unanswered: 0 };
let nodes = [];
let jumps = 0; // of the database's clock

function setClock(file, offset) {
  fs.writeFileSync(`${file}.new`, `${offset}\n`, { mode: 0o644 });
  fs.renameSync(`${file}.new`, file);
}

async function makeNode(name) {
  const node = await FleetNode.make(program, name, engine, '--forward', 'proxy');
  node.clock = path.join(node.directory, 'clock');
  setClock(node.clock, CLOCKS[random(CLOCKS.length)]);
  node.environment = { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: node.clock,
    FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  return node;
}

// Resolves to the reply of any node; null: no answer, or refused for now.
async function tryAsk(method, target, body) {
  const node = nodes[random(nodes.length)];
  const reply = await node.ask(method, target, body).catch(() => null);
  if (reply !== null && reply.status < 500) return { node, ...reply };
  counts.unanswered++;
  await pause(10);
  return null;
}

async function write(number) {
  let newest = '';
  for (let n = 0; !until.stopped; n++) {
    const key = `${number}-${n}`;
    const kind = ['kept', 'short', 'long'][n % 3];
    const ttl = { kept: '', short: '?ttl=1s', long: '?ttl=30m' }[kind];
    const reply = await tryAsk('PUT', `/kv/${kind}/${key}${ttl}`, { n });
    if (reply === null) continue;
    if (reply.status !== 201) wrong.push(`${reply.status} for ${key}: ${reply.text}`);
    const { versionstamp } = reply.json;
    if (versionstamp <= newest) wrong.push(`${versionstamp} came after ${newest}`);
    newest = versionstamp;
    if (kind === 'kept') kept.set(key, versionstamp);
    else living[kind].push({ kind, key, gone: Infinity });
    await pause(random(20));
  }
}

// One of the newest, which may be about to go, or any.
function some(list) {
  const from = random(4) === 0 ? 0 : Math.max(0, list.length - 30);
  return list[from + random(list.length - from)];
}

async function look() {
  const entry = some(living[random(3) === 0 ? 'long' : 'short']);
  if (entry === undefined) return pause(10);
  const level = ['strong', 'eventual'][random(2)];
  const begun = performance.now();
  const reply = await tryAsk('GET', `/kv/${entry.kind}/${entry.key}?consistency=${level}`);
  if (reply === null) return null;
  counts.reads++;
  const { name } = reply.node;
  if (reply.status === 404) {
    counts.gone += entry.gone === Infinity ? 1 : 0;
    entry.gone = Math.min(entry.gone, performance.now());
    if (entry.kind === 'long' && jumps === 0)
      wrong.push(`${entry.key} is gone too early, by ${name} (${level})`);
  } else if (begun > entry.gone + AGREE_MS) {
    wrong.push(`${entry.key} came back ${Math.round(begun - entry.gone)} ms after it was ` +
      `gone, by ${name} (${level})`);
  }
  return pause(random(5));
}

async function read() {
  while (!until.stopped) await look();
}

// The lease ends soon by the clock that was set; else no node would take it for an hour.
function leaseIsSane() {
  return psql(engine, '--command=SELECT until < clock_timestamp() + ' +
    `interval '${LEASE_S} s' FROM kindex.lease`) === 't';
}

async function change(active) {
  const others = nodes.filter((node) => node !== active);
  await soon('the lease is renewed', leaseIsSane);
  const killed = random(2) === 0;
  if (killed) await active.kill('SIGKILL');
  else await active.ask('POST', '/cluster/step-down').catch(() => null);
  await soon('another node is active', async () =>
    (await Promise.all(others.map((node) => node.isActive()))).includes(true));
  if (killed) active.launch();
  return active.settled();
}

// The clock of the database is right in the first half.
async function round(number, rounds) {
  const acked = kept.size;
  const node = nodes[random(nodes.length)];
  setClock(node.clock, CLOCKS[random(CLOCKS.length)]);
  if (number >= rounds / 2) {
    jumps++;
    setClock(databaseClock, DATABASE_CLOCKS[jumps % DATABASE_CLOCKS.length]);
  }
  await pause(ROUND_MS);
  if (number % 2 === 1) await change(await activeOf(nodes));
  await soon('commits are acknowledged', () => kept.size > acked + 10);
}

// All entries with a prefix, by whichever node is active.
async function list(prefix) {
  const node = await activeOf(nodes);
  return entriesUnder((...words) => node.ask(...words), [prefix]);
}

async function check() {
  const stamps = new Map((await list('kept')).map(({ key, versionstamp }) =>
    [key[1], versionstamp]));
  for (const [key, stamp] of kept)
    if (stamps.get(key) !== stamp) wrong.push(`${key} is lost: ${stamps.get(key)}`);
  if (wrong.length > 0) return; // what is found needs no minute of waiting
  await soon('short entries are gone', async () => (await list('short')).length === 0)
    .catch(() => wrong.push('entries that lived for a second are still there'));
  if (counts.gone < SEEN_MIN) wrong.push(new Error(`only ${counts.gone} entries were seen gone`));
}

async function run(rounds) {
  nodes = await Promise.all(['one', 'two', 'three'].map(makeNode));
  nodes.forEach((node) => node.launch());
  for (const node of nodes) await node.settled();
  const working = [...Array.from({ length: WRITERS }, (_, n) => write(n)),
    ...Array.from({ length: READERS }, read)];
  for (let n = 0; n < rounds; n++) await round(n, rounds);
  until.stopped = true;
  await Promise.all(working);
  await check();
}

async function main() {
  announce(seed, program, roundsText, engine);
  const rounds = Number(roundsText);
  await run(rounds).catch((error) => wrong.push(error));
  console.log(`${kept.size} entries kept, ${living.long.length} for half an hour, ` +
    `${living.short.length} for a second; ${counts.gone} were seen gone in ` +
    `${counts.reads} reads; ${jumps} times the database's clock was set`);
  linesOf(wrong).slice(0, 5).forEach((line) => console.log(line));
  if (wrong.length > 0) nodes.forEach((node) => console.log(node.shownLog()));
  console.log(`${wrong.length === 0 ? rounds : 0} passed, ${wrong.length > 0 ? 1 : 0} failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

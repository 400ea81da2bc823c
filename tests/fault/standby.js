// A server whose archive a standby follows is lost under eight writers: it is killed, frozen,
// cut off from the archive, or runs on. The standby is promoted, sometimes killed meanwhile
// and promoted again; then the first server comes back. The promoted one is followed by a
// new standby, and is the next to be lost. A ledger of acknowledged commits decides:
//
// * with --archive-sync the promoted server has all acknowledged commits;
// * without it only the last commits may be missing, acknowledged within one --fence-lease;
// * commits of earlier servers are still there, and no versionstamp is used twice;
// * the replaced server acknowledges nothing after that, and ends with a message that says why.
//
//   node standby.js PROGRAM PROMOTIONS sync|lease [SEED]
//
// The last line: N passed, N failed
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { Server, pause } = require('./server.js');
const { randomFrom } = require('./random.js');
const { Finding, announce, linesOf, seedOf } = require('./report.js');

const WRITERS = 8;
const LEASE_MS = 2000;
const LOOK_MS = 20;
const PATIENCE_MS = 120000; // longest wait for an expected event
const [program, promotionsText, form, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const random = randomFrom(seed);
const sync = form === 'sync';
const place = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-archive-'));
const archive = path.join(place, 'archive');
const kept = new Map(); // key -> versionstamp, of earlier servers
const given = new Map(); // versionstamp -> key
const servers = []; // not destroyed yet
const figures = { acknowledged: 0, lost: 0, again: 0 };
let written = 0;

async function until(holds, what) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Finding(`in vain: ${what}`);
    await pause(LOOK_MS);
  }
}

// ---- Servers ----------------------------------------------------------------

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const bases = () => fs.readdirSync(archive, { recursive: true })
  .filter((name) => path.basename(name).startsWith('base-')).length;

// Each server has its own way to the archive, which can be cut. Its port stays the same
// over its restart as the server.
async function make(option) {
  const way = path.join(place, `way-${written}-${option.slice(2)}`);
  fs.symlinkSync(archive, way);
  const server = new Server(program, [option, way, ...option === '--archive' ? ['--followed'] : [], '--fence-lease', `${LEASE_MS}ms`,
    ...sync ? ['--archive-sync'] : []]);
  server.settings[server.settings.indexOf('--listen') + 1] = `127.0.0.1:${await freePort()}`;
  servers.push(server);
  return Object.assign(server, { way });
}

const cut = (server) => fs.unlinkSync(server.way);
const join = (server) => fs.symlinkSync(archive, server.way);

const writes = (server) => server.request('PUT', '/kv/probe', 1)
  .then(({ status }) => status < 300, () => false);

// The archive has a base of the server, with which a standby can begin.
async function beginStandby(active, basesBefore) {
  await until(() => bases() > basesBefore, 'a base in the archive');
  const standby = await make('--follow');
  await standby.start();
  const mark = `/kv/marks/${written}`;
  await until(() => active.request('PUT', mark, 1).then(({ status }) => status < 300, () => false),
    'a write before the standby begins');
  await until(async () => (await standby.request('GET', `${mark}?consistency=eventual`)).status === 200,
    'the standby to show a write');
  return standby;
}

// ---- The load ----------------------------------------------------------------

// Writes new keys until the server refuses them. Each line of the ledger is an
// acknowledged key with its versionstamp, and when it was asked for and answered.
async function write(server, ledger, until_) {
  while (!until_.stopped) {
    const key = String(written++).padStart(8, '0');
    const sent = performance.now();
    const reply = await server.request('PUT', `/kv/ledger/${key}`, { key }).catch(() => null);
    if (reply === null || reply.status >= 500) await pause(LOOK_MS);
    else if (reply.status !== 201) throw new Finding(`status ${reply.status}: ${reply.text}`);
    else ledger.push({ key, stamp: reply.json.versionstamp, sent, answered: performance.now() });
  }
}

// ---- Loss and promotion --------------------------------------------------------

const FAULTS = {
  kill: { now: true, strike: (active) => active.kill('SIGKILL') },
  freeze: { now: sync, strike: (active) => active.child.kill('SIGSTOP'), mend: (active) => active.child.kill('SIGCONT') },
  cut: { now: sync, strike: cut, mend: join },
  run: { now: sync, strike: () => {} },
};

function promote(standby, now) {
  const child = spawn(program, ['promote', '--url', `http://127.0.0.1:${standby.port}`, ...now ? ['--now'] : []],
    { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (text) => { said += text; });
  return new Promise((resolve) => { child.once('close', (code) => resolve({ code, said })); });
}

// Sometimes the standby is killed in between: promoting it once more completes that.
async function replace(standby, now) {
  if (random(3) === 0) {
    const first = promote(standby, now);
    await pause(random(LEASE_MS + 500));
    await standby.kill('SIGKILL');
    await standby.start();
    await first;
    figures.again++;
  }
  const { code, said } = await promote(standby, now);
  if (code !== 0 && !said.includes('follows no archive')) throw new Finding(`the promotion: ${said}`);
  await until(() => writes(standby), 'a write of the promoted server');
}

// The server that was replaced ends, or does not start again, and says why.
async function comesBack(server, { mend }) {
  mend?.(server);
  if (!server.running) server.launch();
  await until(async () => !server.running || await server.ready() && await writes(server),
    'the end of the server that was replaced');
  if (server.running) throw new Finding('the server that was replaced acknowledges a write');
  if (server.child.exitCode !== 1 || !/event=fenced .*another server was promoted|kindex: .*another server was promoted/.test(fs.readFileSync(server.log, 'utf8')))
    throw new Finding(`the server that was replaced ended with ${server.child.exitCode}`);
}

// ---- The ledger ------------------------------------------------------------------

function checkStamps(ledger, probe) {
  for (const { key, stamp } of ledger) {
    if (given.has(stamp)) throw new Finding(`versionstamp ${stamp} of ${key} was that of ${given.get(stamp)}`);
    given.set(stamp, key);
  }
  for (const stamp of given.keys())
    if (!(probe > stamp)) throw new Finding(`versionstamp ${probe} after ${stamp}`);
}

function checkLost(lost, there) {
  if (lost.length === 0) return;
  if (sync) throw new Finding(`${lost.length} acknowledged commits are lost, ${lost[0].key} among them`);
  const first = lost.map(({ stamp }) => stamp).sort()[0];
  const later = [...there].find(([, stamp]) => stamp > first);
  if (later) throw new Finding(`lost is ${first}, and not ${later[0]} with ${later[1]}`);
  const span = Math.max(...lost.map(({ sent }) => sent)) - Math.min(...lost.map(({ answered }) => answered));
  if (span > LEASE_MS) throw new Finding(`what is lost was acknowledged within ${span} ms, the lease is ${LEASE_MS}`);
}

async function check(promoted, ledger, replaced) {
  const late = ledger.find(({ sent }) => sent > replaced);
  if (late) throw new Finding(`${late.key} was acknowledged by the server before`);
  const there = new Map((await promoted.list(['ledger'])).map(({ key, versionstamp }) => [key[1], versionstamp]));
  for (const [key, stamp] of kept)
    if (there.get(key) !== stamp) throw new Finding(`${key} has ${there.get(key)}, not ${stamp}`);
  const lost = ledger.filter(({ key }) => !there.has(key));
  checkLost(lost, there);
  for (const { key, stamp } of ledger)
    if (there.has(key) && there.get(key) !== stamp) throw new Finding(`${key} has ${there.get(key)}, not ${stamp}`);
  checkStamps(ledger, (await promoted.request('PUT', '/kv/probe', 2)).json.versionstamp);
  for (const [key, stamp] of there) kept.set(key, stamp);
  figures.acknowledged += ledger.length;
  figures.lost += lost.length;
}

// ---- The run -----------------------------------------------------------------------

// Resolves to the promoted server.
async function loss(active, name) {
  const fault = FAULTS[name];
  const before = bases();
  const standby = await beginStandby(active, 0);
  const ledger = [];
  const until_ = { stopped: false };
  const load = Promise.all(Array.from({ length: WRITERS }, () => write(active, ledger, until_)));
  const enough = 200 + random(400);
  await Promise.race([until(() => ledger.length >= enough, `${enough} acknowledged writes`), load]);
  await pause(random(1200));
  await fault.strike(active);
  if (name !== 'kill') await pause(random(LEASE_MS));
  await replace(standby, fault.now);
  const replaced = performance.now();
  await comesBack(active, fault);
  until_.stopped = true;
  await load;
  await check(standby, ledger, replaced);
  active.destroy();
  servers.shift();
  await until(() => bases() > before, 'a base of the promoted server');
  return standby;
}

async function main() {
  let passed = 0;
  announce(seed, program, promotionsText, form);
  fs.mkdirSync(archive);
  const names = Object.keys(FAULTS);
  const turn = random(names.length);
  const trouble = await (async () => {
    let active = await make('--archive');
    await active.start();
    for (; passed < Number(promotionsText); passed++) {
      const name = names[(turn + passed) % names.length];
      active = await loss(active, name).catch((error) => {
        error.message = `${name}: ${error.message}`;
        throw error;
      });
    }
    return [];
  })().catch((error) => [error]);
  console.log(`${figures.acknowledged} acknowledged commits, ${figures.lost} lost, ` +
    `${figures.again} standbys killed during the promotion`);
  if (trouble.length > 0) console.log(linesOf(trouble).concat(servers.map((one) => `${one.way}: ${one.lastWords()}`)).join('\n'));
  console.log(`${passed} passed, ${trouble.length} failed`);
  process.exitCode = trouble.length;
  process.exit();
}

process.on('exit', () => fs.rmSync(place, { recursive: true, force: true }));
main();

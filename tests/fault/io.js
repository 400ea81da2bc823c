// Every single write, sync, open and rename of the server fails once, one after
// the other, until a run ends without a failure; then all from some call on.
// In any case: an answer is never wrong, what was acknowledged is there
// after a restart without faults, what was refused is not, an index fits to its
// data, and after a failed sync the server ends.
//
//   node io.js PROGRAM LIBRARY [STEP]     the last line: N passed, N failed
//
// STEP n tries only every n-th call.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { linesOf } = require('./report.js');
const { Server, pause } = require('./server.js');

const [program, library, stepText] = process.argv.slice(2);
const step = Number(stepText ?? 1);
const SETTINGS = ['--cache', '1MiB', '--checkpoint-interval', '1h'];
const WRITES = 24;
const END_MS = 5000; // more than any end takes
const INDEX = { name: 'by_n', prefix: ['rows'], fields: ['/n'], unique: true };
const KINDS = [
  { call: 'open', error: 'EIO' },
  { call: 'rename', error: 'EIO' },
  { call: 'pwrite', error: 'EIO' },
  { call: 'pwrite', error: 'ENOSPC' },
  { call: 'pwrite', error: 'ENOSPC', last: 0 },
  { call: 'fdatasync', error: 'EIO' },
  { call: 'fdatasync', error: 'ENOSPC', last: 0 },
];

// What the server owes: by key, the values that may be there.
class Ledger {
  constructor() { this.may = new Map(); }
  values(key) { return this.may.get(key) ?? [null]; }
  stored(key, value) { this.may.set(key, [value]); }
  unknown(key, value) {
    this.may.set(key, [...this.values(key), value]);
  }
}

function row(n) { return { n, text: 'x'.repeat(3000) }; }

// A reply's meaning for a write; null: the connection broke.
function outcome(reply) {
  if (reply === null) return 'unknown';
  if (reply.status < 300) return 'stored';
  return reply.json?.code === 'commit-unknown' || reply.status === 500 ?
    'unknown' : 'refused';
}

async function ask(server, method, target, body) {
  return server.request(method, target, body).catch(() => null);
}

async function write(server, ledger, n) {
  const gone = n % 6 === 5;
  const key = `r${gone ? n - 3 : n}`;
  const value = gone ? null : row(n);
  const reply = await ask(server, gone ? 'DELETE' : 'PUT',
    `/kv/rows/${key}`, value ?? undefined);
  const meaning = gone && reply?.status === 404 ? 'stored' : outcome(reply);
  if (meaning !== 'refused') ledger[meaning](key, value);
}

// Returns what is wrong with one answer, or null.
function judge(ledger, key, reply) {
  if (reply === null || reply.status >= 500) return null;
  const value = reply.status === 404 ? null : reply.json;
  const fits = ledger.values(key).some((may) =>
    JSON.stringify(may) === JSON.stringify(value));
  return fits ? null : `${key} is ${JSON.stringify(value)?.slice(0, 40)}`;
}

async function work(server, ledger, wrong) {
  await ask(server, 'POST', '/indexes', INDEX);
  for (let n = 0; n < WRITES && server.running; n++) {
    await write(server, ledger, n);
    const key = `r${n % 7}`;
    const complaint = judge(ledger, key,
      await ask(server, 'GET', `/kv/rows/${key}`));
    if (complaint) wrong.push(`while it fails, ${complaint}`);
  }
}

async function checkIndex(server, wrong) {
  const index = await server.request('GET', '/indexes/by_n');
  if (index.status === 404) return;
  const rows = await server.list(['rows']);
  const reply = await server.request('GET', '/list?index=by_n&limit=1000');
  const want = rows.map(({ value }) => value.n).sort((a, b) => a - b);
  const have = reply.json.entries.map(({ value }) => value.n);
  if (JSON.stringify(want) !== JSON.stringify(have))
    wrong.push(`the index has ${have}, the entries ${want}`);
}

async function afterwards(server, ledger, wrong) {
  server.environment = {};
  await server.start();
  for (const key of ledger.may.keys()) {
    const reply = await server.request('GET', `/kv/rows/${key}`);
    const complaint = judge(ledger, key, reply) ??
      (reply.status >= 500 ? `${key} answers ${reply.status}` : null);
    if (complaint) wrong.push(`afterwards, ${complaint}`);
  }
  await checkIndex(server, wrong);
  if (await server.kill('SIGTERM') !== 0) wrong.push('a bad end afterwards');
}

// One run; resolves to whether the fault happened.
async function run(kind, at) {
  const server = new Server(program, SETTINGS);
  const mark = path.join(server.directory, 'mark');
  const ledger = new Ledger();
  const wrong = [];
  server.environment = { LD_PRELOAD: library,
    KX_IO_DATA: path.join(server.directory, 'data'), KX_IO_CALL: kind.call,
    KX_IO_AT: String(at), KX_IO_LAST: String(kind.last ?? at),
    KX_IO_ERROR: kind.error, KX_IO_MARK: mark };
  const started = await server.start().then(() => true, () => false);
  if (started) await work(server, ledger, wrong);
  const failedBefore = fs.existsSync(mark);
  if (kind.call === 'fdatasync' && started && failedBefore) {
    await Promise.race([server.ended, pause(END_MS)]);
    if (server.child.exitCode !== 1)
      wrong.push(`it ended with ${server.child.exitCode} after a failed sync`);
  }
  if (server.running) await server.kill('SIGTERM');
  const happened = fs.existsSync(mark);
  await afterwards(server, ledger, wrong)
    .catch((error) => wrong.push(error));
  const name = `${kind.error} at ${kind.call} ${at}` +
    (kind.last === 0 ? ' and all that follow' : '');
  if (wrong.length > 0)
    console.log(`${name}:\n${linesOf(wrong).join('\n')}\n${server.lastWords()}`);
  server.destroy();
  return { happened, good: wrong.length === 0 };
}

async function main() {
  const count = { passed: 0, failed: 0 };
  for (const kind of KINDS) {
    let at = 1;
    for (let more = true; more; at += step) {
      const { happened, good } = await run(kind, at);
      count[good ? 'passed' : 'failed']++;
      more = happened;
    }
    console.log(`${kind.call} ${kind.error}` +
      `${kind.last === 0 ? ' for good' : ''}: up to call ${at - step}`);
  }
  console.log(`${count.passed} passed, ${count.failed} failed`);
  process.exit(count.failed > 0 ? 1 : 0);
}

main();

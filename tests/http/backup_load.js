// Backups of a server that is being written, each restored and compared with a
// ledger of what was answered:
//
//   node backup_load.js KINDEX URL DIRECTORY COUNT [--forget-tail]
//
// Eight clients write pairs of entries, both of a pair in one commit with a
// number that grows. When a backup begins, the ledger says which number of each
// pair was answered. After the restore each pair must have that number or a
// higher one, and both halves the same one.
// Every index is compared by `kindex restore`.
// With --forget-tail the end of the log is cut out of each backup before it is
// restored: the ledger must then notice. Ends with a line "N backups, N wrong".
'use strict';
const { spawn, execFileSync } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const [kindex, url, directory, countText, mode] = process.argv.slice(2);
const CLIENTS = 8;
const PAIRS = 40; // of each client
const FIRST_COMMITS = 500; // before the first backup
const LOG_KEPT = 65536; // bytes; each commit takes several hundred

const agent = new http.Agent({ keepAlive: true });

function ask(base, method, target, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      base + target,
      { method, agent, headers: { 'content-type': 'application/json' } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode, text }));
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

// A generator of small numbers; each run has the same.
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const ledger = new Map(); // pair -> the number that was answered last
let writing = true;
let commits = 0;

async function write(client) {
  const next = random(client + 1);
  for (let n = 1; writing; n++) {
    const pair = `${client}-${next(PAIRS)}`;
    const entry = (half) => ({
      type: 'set',
      key: ['pairs', pair, half],
      value: { n, mail: `${pair}-${half}-${n}`, pad: 'x'.repeat(next(2000)) },
    });
    const body = JSON.stringify({ mutations: [entry('a'), entry('b')] });
    const reply = await ask(url, 'POST', '/atomic', body);
    if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`);
    ledger.set(pair, n);
    commits++;
  }
}

function sum(file) {
  return execFileSync('sha256sum', [path.basename(file)], {
    cwd: path.dirname(file),
    encoding: 'utf8',
  });
}

// The backup with no more of the log than the first of the commits that each
// check waits for, all sums right.
function forgetTail(backup) {
  const members = path.join(directory, 'members');
  fs.rmSync(members, { recursive: true, force: true });
  fs.mkdirSync(members);
  execFileSync('tar', ['--zstd', '-xf', backup, '-C', members]);
  const list = path.join(members, 'SHA256SUMS');
  const names = fs.readFileSync(list, 'utf8').trim().split('\n');
  const files = names.map((line) => line.slice(66));
  const logs = files.filter((f) => f.startsWith('log.'));
  const kept = files.filter((f) => !logs.slice(1).includes(f));
  fs.truncateSync(path.join(members, logs[0]), LOG_KEPT);
  fs.writeFileSync(list, kept.map((f) => sum(path.join(members, f))).join(''));
  execFileSync(
    'tar',
    ['--zstd', '--format=ustar', '-cf', backup, ...kept, 'SHA256SUMS'],
    { cwd: members },
  );
}

async function serve(data) {
  const file = path.join(directory, 'port');
  fs.rmSync(file, { force: true });
  const server = spawn(
    kindex,
    ['serve', '--data', data, '--listen', '127.0.0.1:0', '--cache', '16MiB',
      '--port-file', file],
    { stdio: 'ignore' },
  );
  while (!fs.existsSync(file) && server.exitCode === null) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { server, base: `http://127.0.0.1:${fs.readFileSync(file, 'utf8').trim()}` };
}

async function entries(base) {
  const found = new Map();
  let cursor = '';
  do {
    const page = await ask(base, 'GET', `/list?prefix=pairs&limit=1000${cursor}`);
    const { entries: list, cursor: next } = JSON.parse(page.text);
    for (const { key, value } of list) found.set(`${key[1]} ${key[2]}`, value.n);
    cursor = next === null ? null : `&cursor=${encodeURIComponent(next)}`;
  } while (cursor !== null);
  return found;
}

function compare(found, answered) {
  const wrong = [];
  for (const [pair, n] of answered) {
    const a = found.get(`${pair} a`) ?? 0;
    const b = found.get(`${pair} b`) ?? 0;
    if (a !== b) wrong.push(`${pair} is torn: ${a} and ${b}`);
    if (a < n) wrong.push(`${pair} has ${a}, ${n} was answered before`);
  }
  return wrong;
}

function run(argument) {
  return new Promise((resolve) => {
    const child = spawn(kindex, argument, { stdio: ['ignore', 'ignore', 'pipe'] });
    let text = '';
    child.stderr.on('data', (part) => (text += part));
    child.on('exit', (code) => resolve({ code, text }));
  });
}

async function check(number) {
  const backup = path.join(directory, `b${number}`);
  const data = path.join(directory, `d${number}`);
  const answered = new Map(ledger);
  const saved = await run(['backup', backup, '--url', url]);
  if (saved.code !== 0) return [`the backup: ${saved.text}`];
  if (mode === '--forget-tail') forgetTail(backup);
  const restored = await run(['restore', backup, '--data', data]);
  if (restored.code !== 0) return [`the restore: ${restored.text}`];
  const { server, base } = await serve(data);
  const wrong = compare(await entries(base), answered);
  const ended = new Promise((resolve) => server.on('exit', resolve));
  server.kill('SIGTERM');
  await ended;
  fs.rmSync(data, { recursive: true });
  fs.rmSync(backup);
  return wrong;
}

async function main() {
  const writers = Array.from({ length: CLIENTS }, (_, i) => write(i));
  let wrongs = 0;
  while (commits < FIRST_COMMITS) await new Promise((resolve) => setTimeout(resolve, 10));
  for (let i = 0; i < Number(countText); i++) {
    const before = commits;
    const wrong = await check(i);
    if (commits === before) wrong.push('nothing was written meanwhile');
    if (wrong.length > 0) {
      wrongs++;
      console.log(`backup ${i}: ${wrong.slice(0, 3).join('; ')}`);
    }
  }
  writing = false;
  await Promise.all(writers);
  console.log(`${commits} commits`);
  console.log(`${countText} backups, ${wrongs} wrong`);
  agent.destroy();
}

main();

// A disk that fills: writes are refused before it is full, and taken again when
// there is room; reads continue all the time. When others take the last byte of it
// and the server is killed it starts again on that disk, because it gives up its
// ballast, and has everything that it acknowledged.
//
//   node disk.js PROGRAM LIBRARY [without | burst]
//
// The last line: N passed, N failed. "without": somebody has removed the
// ballast; then it cannot start. "burst": many large values come at once, into a
// large cache: their pages, not written so far, must find room as well.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { linesOf } = require('./report.js');
const { Server, pause } = require('./server.js');

const [program, library, mode] = process.argv.slice(2);
const MIB = 1 << 20;
const FLOOR = 8 * MIB;
const LOG_FILE = 16 * MIB; // made at once
const PATIENCE_MS = 60000;
const WRITERS = 32;
const options = ['--checkpoint-interval', '1h', '--checkpoint-log', '1GiB',
  ...mode === 'burst' ? ['--disk-floor', '64MiB']
    : ['--cache', '4MiB', '--disk-floor', '8MiB']];
const server = new Server(program, options);
const data = path.join(server.directory, 'data');
const room = path.join(server.directory, 'room');
const ballast = path.join(data, 'ballast');
const owed = new Map();
const wrong = [];

function claim(what, holds) {
  if (!holds) wrong.push(what);
}

function used() {
  return fs.readdirSync(data).map((name) =>
    fs.statSync(path.join(data, name)).blocks * 512).reduce((a, b) => a + b, 0);
}

function disk(bytes) {
  fs.writeFileSync(`${room}.part`, String(bytes));
  fs.renameSync(`${room}.part`, room);
}

async function until(what, holds) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!await holds() && Date.now() < deadline) await pause(20);
  claim(what, await holds());
}

async function put(n) {
  const value = { n, text: String(n).repeat(20000).slice(0, 60000) };
  const reply = await server.request('PUT', `/kv/rows/${n}`, value);
  if (reply.status < 300) owed.set(n, value);
  return reply;
}

async function fill(limit = 2000) {
  let reply = { status: 201 };
  let n = owed.size;
  for (; n < limit && reply.status === 201; n++) reply = await put(n);
  return reply;
}

async function reads(when) {
  for (const n of [0, 1, owed.size - 1]) {
    const reply = await server.request('GET', `/kv/rows/${n}`);
    claim(`${when}, entry ${n} is there: ${reply.status}`,
      reply.status === 200 && reply.json.n === n);
  }
}

async function refused(when) {
  const reply = await put(owed.size);
  claim(`${when}, a write is refused: ${reply.status} ${reply.json?.code}`,
    reply.status === 507 && reply.json.code === 'disk-full');
}

async function checkpoints() {
  const { text } = await server.request('GET', '/metrics');
  return Number(/^kindex_checkpoints_total (\d+)$/m.exec(text)[1]);
}

async function fills() {
  await server.start();
  const before = await checkpoints();
  claim('there is a ballast', fs.statSync(ballast).blocks * 512 >= FLOOR);
  claim('a first write is stored', (await put(0)).status === 201);
  disk(used() + FLOOR + 2 * LOG_FILE + 4 * MIB);
  const last = await fill();
  claim(`the disk fills: ${last.status} after ${owed.size}`,
    last.status === 507 && last.json.code === 'disk-full' && owed.size > 100);
  // Pages that were changed before are still written, by the checkpoint that a
  // full disk begins with; what they take comes from the ballast, as soon as the
  // keeper has looked again.
  await until('a checkpoint is written', async () =>
    await checkpoints() > before);
  await until('half of the floor is free at least', async () =>
    Number(fs.readFileSync(room, 'utf8')) - used() >= FLOOR / 2);
  // A log file that it made needless is gone: the disk may have room again.
  disk(used() + FLOOR - MIB);
  const again = await fill(owed.size + 100);
  claim(`it is full again: ${again.status}`, again.status === 507);
  await reads('on a full disk');
  await refused('on a full disk');
  await deletes();
}

// What frees space is taken on a full disk, with what the ballast released.
async function deletes() {
  const n = Math.max(...owed.keys());
  await until('an entry is deleted', async () =>
    (await server.request('DELETE', `/kv/rows/${n}`)).status < 300);
  owed.delete(n);
  const range = await server.request('DELETE',
    '/list?prefix=empty');
  claim(`entries of a range are deleted: ${range.status}`,
    range.status < 300);
  await refused('after deletes');
}

async function hasRoomAgain() {
  disk(used() + 8 * FLOOR);
  await until('writes come back', async () =>
    (await put(owed.size)).status === 201);
  claim('with the ballast', fs.statSync(ballast).blocks * 512 >= FLOOR);
  await reads('with room again');
}

// The server, stopped, cannot act before it is killed. What it has written
// since the last checkpoint is in the log only.
async function diesOnFullDisk() {
  claim('more is stored', (await fill(owed.size + 200)).status === 201);
  server.child.kill('SIGSTOP');
  claim('the ballast is still there', fs.existsSync(ballast));
  if (mode === 'without') fs.rmSync(ballast);
  disk(used());
  await server.kill('SIGKILL');
}

async function startsAgain() {
  await server.start();
  claim('the ballast was given', !fs.existsSync(ballast));
  const rows = await server.list(['rows']);
  claim(`all ${owed.size} entries are there: ${rows.length}`,
    rows.length === owed.size &&
    rows.every(({ value }) => value.text === owed.get(value.n).text));
  disk(used()); // a log file that the start has removed may have made room
  await until('after the start, a write is refused', async () =>
    (await put(owed.size)).status === 507);
}

async function bursts() {
  await server.start();
  const before = await checkpoints();
  let count = 0;
  let refusals = 0;
  disk(used() + 400 * MIB);
  const write = async () => {
    for (let status = 201; status === 201;) {
      const n = count++;
      const value = { n, text: 'x'.repeat(1e6) };
      const reply = await server.request('PUT', `/kv/rows/${n}`, value);
      status = reply.status;
      if (status === 201) owed.set(n, value);
      else refusals += reply.json.code === 'disk-full';
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  claim(`all are refused at last: ${refusals}, after ${owed.size}`,
    refusals === WRITERS && owed.size > 20);
  await until('a checkpoint is written', async () =>
    await checkpoints() > before);
  await until('and makes room', async () =>
    (await server.request('PUT', '/kv/small', 1)).status < 300);
}

// Only the log has what came after the last checkpoint.
async function diesAfterwards() {
  await server.kill('SIGKILL');
  await server.start();
  for (const n of owed.keys()) {
    const reply = await server.request('GET', `/kv/rows/${n}`);
    claim(`entry ${n} is there: ${reply.status}`, reply.json?.n === n);
  }
}

async function ends() {
  claim('a good end', await server.kill('SIGTERM') === 0);
}

async function main() {
  disk(1024 * MIB);
  server.environment = { LD_PRELOAD: library, KX_DISK_DATA: data,
    KX_DISK_ROOM: room };
  let step = '';
  let count = 0;
  for (const next of mode === 'burst' ? [bursts, diesAfterwards, ends]
    : [fills, hasRoomAgain, diesOnFullDisk, startsAgain, hasRoomAgain, ends]) {
    step = next.name;
    // It must not end by itself: a connection that breaks or is refused (with a code)
    // shows that it has, before it is known here.
    await next().catch((error) => wrong.push(server.running && error.code === undefined ? error
      : `the server has ended: ${error.message}`));
    if (wrong.length > 0) break;
    count++;
  }
  if (wrong.length > 0)
    console.log(`${step}:\n${linesOf(wrong).join('\n')}\n${server.lastWords()}`);
  server.destroy();
  console.log(`${count} passed, ${Number(wrong.length > 0)} failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

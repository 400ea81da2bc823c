// Kills the server with SIGKILL at random moments under eight clients that set,
// delete, commit atomically, declare and drop indexes. After each restart every
// acknowledged commit must be there, a commit that was cut off whole or not at
// all, every index equal to the data in both directions, and no versionstamp may
// come twice.
//
//   node kill.js PROGRAM CYCLES [SEED]      the last line: N passed, N failed
'use strict';
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Client } = require('./client.js');
const { Server } = require('./server.js');
const { DECLARATIONS, churn, verify } = require('./indexes.js');

const CLIENTS = 8;
const [program, cyclesText, seedText] = process.argv.slice(2);
const seed = Number(seedText ?? process.env.KX_TEST_SEED ?? Date.now() % 1e9);

// A small generator (mulberry32) whose run can be had again from its seed.
function randomFrom(start) {
  let state = start >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

// Works for a random while, kills the server, and starts it again.
async function crash(server, clients, random) {
  const until = { stopped: false };
  const work = [...clients.map((client) => client.run(server, until)),
    churn(server, random, until)];
  const moment = new Promise(
    (resolve) => setTimeout(resolve, 20 + random(250)));
  await Promise.race([moment, Promise.all(work)]);
  until.stopped = true;
  await server.kill('SIGKILL');
  await Promise.all(work);
  const before = Date.now();
  await server.start();
  return Date.now() - before;
}

async function check(server, clients) {
  const users = new Map((await server.list(['users']))
    .map(({ key, value }) => [key[1], value]));
  const wrong = clients.map((client) => client.settle(users))
    .filter((text) => text !== null);
  wrong.push(...await verify(server, users));
  const highest = clients.map(({ stamp }) => stamp).sort().at(-1);
  const reply = await server.request('PUT', '/kv/probe', 1);
  if (!(reply.json?.versionstamp > highest))
    wrong.push(`versionstamp ${reply.json?.versionstamp} after ${highest}`);
  return wrong;
}

async function main() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-kill-'));
  const server = new Server(program, directory);
  const random = randomFrom(seed);
  const clients = Array.from({ length: CLIENTS },
    (_, n) => new Client(n, randomFrom(seed + n + 1)));
  let failed = 0;
  let slowest = 0;
  console.log(`seed ${seed}; again: node tests/fault/kill.js ${program} ` +
    `${cyclesText} ${seed}`);
  await server.start();
  await server.request('POST', '/indexes', DECLARATIONS[0]);
  const cycles = Number(cyclesText);
  for (let cycle = 1; cycle <= cycles; cycle++) {
    slowest = Math.max(slowest, await crash(server, clients, random));
    const wrong = await check(server, clients);
    if (wrong.length > 0) {
      failed++;
      console.log(`cycle ${cycle}: ${wrong.slice(0, 5).join('; ')}`);
    }
  }
  await server.kill('SIGTERM');
  fs.rmSync(directory, { recursive: true });
  const sum = (name) => clients.reduce((all, one) => all + one[name], 0);
  console.log(`${sum('operations')} operations, ${sum('refused')} refused as ` +
    `duplicates, slowest restart ${slowest} ms`);
  console.log(`${cycles - failed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

main().catch((error) => {
  console.log(error);
  console.log('0 passed, 1 failed');
  process.exit(1);
});

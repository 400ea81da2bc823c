// A server under a steady load for a long time: clients write, read, list and
// commit, entries expire, an index is built and dropped again and again, watches
// are open. Memory, descriptors and log files must stay what they are after the
// first quarter, no request may fail, and in the end nothing is left over.
//
//   node soak.js PROGRAM SECONDS [SEED [PICTURE]]   the last line: N passed, ...
//
// The load is 80 % of what the same clients get through without a pause. Draws
// what it has measured into PICTURE (an SVG).
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { DECLARATIONS, built, verify } = require('./indexes.js');
const { randomFrom } = require('./random.js');
const { Server, pause } = require('./server.js');
const { draw } = require('./soak_picture.js');

const CLIENTS = 16;
const USERS = 20000;
const COMMIT = 500;
const WATCHES = 50;
const LOAD = 0.8;
const SAMPLES = 240;
const SESSION_SECONDS = 5;
// So many make a leak of a few kilobytes each visible: on a slow machine they
// take longer, up to so many times as long.
const REQUESTS_MIN = 8000;
const LONGER_MAX = 5;
const MEGABYTE = 2 ** 20;
// Beyond what was there in the second quarter.
const MEMORY_SLACK = 8 * MEGABYTE;
const DESCRIPTOR_SLACK = 4;
// --checkpoint-log and as much while the checkpoint is written; besides these
// the file in which the first part of it begins, the one in which the log ends,
// the next one and one that is just being made.
const LOG_MAX = (2 * 32 + 4 * 16) * MEGABYTE;

const [program, secondsText, seedText, picture] = process.argv.slice(2);
const seconds = Number(secondsText);
const seed = Number(seedText ?? process.env.KX_TEST_SEED ?? Date.now() % 1e9);
const random = randomFrom(seed);
const server = new Server(program, ['--cache', '32MiB',
  '--checkpoint-log', '32MiB', '--checkpoint-interval', '10s']);
const [unique, color, copy] = DECLARATIONS;
const users = new Map();
const figures = { requests: 0, builds: 0, events: 0 };
const failures = [];
const samples = [];
let next = 0; // of the values, none is used twice

function valueOf(n) {
  return { email: `${n}@x.org`, color: `color-${n % 100}`, n };
}

async function ask(method, target, body) {
  const reply = await server.request(method, target, body);
  figures.requests++;
  if (reply.status >= 400)
    failures.push(`${method} ${target}: ${reply.status} ${reply.text}`);
  return reply;
}

async function load() {
  for (let from = 0; from < USERS; from += COMMIT) {
    const mutations = Array.from({ length: COMMIT }, (_, i) => ({ type: 'set',
      key: ['users', `user-${from + i}`], value: valueOf(next++) }));
    await ask('POST', '/atomic', { mutations });
    mutations.forEach(({ key, value }) => users.set(key[1], value));
  }
  for (const declaration of [unique, color])
    await server.request('POST', '/indexes', declaration);
  await built(server);
}

// ---- What a client does ---------------------------------------------------

// The users of a client are its own, so that it knows what they are.
function userOf(client) {
  return `user-${random(USERS / CLIENTS) * CLIENTS + client}`;
}

async function write(client) {
  const user = userOf(client);
  const value = valueOf(next++);
  await ask('PUT', `/kv/users/${user}`, value);
  users.set(user, value);
}

async function writeTwo(client) {
  const one = userOf(client);
  const value = valueOf(next++);
  await ask('POST', '/atomic', { mutations: [
    { type: 'set', key: ['users', one], value },
    { type: 'sum', key: ['writes'], typed: { type: 'KvU64', value: '1' } }] });
  users.set(one, value);
}

const WORK = [
  write, write, write, writeTwo,
  (client) => ask('PUT', `/kv/sessions/${client}-${random(2000)}?ttl=` +
    `${1 + random(SESSION_SECONDS)}s`, { client }),
  (client) => ask('GET', `/kv/users/${userOf(client)}`),
  (client) => ask('GET', `/kv/users/${userOf(client)}`),
  () => ask('GET', `/list?index=${color.name}&limit=50&prefix=` +
    `${JSON.stringify([`color-${random(100)}`])}`),
  () => ask('GET', '/list?prefix=users&limit=50'),
];

// Works until told; `pace` is the milliseconds between two requests, 0: none.
async function work(client, pace, until) {
  const began = performance.now();
  for (let n = 1; !until.stopped; n++) {
    await WORK[random(WORK.length)](client);
    const ahead = began + n * pace - performance.now();
    if (pace > 0 && ahead > 1) await pause(ahead);
  }
}

async function workAll(pace, milliseconds, requests, ...others) {
  const until = { stopped: false };
  const wanted = figures.requests + requests;
  const all = Array.from({ length: CLIENTS }, (_, i) => work(i, pace, until));
  all.push(...others.map((other) => other(until)));
  await pause(milliseconds);
  for (let n = 1; n < LONGER_MAX && figures.requests < wanted; n++)
    await pause(milliseconds);
  until.stopped = true;
  await Promise.all(all);
}

// Builds the third index and drops it, again and again.
async function declare(until) {
  while (!until.stopped) {
    await ask('POST', '/indexes', copy);
    for (let state = ''; state !== 'ready' && !until.stopped; await pause(50))
      ({ state } = (await ask('GET', `/indexes/${copy.name}`)).json);
    figures.builds++;
    await ask('DELETE', `/indexes/${copy.name}`);
    await pause(500);
  }
}

// ---- Watches --------------------------------------------------------------

async function watch(n) {
  const reply = await server.open('GET', `/watch?key=users/user-${n}`,
    { agent: false });
  reply.on('data', () => { figures.events++; });
  reply.on('error', () => {});
  return reply;
}

// ---- Samples --------------------------------------------------------------

function sizeOf(pattern) {
  const data = path.join(server.directory, 'data');
  return fs.readdirSync(data).filter((name) => pattern.test(name))
    .reduce((sum, name) => sum + fs.statSync(path.join(data, name)).size, 0);
}

function sample(began, before) {
  const now = performance.now();
  const last = samples.at(-1) ?? { second: 0, requests: before };
  const second = (now - began) / 1000;
  samples.push({ second, requests: figures.requests,
    rate: (figures.requests - last.requests) / (second - last.second),
    memory: server.rss(), log: sizeOf(/^(log\.|next-log)/), entries: sizeOf(/^entries/),
    descriptors: fs.readdirSync(`/proc/${server.child.pid}/fd`).length });
}

async function watchOver(until) {
  const began = performance.now();
  const before = figures.requests;
  while (!until.stopped) {
    await pause(seconds * 1000 / SAMPLES);
    try {
      sample(began, before);
    } catch (error) {
      if (error.code !== 'ENOENT') throw error; // a log file just removed
    }
  }
}

// ---- The verdict ----------------------------------------------------------

function quarter(n, name) {
  return samples.slice(samples.length * n / 4, samples.length * (n + 1) / 4)
    .map((one) => one[name]).sort((a, b) => a - b);
}

function median(values) {
  return values[Math.floor(values.length / 2)];
}

let passed = 0;
let failed = 0;

function check(what, holds, shown) {
  if (holds) passed++;
  else failed++;
  console.log(`${holds ? 'ok' : 'FAILED'}: ${what}${shown ?? ''}`);
}

function judge() {
  const memory = [1, 3].map((n) => median(quarter(n, 'memory')));
  const descriptors = [1, 3].map((n) => quarter(n, 'descriptors').at(-1));
  const log = Math.max(...samples.map((one) => one.log));
  const inMB = (bytes) => (bytes / MEGABYTE).toFixed(1);
  check('memory is flat: ', memory[1] <= memory[0] + MEMORY_SLACK,
    `${inMB(memory[0])} MiB in the second quarter, ${inMB(memory[1])} in the last`);
  check('descriptors are flat: ',
    descriptors[1] <= descriptors[0] + DESCRIPTOR_SLACK, descriptors.join(', '));
  check('log files are bounded: ', log <= LOG_MAX, `at most ${inMB(log)} MiB`);
  check('no request failed', failures.length === 0,
    failures.length === 0 ? '' : `: ${failures.length}, ${failures[0]}`);
  check('indexes were built and dropped', figures.builds > 0);
  check('watches saw changes', figures.events > WATCHES);
}

// Nothing writes any more: what has expired must go by itself.
async function settle() {
  let left = 1;
  for (let n = 0; left > 0 && n < 400; n++, await pause(50))
    left = (await server.list(['sessions'])).length;
  check('expired entries are gone', left === 0);
  const wrong = await verify(server, users);
  check('the indexes equal the entries', wrong.length === 0, wrong[0]);
}

async function main() {
  console.log(`seed ${seed}; again: node tests/fault/soak.js ${program} ` +
    `${seconds} ${seed}`);
  await server.start();
  await load();
  const trial = Math.min(10, seconds / 5);
  const before = figures.requests;
  await workAll(0, trial * 1000, 0);
  const rate = (figures.requests - before) / trial * LOAD;
  const watches = await Promise.all(
    Array.from({ length: WATCHES }, (_, n) => watch(n)));
  await workAll(CLIENTS * 1000 / rate, seconds * 1000, REQUESTS_MIN,
    declare, watchOver);
  watches.forEach((one) => one.destroy());
  console.log(`${figures.requests} requests, ${rate.toFixed(0)} wanted each ` +
    `second, ${figures.builds} builds, ${figures.events} pieces of events`);
  judge();
  await settle();
  check('it stops when told', await server.kill('SIGTERM') === 0);
  if (picture !== undefined) fs.writeFileSync(picture, draw(samples));
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

main().catch((error) => {
  console.log(`${error.stack}\n${server.lastWords()}`);
  console.log(`${passed} passed, ${failed + 1} failed`);
  process.exitCode = 1;
}).finally(() => server.destroy());

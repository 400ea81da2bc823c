// Sixteen clients on twenty keys, with kills: what they sent and saw must be a
// linearizable history (history_check.js) of single reads, reads of many keys,
// lists, index queries and failed checks; sums of accounts and a ring that
// commits permute stay whole in every list; commits on conditions of values and
// ranges let neither a phantom nor a lost update pass.
//
//   node history.js PROGRAM OPERATIONS [SEED]   the last line: N passed, N failed
//
// With KX_POWER_LIBRARY the power is cut at each kill (power.js).
'use strict';
const { performance } = require('node:perf_hooks');
const { check } = require('./history_check.js');
const { Journal, Rooms, Stock } = require('./history_conditions.js');
const { Bank, Ring } = require('./history_sums.js');
const { Power } = require('./power.js');
const { randomFrom } = require('./random.js');
const { announce, seedOf } = require('./report.js');
const { Server, pause } = require('./server.js');

const CLIENTS = 16;
const KEYS = Array.from({ length: 20 }, (_, n) => `k${n}`);
const GROUPS = 4;
const PART = Number(process.env.KX_PART ?? 10000); // between two kills
const INDEX = { name: 'by_group', prefix: ['hot'], fields: ['/group'] };

const [program, operationsText, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const library = process.env.KX_POWER_LIBRARY;
const power = library && new Power(library, { random: randomFrom(seed + 99) });
const server = new Server(program, ['--cache', '1MiB'], power);
const history = { writes: [], views: [] };
const broken = [];
let left = 0;
let lastId = 0;

// A versionstamp as a number; null: not there.
function number(text) {
  return text === null ? null : BigInt(`0x${text}`) >> 16n;
}

// What one key must be for a view that saw this stamp of it.
function same(stamp) {
  return (version) => (stamp === null ? version.id === null :
    version.id !== null && version.stamp === stamp);
}

function view(start, says, shows) {
  history.views.push({ start, end: performance.now(), says, shows });
}

class HistoryClient {
  constructor(n) {
    this.random = randomFrom(seed + n + 1);
    this.stamps = new Map(); // what it saw last
  }

  key() { return KEYS[this.random(KEYS.length)]; }

  some(count) {
    return [...new Set(Array.from({ length: count }, () => this.key()))];
  }

  async run() {
    const kinds = [this.write, this.write, this.swap, this.read, this.read,
      this.readMany, this.list, this.query];
    while (left > 0) {
      left--;
      await kinds[this.random(kinds.length)].call(this).catch((error) => {
        if (server.up) broken.push(error.stack);
      });
      if (!server.up) return;
    }
  }

  // Each change also leaves its id, so that an unknown outcome can be settled.
  async commit(changes, checks) {
    const id = changes[0].mark;
    const record = { id, start: performance.now(), end: Infinity, stamp: null,
      changes };
    history.writes.push(record);
    const mutations = changes.map(({ key, id: value, group }) => (value === null
      ? { type: 'delete', key: ['hot', key] }
      : { type: 'set', key: ['hot', key], value: { id: value, group } }));
    mutations.push({ type: 'set', key: ['mark', id], value: 1 });
    const reply = await server.request('POST', '/atomic', { checks, mutations });
    if (reply.status === 200) {
      record.stamp = number(reply.json.versionstamp);
      record.end = performance.now();
    } else if (reply.status === 409) {
      history.writes.splice(history.writes.indexOf(record), 1);
      this.learn(record.start, reply.json);
    }
  }

  // A failed check has seen another versionstamp.
  learn(start, problem) {
    for (const { key, actual } of problem.failedChecks ?? []) {
      const stamp = number(actual);
      view(start, `check of ${key[1]}: ${stamp}`, (other, version) =>
        other !== key[1] || same(stamp)(version));
    }
  }

  change(key) {
    const id = ++lastId;
    const gone = this.random(4) === 0;
    return { key, mark: id, id: gone ? null : id,
      group: gone ? null : `g${this.random(GROUPS)}` };
  }

  write() { return this.commit([this.change(this.key())], []); }

  // On condition that no other client was faster.
  swap() {
    const keys = this.some(3);
    const checks = keys.filter((key) => this.stamps.has(key)).map((key) =>
      ({ key: ['hot', key], versionstamp: this.stamps.get(key) }));
    return this.commit(keys.map((key) => this.change(key)), checks);
  }

  saw(key, text) { this.stamps.set(key, text); }

  async read() {
    const key = this.key();
    const start = performance.now();
    const reply = await server.open('GET', `/kv/hot/${key}`);
    for await (const chunk of reply) void chunk;
    if (reply.statusCode >= 500) return;
    const text = reply.statusCode === 404 ? null :
      reply.headers.etag.replaceAll('"', '');
    this.saw(key, text);
    view(start, `read of ${key}: ${number(text)}`, (other, version) =>
      other !== key || same(number(text))(version));
  }

  async readMany() {
    const keys = this.some(5);
    const start = performance.now();
    const reply = await server.request('POST', '/get',
      { keys: keys.map((key) => ['hot', key]) });
    if (reply.status !== 200) return;
    const stamps = new Map(reply.json.entries.map(({ key, versionstamp }) =>
      [key[1], number(versionstamp)]));
    reply.json.entries.forEach(({ key, versionstamp }) =>
      this.saw(key[1], versionstamp));
    view(start, `read of ${[...stamps]}`, (key, version) =>
      !stamps.has(key) || same(stamps.get(key))(version));
  }

  async list() {
    const start = performance.now();
    const reply = await server.request('GET', '/list?prefix=hot');
    if (reply.status !== 200) return;
    const stamps = new Map(reply.json.entries.map(({ key, versionstamp }) =>
      [key[1], number(versionstamp)]));
    view(start, `list: ${[...stamps]}`, (key, version) =>
      same(stamps.get(key) ?? null)(version));
  }

  async query() {
    const group = `g${this.random(GROUPS)}`;
    const start = performance.now();
    const reply = await server.request('GET',
      `/list?index=by_group&prefix=${group}`);
    if (reply.status !== 200) return;
    const stamps = new Map(reply.json.entries.map(({ key, versionstamp }) =>
      [key[1], number(versionstamp)]));
    view(start, `query of ${group}: ${[...stamps]}`, (key, version) =>
      (stamps.has(key) ? same(stamps.get(key))(version) :
        version.group !== group));
  }
}

async function start() {
  await server.start();
  server.up = true;
}

// Kills the server while the clients work.
async function part(clients, sums) {
  left = PART;
  const work = Promise.all([...clients, ...sums].map((one) => one.run()));
  while (left > PART / 10) await pause(1);
  server.up = false;
  left = 0;
  await server.kill('SIGKILL');
  await work;
  await start();
}

// The outcome of a write that was cut off: its mark says whether it is there.
async function settle() {
  for (const write of history.writes.filter(({ stamp }) => stamp === null)) {
    const { status, json } = await server.request('POST', '/get',
      { keys: [['mark', write.id]] });
    if (status !== 200) throw new Error(`status ${status}`);
    write.stamp = number(json.entries[0].versionstamp);
  }
}

async function main() {
  announce(seed, program, operationsText);
  await start();
  await server.request('POST', '/indexes', INDEX);
  const clients = Array.from({ length: CLIENTS }, (_, n) =>
    new HistoryClient(n));
  const sums = [new Bank(server, randomFrom(seed + 50)),
    new Ring(server, randomFrom(seed + 51)),
    ...[Rooms, Journal, Stock].map((Kind, n) =>
      new Kind(server, randomFrom(seed + 52 + n)))];
  for (const one of sums) await one.prepare();
  const going = () => left > 0 && server.up;
  sums.forEach((one) => { one.going = going; });
  const parts = Math.max(1, Math.round(Number(operationsText) / PART));
  for (let n = 0; n < parts; n++) await part(clients, sums);
  await settle();
  for (const one of sums) await one.settle?.();
  const wrong = [...broken, ...check(history, KEYS),
    ...sums.flatMap((one) => one.wrong)];
  console.log(`${history.writes.length} commits, ${history.views.length} ` +
    `views, ${parts} kills, ` + sums.map((one) => one.says()).join(', '));
  wrong.slice(0, 5).forEach((text) => console.log(text));
  await server.kill('SIGTERM');
  console.log(`${wrong.length === 0 ? parts : 0} passed, ` +
    `${wrong.length > 0 ? 1 : 0} failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

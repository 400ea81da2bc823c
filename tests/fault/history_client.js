// A client of a history (history_check.js): commits to twenty keys, and single reads,
// reads of many keys, lists, index queries and failed checks, which are views of them.
'use strict';
const { performance } = require('node:perf_hooks');
const { Finding } = require('./report.js');

const KEYS = Array.from({ length: 20 }, (_, n) => `k${n}`);
const GROUPS = 4;
const INDEX = { name: 'by_group', prefix: ['hot'], fields: ['/group'] };

// A versionstamp as a number; null: not there.
function number(text) {
  return text === null ? null : BigInt(`0x${text}`) >> 16n;
}

// What one key must be for a view that saw this stamp of it.
function same(stamp) {
  return (version) => (stamp === null ? version.id === null :
    version.id !== null && version.stamp === stamp);
}

function stampsOf(reply) {
  return new Map(reply.json.entries.map(({ key, versionstamp }) =>
    [key[1], number(versionstamp)]));
}

class HistoryClient {
  // history: { writes, views, lastId }, which its clients share. request(method,
  // target, body): resolves to a reply of server.js.
  constructor(history, random, request) {
    Object.assign(this, { history, random, request });
    this.stamps = new Map(); // what it saw last
  }

  key() { return KEYS[this.random(KEYS.length)]; }

  some(count) {
    return [...new Set(Array.from({ length: count }, () => this.key()))];
  }

  // Any operation.
  step() {
    const kinds = [this.write, this.write, this.swap, this.read, this.read,
      this.readMany, this.list, this.query];
    return kinds[this.random(kinds.length)].call(this);
  }

  // Each change also leaves its id, so that an unknown outcome can be settled.
  async commit(changes, checks) {
    const id = changes[0].mark;
    const record = { id, start: performance.now(), end: Infinity, stamp: null,
      changes };
    this.history.writes.push(record);
    const mutations = changes.map(({ key, id: value, group }) => (value === null
      ? { type: 'delete', key: ['hot', key] }
      : { type: 'set', key: ['hot', key], value: { id: value, group } }));
    mutations.push({ type: 'set', key: ['mark', id], value: 1 });
    const reply = await this.request('POST', '/atomic', { checks, mutations });
    if (reply.status === 200) {
      record.stamp = number(reply.json.versionstamp);
      record.end = performance.now();
      this.committed(record, reply);
    } else if (reply.status === 409) {
      this.history.writes.splice(this.history.writes.indexOf(record), 1);
      this.learn(record.start, reply);
    }
  }

  committed() {}

  view(start, reply, says, shows) {
    const view = { start, end: performance.now(), says, shows };
    this.history.views.push(view);
    return view;
  }

  // A failed check has seen another versionstamp.
  learn(start, reply) {
    for (const { key, actual } of reply.json.failedChecks ?? []) {
      const stamp = number(actual);
      this.view(start, reply, `check of ${key[1]}: ${stamp}`, (other, version) =>
        other !== key[1] || same(stamp)(version));
    }
  }

  change(key) {
    const id = ++this.history.lastId;
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
    const reply = await this.request('GET', `/kv/hot/${key}`);
    if (reply.status >= 500) return;
    const text = reply.status === 404 ? null :
      reply.headers.etag.replaceAll('"', '');
    this.saw(key, text);
    this.view(start, reply, `read of ${key}: ${number(text)}`, (other, version) =>
      other !== key || same(number(text))(version));
  }

  async readMany() {
    const keys = this.some(5);
    const start = performance.now();
    const reply = await this.request('POST', '/get',
      { keys: keys.map((key) => ['hot', key]) });
    if (reply.status !== 200) return;
    const stamps = stampsOf(reply);
    reply.json.entries.forEach(({ key, versionstamp }) =>
      this.saw(key[1], versionstamp));
    this.view(start, reply, `read of ${[...stamps]}`, (key, version) =>
      !stamps.has(key) || same(stamps.get(key))(version));
  }

  async list() {
    const start = performance.now();
    const reply = await this.request('GET', '/list?prefix=hot');
    if (reply.status !== 200) return;
    const stamps = stampsOf(reply);
    this.view(start, reply, `list: ${[...stamps]}`, (key, version) =>
      same(stamps.get(key) ?? null)(version));
  }

  async query() {
    const group = `g${this.random(GROUPS)}`;
    const start = performance.now();
    const reply = await this.request('GET',
      `/list?index=by_group&prefix=${group}`);
    if (reply.status !== 200) return;
    const stamps = stampsOf(reply);
    this.view(start, reply, `query of ${group}: ${[...stamps]}`, (key, version) =>
      (stamps.has(key) ? same(stamps.get(key))(version) :
        version.group !== group));
  }
}

// The outcomes of writes that were cut off: their marks say whether they are there.
async function settle(history, request) {
  for (const write of history.writes.filter(({ stamp }) => stamp === null)) {
    const { status, json } = await request('POST', '/get',
      { keys: [['mark', write.id]] });
    if (status !== 200) throw new Finding(`status ${status}`);
    write.stamp = number(json.entries[0].versionstamp);
  }
}

module.exports = { HistoryClient, INDEX, KEYS, number, settle };

// Conditions on values and ranges, tried by clients at once, beside the sums of
// history_sums.js. Each client looks, and then commits on condition of what it
// has seen:
//
//   Rooms    one tenant in a room: no entry under its prefix     (a phantom)
//   Journal  each entry has the number of entries before it: nothing under the
//            prefix is newer than what the list had             (a phantom)
//   Stock    a value goes down by one: it is what was read      (a lost update)
'use strict';
const { Sums } = require('./history_sums.js');

const CLIENTS = 4; // of each kind
const ROOMS = 3;
const PAGES = 100; // of a journal, before the next one is begun
const STOCKS = 3;

class Conditions extends Sums {
  run() { return super.run(CLIENTS); }

  // The answer of a commit; null when it is not known.
  async commit(checks, mutations) {
    const reply = await this.server.request('POST', '/atomic',
      { checks, mutations });
    this.commits += reply.status === 200 ? 1 : 0;
    if (reply.status !== 200 && reply.status !== 409) return null;
    return reply.status === 200;
  }

  async list(prefix) {
    const query = encodeURIComponent(JSON.stringify(prefix));
    const reply = await this.server.request('GET', `/list?prefix=${query}`);
    if (reply.status !== 200) return null;
    this.views++;
    return reply.json.entries;
  }
}

class Rooms extends Conditions {
  constructor(server, random) {
    super(server, random, 'rooms');
    this.tenants = 0;
  }

  prepare() {}

  // A tenant leaves, so that the room is free again.
  async step() {
    const prefix = ['rooms', this.random(ROOMS)];
    const entries = await this.list(prefix);
    if (entries === null) return;
    if (entries.length > 1)
      this.wrong.push(`${entries.length} tenants are in one room`);
    const mutations = entries.map(({ key }) => ({ type: 'delete', key }));
    if (entries.length > 0) await this.commit([], mutations);
    await this.commit([{ prefix, none: true }],
      [{ type: 'set', key: [...prefix, ++this.tenants], value: 1 }]);
  }
}

class Journal extends Conditions {
  constructor(server, random) {
    super(server, random, 'journal');
    this.book = 0;
    this.pages = 0;
  }

  prepare() {}

  async step() {
    const prefix = ['journal', this.book];
    const entries = await this.list(prefix);
    if (entries === null) return;
    const values = entries.map(({ value }) => value);
    if (new Set(values).size !== values.length)
      this.wrong.push(`two pages have one number: ${values}`);
    const last = entries.map(({ versionstamp }) => versionstamp).sort().pop();
    const check = last === undefined ? { prefix, none: true } :
      { prefix, atMost: last };
    await this.commit([check], [{ type: 'set',
      key: [...prefix, this.random(1e9)], value: entries.length }]);
    if (entries.length >= PAGES && this.book === prefix[1]) this.book++;
  }
}

class Stock extends Conditions {
  constructor(server, random) {
    super(server, random, 'stock');
    this.sold = 0;
    this.unknown = 0;
  }

  prepare() { return this.store(Array(STOCKS).fill(0)); }

  async step() {
    const entries = await this.list(['stock']);
    if (entries === null) return;
    const { key, value } = entries[this.random(entries.length)];
    this.unknown++;
    const done = await this.commit(
      [{ key, where: { path: '', eq: value } }],
      [{ type: 'set', key, value: value - 1 }]);
    this.unknown--;
    if (done === null) this.unknown++;
    this.sold += done ? 1 : 0;
  }

  // What was sold and what may have been sold, when all is quiet.
  async settle() {
    const entries = await this.list(['stock']);
    const gone = -entries.reduce((sum, { value }) => sum + value, 0);
    if (gone < this.sold || gone > this.sold + this.unknown)
      this.wrong.push(`${this.sold} were sold, and ${gone} are gone`);
  }
}

module.exports = { Journal, Rooms, Stock };

// Two tests of atomic commits that need no history: money that is moved between
// accounts is neither made nor lost, and a ring of keys, each naming the next,
// that commits cut and join again stays one ring. Both are looked at in lists.
'use strict';

const ACCOUNTS = 8;
const EACH = 100;
const RING = 12;

class Sums {
  constructor(server, random, prefix) {
    Object.assign(this, { server, random, prefix, wrong: [], commits: 0,
      views: 0 });
  }

  async store(values) {
    const mutations = values.map((value, n) =>
      ({ type: 'set', key: [this.prefix, n], value }));
    await this.server.request('POST', '/atomic', { mutations });
  }

  // All entries as they are at one moment, and whether that is right.
  async look() {
    const reply = await this.server.request('GET',
      `/list?prefix=${this.prefix}`);
    if (reply.status !== 200) return null;
    this.views++;
    const complaint = this.complaint(reply.json.entries.map(({ value }) =>
      value));
    if (complaint) this.wrong.push(complaint);
    return reply.json.entries;
  }

  // Replaces some entries, unless somebody was faster.
  async replace(entries, values) {
    const checks = entries.map(({ key, versionstamp }) =>
      ({ key, versionstamp }));
    const mutations = entries.map(({ key }, n) =>
      ({ type: 'set', key, value: values[n] }));
    const reply = await this.server.request('POST', '/atomic',
      { checks, mutations });
    this.commits += reply.status === 200 ? 1 : 0;
  }

  // By so many clients.
  async run(clients = 2) {
    const one = async () => {
      while (this.going()) await this.step().catch(() => null);
    };
    await Promise.all(Array.from({ length: clients }, one));
  }

  async step() {
    const entries = await this.look();
    if (entries) await this.change(entries);
  }

  says() { return `${this.prefix}: ${this.commits} commits, ${this.views} views`; }
}

class Bank extends Sums {
  constructor(server, random) { super(server, random, 'bank'); }

  prepare() { return this.store(Array(ACCOUNTS).fill(EACH)); }

  complaint(balances) {
    const sum = balances.reduce((total, one) => total + one, 0);
    return sum === ACCOUNTS * EACH ? null : `the accounts hold ${sum}`;
  }

  change(entries) {
    const from = entries[this.random(entries.length)];
    const to = entries[this.random(entries.length)];
    const amount = this.random(10);
    if (from === to) return null;
    return this.replace([from, to], [from.value - amount, to.value + amount]);
  }
}

class Ring extends Sums {
  constructor(server, random) { super(server, random, 'ring'); }

  prepare() {
    return this.store(Array.from({ length: RING }, (_, n) => (n + 1) % RING));
  }

  complaint(next) {
    let at = 0;
    const seen = new Set();
    while (!seen.has(at)) {
      seen.add(at);
      at = next[at];
    }
    return seen.size === RING ? null : `the ring is broken: ${next}`;
  }

  // a -> b -> c -> d becomes a -> c -> b -> d.
  change(entries) {
    const a = entries[this.random(entries.length)];
    const b = entries[a.value];
    const c = entries[b.value];
    return this.replace([a, b, c], [b.value, c.value, a.value]);
  }
}

module.exports = { Bank, Ring, Sums };

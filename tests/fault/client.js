// One client with separate keys, working one operation after the other. It
// knows what the store must hold for its keys: everything acknowledged, and of
// the one operation that was cut off either all or nothing.
'use strict';
const { Finding } = require('./report.js');

const COLORS = ['red', 'green', 'blue'];

class Client {
  constructor(number, random) {
    this.number = number;
    this.random = random;
    this.model = new Map();   // user -> value
    this.pending = null;      // Map like model: what the operation would make
    this.stamp = '';          // the last one acknowledged
    this.operations = 0;
    this.refused = 0;
  }

  user(n) {
    return `c${this.number}-${n}`;
  }

  value() {
    // Few e-mail addresses, so that clients run into each other.
    return { email: `e${this.random(400)}@x`, color: COLORS[this.random(3)],
      n: this.operations };
  }

  // A commit of one to three mutations on this client's users.
  mutations() {
    const list = [];
    const count = 1 + this.random(3);
    for (let i = 0; i < count; i++) {
      const key = ['users', this.user(this.random(30))];
      if (this.random(4) === 0) list.push({ type: 'delete', key });
      else list.push({ type: 'set', key, value: this.value(), ttl: '1h' });
    }
    return list;
  }

  after(mutations) {
    const next = new Map(this.model);
    for (const mutation of mutations) {
      if (mutation.type === 'set') next.set(mutation.key[1], mutation.value);
      else next.delete(mutation.key[1]);
    }
    return next;
  }

  // One mutation by PUT or DELETE, several by /atomic.
  send(server, mutations) {
    if (mutations.length > 1)
      return server.request('POST', '/atomic', { mutations });
    const [{ type, key, value }] = mutations;
    const target = `/kv/users/${key[1]}`;
    if (type === 'delete') return server.request('DELETE', target);
    return server.request('PUT', target + '?ttl=1h', value);
  }

  async step(server) {
    const mutations = this.mutations();
    this.operations++;
    this.pending = this.after(mutations);
    const reply = await this.send(server, mutations);
    if (reply.status === 409) {
      this.refused++;
    } else if (reply.status >= 200 && reply.status < 300) {
      this.model = this.pending;
      this.note(reply.json);
    } else {
      throw new Finding(`status ${reply.status}: ${reply.text}`);
    }
    this.pending = null;
  }

  note(json) {
    if (json === null) return; // 204
    if (json.versionstamp <= this.stamp)
      throw new Finding(`versionstamp ${json.versionstamp} after ${this.stamp}`);
    this.stamp = json.versionstamp;
  }

  // Works until the connection breaks.
  async run(server, until) {
    try {
      while (!until.stopped) await this.step(server);
    } catch (error) {
      if (!until.stopped) throw error;
    }
  }

  // Compares with what the store holds, and continues from there. Returns what is
  // wrong.
  settle(stored) {
    const mine = new Map([...stored].filter(
      ([user]) => user.startsWith(`c${this.number}-`)));
    const wrong = difference(mine, this.model);
    const isCutOff = this.pending && difference(mine, this.pending) === null;
    this.pending = null;
    this.model = mine;
    return wrong === null || isCutOff ? [] :
      [`client ${this.number}: not as acknowledged: ${wrong}`];
  }
}

function difference(have, want) {
  for (const [user, value] of want)
    if (JSON.stringify(have.get(user)) !== JSON.stringify(value))
      return `${user} is ${JSON.stringify(have.get(user))}, ` +
        `not ${JSON.stringify(value)}`;
  for (const user of have.keys())
    if (!want.has(user)) return `${user} is there`;
  return null;
}

module.exports = { Client };

// The declared indexes of the crash test: one that is always there, and three that
// are declared and dropped all the time; and what each must hold.
'use strict';
const { pause } = require('./server.js');

const DECLARATIONS = [
  { name: 'by_email', prefix: ['users'], fields: ['/email'], unique: true },
  { name: 'by_color', prefix: ['users'], fields: ['/color'] },
  { name: 'copy_by_n', prefix: ['users'], fields: ['/n'], store: 'value' },
  { name: 'totals', prefix: ['users'], fields: ['/color'],
    store: { aggregate: { count: true, sum: [{ path: '/n', scale: 1 }] } } },
];
const BREAK_MS = 60;
const LOOK_MS = 5;

// One client that declares and drops, and knows which indexes must be there:
// those acknowledged; of the one change that was cut off either.
class Declarer {
  constructor(random) {
    this.random = random;
    this.declared = new Set();
    this.pending = null;      // the name whose change is under way
    this.changes = 0;
  }

  async change(server, declaration, isWanted) {
    const { name } = declaration;
    this.changes++;
    this.pending = name;
    const reply = isWanted
      ? await server.request('POST', '/indexes', declaration)
      : await server.request('DELETE', `/indexes/${name}`);
    if (!(isWanted ? [200, 201, 202] : [204, 404]).includes(reply.status))
      throw new Error(`index change: ${reply.status} ${reply.text}`);
    if (isWanted) this.declared.add(name);
    else this.declared.delete(name);
    this.pending = null;
  }

  // Works until the connection breaks.
  async run(server, until) {
    try {
      while (!until.stopped) {
        const declaration = DECLARATIONS[1 + this.random(3)];
        await this.change(server, declaration, this.random(2) === 0);
        await pause(this.random(BREAK_MS));
      }
    } catch (error) {
      if (!until.stopped) throw error;
    }
  }

  // Compares with the indexes that are there, and continues from there. Returns
  // what is wrong.
  settle(names) {
    const wrong = DECLARATIONS.map(({ name }) => name).filter((name) =>
      names.includes(name) !== this.declared.has(name) && name !== this.pending)
      .map((name) => this.declared.has(name)
        ? `${name} was acknowledged, but is not there`
        : `${name} is there, though its drop was acknowledged`);
    this.declared = new Set(names);
    this.pending = null;
    return wrong;
  }
}

async function indexes(server) {
  return (await server.request('GET', '/indexes')).json.indexes;
}

// Resolves to the indexes as soon as none of them is building.
async function built(server) {
  for (;;) {
    const there = await indexes(server);
    if (there.every((index) => index.state !== 'building')) return there;
    await pause(LOOK_MS);
  }
}

// The groups with their totals, of whole numbers.
function expectedTotals(declaration, users) {
  const groups = new Map();
  for (const { color, n } of users.values()) {
    if (color === undefined || n === undefined) continue;
    const { count, sum } = groups.get(color) ?? { count: 0, sum: 0n };
    groups.set(color, { count: count + 1, sum: sum + BigInt(n) });
  }
  return [...groups].map(([color, { count, sum }]) => JSON.stringify(
    [[declaration.name, color], { count, sum: { '/n': `${sum}.0` } }])).sort();
}

function expected(declaration, users) {
  const lines = [];
  if (declaration.store?.aggregate) return expectedTotals(declaration, users);
  for (const [user, value] of users) {
    const field = value[declaration.fields[0].slice(1)];
    if (field === undefined) continue;
    const key = [declaration.name, field];
    if (!declaration.unique) key.push(user);
    const held = declaration.store === 'value' ? value : user;
    lines.push(JSON.stringify([key, held]));
  }
  return lines.sort();
}

// The first line of one list that the other has not.
function surplus(some, others) {
  const known = new Set(others);
  return some.find((line) => !known.has(line));
}

function compare(declaration, index, have, want) {
  const { name } = declaration;
  const wrong = [];
  if (index !== undefined && index.state !== 'ready')
    wrong.push(`${name} is ${index.state}: ${index.failure}`);
  if (JSON.stringify(have) !== JSON.stringify(want))
    wrong.push(`${name} has ${have.length} entries, ${want.length} expected; ` +
      `too many: ${surplus(have, want)}; missing: ${surplus(want, have)}`);
  if (index !== undefined && index.entries !== have.length)
    wrong.push(`${name} counts ${index.entries} entries, has ${have.length}`);
  return wrong;
}

// Compares each index with the users, in both directions. Returns what is wrong.
async function verify(server, users) {
  const wrong = [];
  const there = await built(server);
  for (const declaration of DECLARATIONS) {
    const index = there.find(({ name }) => name === declaration.name);
    const have = (await server.list([declaration.name]))
      .map(({ key, value }) => JSON.stringify([key, value])).sort();
    const want = index === undefined ? [] : expected(declaration, users);
    wrong.push(...compare(declaration, index, have, want));
  }
  return wrong;
}

module.exports = { DECLARATIONS, Declarer, built, indexes, verify };

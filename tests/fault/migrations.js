// Kills the server with SIGKILL at random moments while an index goes from form
// to form, clients write and a reader reads what it has just written by way of
// the index. Not one answer may be wrong, missing or stale; after each restart
// the index must have the form that it had or the one it was to get, and equal
// the data in both directions, which its verification must say, too.
//
//   node migrations.js PROGRAM KILLS [SEED]    the last line: N passed, N failed
'use strict';
const { Client } = require('./client.js');
const { randomFrom } = require('./random.js');
const { Finding, announce, conclude, cycles, seedOf } = require('./report.js');
const { Server, pause } = require('./server.js');

const ENTRIES = 6000;     // that no client changes
const CLIENTS = 3;
const LOOK_MS = 5;
const NAME = 'forms';
const PREFIX = encodeURIComponent(JSON.stringify([NAME]));
const STORES = ['pointer', 'value', { fields: ['/color'] }];
// That all entries meet: both forms have the same keys, so each row is of both.
const WHERE = [{ path: '/email', exists: true }];
const [program, killsText, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const random = randomFrom(seed);
const server = new Server(program, ['--cache', '4MiB',
  '--checkpoint-log', '1MiB', '--checkpoint-interval', '1s']);
const clients = Array.from({ length: CLIENTS },
  (_, n) => new Client(n, randomFrom(seed + n + 1)));

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

async function ok(method, target, body) {
  const reply = await server.request(method, target, body);
  if (reply.status >= 300)
    throw new Error(`${method} ${target}: ${reply.status} ${reply.text}`);
  return reply.json;
}

// Sends the index from form to form, and knows which it may have.
class Migrator {
  constructor() {
    this.form = { unique: false, store: 'pointer', where: null };
    this.target = null;   // that it may get
    this.begun = 0;
    this.undone = 0;
    this.switches = 0;
    this.within = 0;
  }

  get index() {
    return server.request('GET', `/indexes/${NAME}`);
  }

  // The form that is shown must be one that was asked for.
  note({ unique, store, where = null, state, migration }) {
    const form = { unique, store, where };
    if (this.target !== null && same(form, this.target)) {
      this.form = this.target;
      this.target = null;
      this.switches++;
    }
    if (!same(form, this.form))
      throw new Finding(`the form ${JSON.stringify(form)}, not ` +
        `${JSON.stringify(this.form)} or ${JSON.stringify(this.target)}`);
    if (state === 'ready') this.target = null;
    if (state === 'migrating' &&
        !same({ ...this.form, ...migration.to }, this.target))
      throw new Finding(`on its way to ${JSON.stringify(migration.to)}`);
    return state === 'ready' ? null : migration.state;
  }

  async migrate() {
    const target = { unique: random(2) === 0, store: STORES[random(3)],
      where: random(2) === 0 ? WHERE : null };
    this.target = target;
    this.begun++;
    this.note(await ok('PATCH', `/indexes/${NAME}`, target));
  }

  async undo() {
    const { status, json } =
      await server.request('DELETE', `/indexes/${NAME}/migration`);
    if (status === 200) {
      this.undone++;
      this.target = null;
      this.note(json);
    } else if (status !== 404) {
      throw new Error(`undo: ${status}`);
    }
  }

  // Two users with the same fields keep an index from becoming unique.
  async step() {
    const state = this.note((await this.index).json);
    if (state === null) await this.migrate();
    else if (state !== 'building' || random(15) === 0) await this.undo();
    else await pause(random(LOOK_MS));
  }

  async run(until) {
    while (!until.stopped) await this.step();
  }

  // The index as soon as nothing happens to it.
  async settle() {
    for (;;) {
      const { json } = await this.index;
      const state = this.note(json);
      if (state === null) return json;
      if (state === 'building') await pause(LOOK_MS);
      else await this.undo();
    }
  }
}

// Writes, and reads by way of the index what it has written.
class Reader {
  constructor() {
    this.user = 'reader';
    this.count = 0;
    this.answers = 0;
  }

  get value() {
    return { email: `a-reader-${this.count >> 3}`, color: `c${this.count}`,
      n: this.count >> 3 };
  }

  async list(parameters) {
    this.answers++;
    return (await ok('GET', `/list?limit=1000&${parameters}`)).entries;
  }

  wrong(what, have) {
    throw new Finding(`${what}: ${JSON.stringify(have)}, after writing ` +
      JSON.stringify(this.value));
  }

  // With another color, every eighth time with other fields, too.
  async step() {
    const before = this.value;
    this.count++;
    const { versionstamp } =
      await ok('PUT', `/kv/users/${this.user}`, this.value);
    const { email, n } = this.value;
    const found = await this.list(`index=${NAME}&prefix=${email}/=${n}`);
    if (found.length !== 1 || found[0].versionstamp !== versionstamp ||
        !same(found[0].value, this.value))
      this.wrong('the entry', found);
    if (before.email !== email) {
      const old = await this.list(`index=${NAME}&prefix=${before.email}`);
      if (old.length > 0) this.wrong('the former entry', old);
    }
    await this.readRows();
    await this.readOther();
  }

  // The index entry itself, in any of the forms.
  async readRows() {
    const { email, color, n } = this.value;
    const rows = await this.list(`prefix=${NAME}/${email}`);
    const [{ key, value } = {}] = rows;
    const held = [this.user, this.value, { color }];
    if (rows.length !== 1 || !held.some((one) => same(one, value)) ||
        !same(key.slice(0, 3), [NAME, email, n]))
      this.wrong('the index entry', rows);
  }

  // One that no client changes, and its neighbours in the order of the index.
  async readOther() {
    const n = random(ENTRIES - 20);
    const start = encodeURIComponent(JSON.stringify([`other-${pad(n)}`]));
    const end = encodeURIComponent(JSON.stringify([`other-${pad(n + 20)}`]));
    const found =
      await this.list(`index=${NAME}&start=${start}&end=${end}`);
    const names = found.map(({ key }) => key[1]);
    const expected = Array.from({ length: 20 }, (_, i) => `o${pad(n + i)}`);
    if (!same(names, expected)) this.wrong('the neighbours', names);
  }

  async run(until) {
    while (!until.stopped) await this.step();
  }
}

// Reads the whole index page by page, which takes longer than some migrations.
class Walker {
  constructor() {
    this.walks = 0;
  }

  async walk(until) {
    const seen = new Set();
    const back = random(2) === 0 ? '&reverse' : '';
    let cursor = '';
    do {
      const { entries, cursor: next } = await ok('GET',
        `/list?index=${NAME}&limit=500${back}${cursor}`);
      for (const { key } of entries) {
        if (key[1].startsWith('o') && seen.has(key[1]))
          throw new Finding(`${key[1]} comes twice`);
        seen.add(key[1]);
      }
      cursor = next && `&cursor=${next}`;
    } while (cursor && !until.stopped);
    if (until.stopped) return;
    this.walks++;
    const others = [...seen].filter((name) => name.startsWith('o')).length;
    if (others !== ENTRIES)
      throw new Finding(`${others} of ${ENTRIES} entries on all pages`);
  }

  async run(until) {
    while (!until.stopped) await this.walk(until);
  }
}

const migrator = new Migrator();
const reader = new Reader();
const walker = new Walker();

function pad(n) {
  return String(n).padStart(6, '0');
}

async function prepare() {
  await server.start();
  await server.load(ENTRIES, (n) => ({ key: ['users', `o${pad(n)}`],
    value: { email: `other-${pad(n)}`, color: 'grey', n } }));
  await ok('POST', '/indexes', { name: NAME, prefix: ['users'],
    fields: ['/email', '/n'], unique: false });
  while ((await migrator.index).json.state !== 'ready') await pause(LOOK_MS);
}

// Resolves to what was wrong before the kill.
async function crash() {
  const until = { stopped: false };
  const wrong = [];
  const end = (error) => {
    if (!until.stopped || error instanceof Finding) wrong.push(error);
  };
  const work = [...clients.map((client) => client.run(server, until)),
    ...[migrator, reader, walker].map((one) => one.run(until))];
  const all = Promise.all(work.map((one) => one.catch(end)));
  await Promise.race([pause(200 + random(600)), all]);
  until.stopped = true;
  await server.kill('SIGKILL');
  await all;
  return wrong;
}

function expected({ unique, store }, user, value) {
  const key = [NAME, value.email, value.n];
  if (!unique) key.push(user);
  if (store === 'pointer') return [key, user];
  return [key, store === 'value' ? value : { color: value.color }];
}

async function verified() {
  await ok('POST', `/indexes/${NAME}/verify`);
  for (;;) {
    const report = await ok('GET', `/indexes/${NAME}/verify`);
    if (report.state === 'done') return report;
    await pause(LOOK_MS);
  }
}

async function check() {
  migrator.within +=
    (await migrator.index).json.state === 'migrating' ? 1 : 0;
  const index = await migrator.settle();
  const users = new Map((await server.list(['users']))
    .map(({ key, value }) => [key[1], value]));
  const have = (await server.list([NAME]))
    .map(({ key, value }) => JSON.stringify([key, value])).sort();
  const want = [...users].map(([user, value]) =>
    JSON.stringify(expected(index, user, value))).sort();
  const wrong = clients.flatMap((client) => client.settle(users));
  if (!same(have, want)) {
    const surplus = have.find((line) => !want.includes(line));
    const missing = want.find((line) => !have.includes(line));
    wrong.push(`${have.length} index entries, ${want.length} ` +
      `expected; too many: ${surplus}; missing: ${missing}`);
  }
  if (index.entries !== have.length)
    wrong.push(`${index.entries} counted, ${have.length} there`);
  const { missing, dangling, stale, duplicate } = await verified();
  if (missing + dangling + stale + duplicate !== 0)
    wrong.push(`the verification finds ${missing} missing, ` +
      `${dangling} dangling, ${stale} stale, ${duplicate} duplicate`);
  return wrong;
}

async function cycle() {
  const wrong = await crash();
  await server.start();
  return [...wrong, ...await check()];
}

async function main() {
  const passed = { cycles: 0 };
  announce(seed, program, killsText);
  const wrong = await prepare()
    .then(() => cycles(server, Number(killsText), passed, cycle))
    .catch((error) => [error]);
  console.log(`${migrator.begun} migrations begun, ${migrator.switches} ` +
    `carried out, ${migrator.undone} taken back; ${migrator.within} restarts ` +
    `within one; ${reader.answers} answers compared, ${walker.walks} walks`);
  if (wrong.length === 0 && (migrator.within === 0 || walker.walks === 0))
    wrong.push(new Error('no restart came within a migration, or no walk to its end'));
  conclude(server, 'kill', passed.cycles, wrong);
}

main();

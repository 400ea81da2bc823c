// Copies of the entries under a prefix, kept by GET /watch?index= of an index of
// changes, under eight writers that set, remove and touch entries and let them
// expire. The connections of the copies are cut at random moments, one copy stops
// reading now and then, one begins late, and the server is killed with SIGKILL. A
// copy knows what the last id that it got says, and continues there. At the end
// each must equal the source, entry for entry.
//
//   node follow.js PROGRAM COMMITS [SEED]
//
// With KX_NO_TOMBSTONES the index is declared without them: the copies must then
// differ. The last line: N passed, N failed
'use strict';
const { Server, pause } = require('./server.js');
const { randomFrom } = require('./random.js');
const { announce, conclude, seedOf } = require('./report.js');

const WRITERS = 8;
const KEYS = 300;
const PAIRS = 5;
const KILLS = 10;
const AGAIN_MS = 5;
const EXPIRED_MS = 120000; // after which nothing that expires may be left
const STAMP = 20; // digits
const [program, commitsText, seedText] = process.argv.slice(2);
const commits = Number(commitsText);
const seed = seedOf(seedText);
const server = new Server(program, ['--cache', '4MiB']);
const wrong = [];
let done = 0;

// ---- The load -------------------------------------------------------------

const set = (key, value, more = {}) => ({ type: 'set', key, value, ...more });

// Some commits need several events.
function large(i, random) {
  const begin = random(KEYS);
  return Array.from({ length: 900 }, (_, n) =>
    set(['d', 'large', begin + n], { i, pad: 'x'.repeat(400) }));
}

function mutations(i, random) {
  const key = ['d', random(KEYS)];
  if (i % 1000 === 500) return large(i, random);
  if (i % 1000 === 700)
    return Array.from({ length: 900 }, (_, n) =>
      ({ type: 'delete', key: ['d', 'large', n + random(KEYS)] }));
  switch (random(6)) {
    case 0: return [{ type: 'delete', key }];
    case 1: return [set(key, i, { ttl: `${1 + random(400)}ms` })];
    case 2: return [{ type: 'touch', key, ttl: `${1 + random(400)}ms` }];
    case 3: {
      const pair = ['d', 'pair', random(PAIRS)];
      const both = [[...pair, 'a'], [...pair, 'b']];
      return random(4) === 0 ? both.map((one) => ({ type: 'delete', key: one }))
        : both.map((one) => set(one, i));
    }
    default: return [set(key, { i }), set(['other', random(KEYS)], i)];
  }
}

// A commit that the kill has cut off may have happened or not.
async function write(number) {
  const random = randomFrom(seed + number);
  while (done < commits) {
    const list = mutations(done, random);
    try {
      const reply = await server.request('POST', '/atomic', { mutations: list });
      if (reply.status === 200 || reply.status === 404) done++;
      else if (reply.status < 500) throw new Error(`a write: ${reply.text}`);
    } catch (error) {
      if (error.message.startsWith('a write')) {
        wrong.push(error.message);
        return;
      }
      await pause(AGAIN_MS);
    }
  }
}

async function kill() {
  const random = randomFrom(seed + 1000);
  for (let n = 1; n <= KILLS; n++) {
    const at = (n * commits) / (KILLS + 1);
    while (done < at && wrong.length === 0) await pause(AGAIN_MS + random(20));
    await server.kill('SIGKILL');
    await server.start();
  }
}

// ---- The copies -----------------------------------------------------------

class Copy {
  constructor(name, drowsy) {
    Object.assign(this, { name, drowsy, entries: new Map(), id: '', pending: [],
      cuts: 0, events: 0, parts: 0, ended: false });
    this.random = randomFrom(seed + 2000 + name.length);
  }

  complain(what) {
    wrong.push(`the copy "${this.name}" at ${this.id}: ${what}`);
    this.ended = true;
  }

  async run() {
    while (!this.ended) {
      try {
        await this.connect();
      } catch {
        // the server was killed
      }
      this.pending = [];
      this.cuts++;
      await pause(AGAIN_MS);
    }
  }

  async connect() {
    const headers = this.id === '' ? {} : { 'last-event-id': this.id };
    const reply = await server.open('GET', '/watch?index=changes',
      { headers, agent: false });
    this.reply = reply;
    reply.setEncoding('utf8');
    if (reply.statusCode !== 200) {
      let text = '';
      for await (const part of reply) text += part;
      if (reply.statusCode < 500) this.complain(text);
      return;
    }
    await this.read(reply);
  }

  // Ends after a random number of bytes.
  async read(reply) {
    let left = 1 + this.random(this.random(4) === 0 ? 4000000 : 100000);
    let text = '';
    for await (const part of reply) {
      text += part;
      for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2))
        this.take(text.slice(0, end).split('\n'));
      left -= part.length;
      if (left < 0 || this.ended) return;
      if (this.drowsy && this.random(4) === 0) await pause(this.random(50));
    }
  }

  take(lines) {
    const member = (name) => lines.find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
    const [type, data, id] = [member('event'), member('data'), member('id')];
    if (type === 'error') this.complain(data);
    if (type !== 'change' && type !== 'bookmark') return;
    this.events++;
    this.pending.push(...JSON.parse(data).entries ?? []);
    if (id === undefined) this.parts++;
    else this.apply(id);
  }

  // All that came before an id counts with it.
  apply(id) {
    if (id.slice(0, STAMP) < this.id.slice(0, STAMP))
      this.complain(`the id ${id} follows it`);
    this.id = id;
    for (const { key, deleted, ...entry } of this.pending)
      if (deleted) this.entries.delete(JSON.stringify(key));
      else this.entries.set(JSON.stringify(key), entry);
    this.pending = [];
    for (let n = 0; n < PAIRS; n++) {
      const [a, b] = ['a', 'b'].map((one) =>
        this.entries.get(JSON.stringify(['d', 'pair', n, one]))?.value);
      if (a !== b) this.complain(`a commit is cut in two: ${a} and ${b}`);
    }
  }

  end() {
    this.ended = true;
    this.reply?.destroy();
  }
}

// ---- The comparison -------------------------------------------------------

const text = ({ versionstamp, value, expiresAt }) =>
  JSON.stringify([versionstamp, value, expiresAt]);

// What differs among the entries for which `holds`.
function differences(copy, source, holds) {
  const lines = [];
  for (const [key, entry] of copy.entries)
    if (holds(entry) && !source.has(key))
      lines.push(`${key} is in the copy only: ${text(entry)}`);
  for (const [key, entry] of source)
    if (holds(entry) && text(copy.entries.get(key) ?? {}) !== text(entry))
      lines.push(`${key} is ${text(entry)}, and in the copy ` +
        `${text(copy.entries.get(key) ?? {})}`);
  return lines;
}

async function source() {
  const list = await server.list(['d']);
  return new Map(list.map(({ key, ...entry }) => [JSON.stringify(key), entry]));
}

async function until(holds) {
  while (!holds() && wrong.length === 0) await pause(AGAIN_MS);
}

// First all that does not expire, which is settled once a copy has the last
// commit; then what expires must have gone from all.
async function compare(copies) {
  const last = JSON.stringify(['d', 'last']);
  await server.request('PUT', '/kv/d/last', commits);
  await until(() => copies.every((copy) => copy.entries.has(last)));
  const stays = await source();
  const lasting = ({ expiresAt }) => expiresAt === undefined;
  for (const copy of copies)
    wrong.push(...differences(copy, stays, lasting).slice(0, 3)
      .map((line) => `"${copy.name}": ${line}`));
  const deadline = Date.now() + EXPIRED_MS;
  const settled = (copy) => [...copy.entries.values()].every(lasting);
  await until(() => copies.every(settled) || Date.now() > deadline);
  const all = await source();
  for (const copy of copies)
    wrong.push(...differences(copy, all, () => true).slice(0, 3)
      .map((line) => `"${copy.name}": ${line}`));
}

async function follow() {
  const index = { name: 'changes', prefix: ['d'],
    fields: [{ versionstamp: true }] };
  if (!process.env.KX_NO_TOMBSTONES) index.tombstones = '7d';
  const reply = await server.request('POST', '/indexes', index);
  if (reply.status >= 300) throw new Error(reply.text);
  while ((await server.request('GET', '/indexes/changes')).json.state !== 'ready')
    await pause(AGAIN_MS);
  const copies = [new Copy('first', false), new Copy('drowsy', true)];
  const running = copies.map((copy) => copy.run());
  const load = Array.from({ length: WRITERS }, (_, n) => write(n));
  const kills = kill();
  await until(() => done >= commits / 2);
  copies.push(new Copy('late', false));
  running.push(copies[2].run());
  await Promise.all([...load, kills]);
  await compare(copies);
  for (const copy of copies) copy.end();
  await Promise.all(running);
  console.log(`${done} commits, ${KILLS} kills; ` + copies.map((copy) =>
    `"${copy.name}" has ${copy.entries.size} entries after ${copy.events} ` +
    `events and ${copy.cuts} cuts`).join('; '));
  if (copies.some(({ events, cuts }) => events === 0 || cuts === 0))
    wrong.push(new Error('a copy got nothing, or was not cut'));
  if (copies.every(({ parts }) => parts === 0))
    wrong.push(new Error('no commit had several events'));
}

announce(seed, program, commitsText);
server.start().then(follow).catch((error) => wrong.push(error))
  .then(() => conclude(server, 'comparison', wrong.length === 0 ? 1 : 0, wrong));

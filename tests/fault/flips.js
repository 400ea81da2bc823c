// Flips bits in the log of a server that was killed, one at a time, at random
// places. Before the last commit each start must refuse, and name the place; in
// it the server may come up without that one, for nothing in the log tells it
// from one that was never finished. A refusal must touch nothing.
// At the end the server starts on the log as it was. A second round kills the
// server when it has had time to say in the log that the last commit is there:
// then that is never missing.
//
//   node flips.js PROGRAM COUNT [SEED]      the last line: N passed, N failed
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { Server, pause } = require('./server.js');
const { randomFrom } = require('./random.js');
const { linesOf } = require('./report.js');

const COMMITS = 700;
const VALUE_MAX = 60000; // so that there are two log files
const HEADER = 12; // of a record: previous, length, sum; then its type
const MESSAGE = 47; // the type of a witness
const PATIENCE_MS = 60000;
const LOG = /^log\.\d+$/;
const REFUSED = /(log\.\d+) cannot be read from byte (\d+) on/g;
const [program, countText, seedText] = process.argv.slice(2);
const seed = Number(seedText ?? process.env.KX_TEST_SEED ?? Date.now() % 1e9);
const random = randomFrom(seed);
const figures = { refused: 0, harmless: 0, last: 0 };

function logsOf(data) {
  return fs.readdirSync(data).filter((name) => LOG.test(name)).sort();
}

// The records of a log file: [place, length, type].
function records(bytes) {
  const list = [];
  for (let at = 0; at + HEADER < bytes.length;) {
    const length = bytes.readUInt32LE(at + 4);
    if (length <= HEADER) break;
    list.push([at, length, bytes.readUInt32LE(at + HEADER)]);
    at += length;
  }
  return list;
}

function digest(data) {
  const hash = crypto.createHash('sha256');
  for (const name of fs.readdirSync(data).sort())
    hash.update(name).update(fs.readFileSync(path.join(data, name)));
  return hash.digest('hex');
}

function flip(file, place, bit) {
  const fd = fs.openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  fs.readSync(fd, byte, 0, 1, place);
  byte[0] ^= 1 << bit;
  fs.writeSync(fd, byte, 0, 1, place);
  fs.closeSync(fd);
}

class Round {
  constructor(name, settled) {
    this.name = name;
    this.settled = settled;
    this.server = new Server(program, ['--checkpoint-interval', '1h',
      '--checkpoint-log', '1GiB']);
    this.data = path.join(this.server.directory, 'data');
    this.good = path.join(this.server.directory, 'good');
    this.owed = [];
  }

  async put(n) {
    const value = { n, text: 'x'.repeat(random(VALUE_MAX)) };
    const reply = await this.server.request('PUT', `/kv/rows/${n}`, value);
    if (reply.status !== 201) throw new Error(`status ${reply.status}`);
    this.owed.push(value.text.length);
  }

  // Witnesses in the last log file. Compaction, too, writes to it when the
  // server is idle, but no witness.
  witnesses() {
    const file = path.join(this.data, logsOf(this.data).at(-1));
    return records(fs.readFileSync(file))
      .filter(([, , type]) => type === MESSAGE).length;
  }

  async prepare() {
    await this.server.start();
    for (let n = 0; n < COMMITS; n++) await this.put(n);
    const before = this.witnesses();
    const deadline = Date.now() + PATIENCE_MS;
    while (this.settled && this.witnesses() === before &&
        Date.now() < deadline)
      await pause(20);
    await this.server.kill('SIGKILL');
    fs.cpSync(this.data, this.good, { recursive: true });
    this.before = digest(this.data);
    this.files = logsOf(this.data).map((name) => ({ name,
      records: records(fs.readFileSync(path.join(this.data, name))) }));
    const last = this.files.at(-1);
    const [at, length] =
      last.records.filter(([, , type]) => type === MESSAGE).at(-2);
    this.proven = { name: last.name, place: at + length };
  }

  // Is there a witness that the log continued after this place?
  isProven({ name, place }) {
    return name !== this.proven.name || place < this.proven.place;
  }

  // Anywhere in the log; or in the header of a record, among the last ones as
  // often as among all.
  choose() {
    const where = random(4);
    const { name, records: list } = where < 3 ?
      this.files[random(this.files.length)] : this.files.at(-1);
    const among = where < 2 ? list.length : Math.min(list.length, 20);
    const [at, length] = list[list.length - 1 - random(among)];
    return { name, place: at + random(where === 1 ? HEADER : length),
      bit: random(8) };
  }

  // What is wrong with a server that has come up.
  async missing(where) {
    const rows = await this.server.list(['rows']);
    const there = new Map(rows.map(({ value }) => [value.n, value.text.length]));
    const gone = this.owed.map((size, n) => [n, size])
      .filter(([n, size]) => there.get(n) !== size).map(([n]) => n);
    await this.server.kill('SIGKILL');
    const allowed = !this.settled && gone.length === 1 &&
      gone[0] === COMMITS - 1;
    figures[allowed ? 'last' : 'harmless']++;
    return gone.length === 0 || allowed ? [] :
      [`${gone.length} commits are missing after a flip at ${where}: ` +
        `${gone.slice(0, 5)}`];
  }

  refused({ name, place }, said) {
    figures.refused++;
    const wrong = [];
    const [, file, from] = [...said.matchAll(REFUSED)].at(-1) ?? [];
    if (this.server.child.exitCode !== 1)
      wrong.push(`exit code ${this.server.child.exitCode}`);
    if (file !== name || !(Number(from) <= place))
      wrong.push(`it names ${file} ${from}, not ${name} ${place}`);
    if (!said.includes('kindex restore BACKUP --data NEW'))
      wrong.push('it does not say what to do');
    return wrong;
  }

  async one() {
    const { name, place, bit } = this.choose();
    const file = path.join(this.data, name);
    flip(file, place, bit);
    fs.truncateSync(this.server.log, 0);
    const up = await this.server.start().then(() => true, () => false);
    const wrong = up ? await this.missing(`${name} ${place}`) :
      this.refused({ name, place }, this.server.lastWords());
    if (up) {
      if (this.isProven({ name, place }))
        wrong.push(`a flip at ${name} ${place} was not noticed`);
      fs.rmSync(this.data, { recursive: true });
      fs.cpSync(this.good, this.data, { recursive: true });
      return wrong;
    }
    flip(file, place, bit);
    if (wrong.length === 0 && digest(this.data) !== this.before)
      wrong.push('the refusal has changed something');
    return wrong;
  }

  // Resolves to what is wrong.
  async run(count, passed) {
    await this.prepare();
    const wrong =
      this.files.length > 1 ? [] : [new Error('there is one log file only')];
    for (let n = 0; n < count; n++) {
      const found = await this.one();
      wrong.push(...found);
      passed.count += Number(found.length === 0);
    }
    if (wrong.length === 0) {
      await this.server.start();
      wrong.push(...await this.missing('no place'));
    }
    this.server.destroy();
    return wrong.map((one) => one instanceof Error ? one : `${this.name}: ${one}`);
  }
}

async function main() {
  const passed = { count: 0 };
  const count = Math.ceil(Number(countText) / 2);
  console.log(`seed ${seed}; again: node tests/fault/flips.js ${program} ` +
    `${countText} ${seed}`);
  let wrong = [];
  for (const [name, settled] of [['killed at once', false],
    ['killed when it was idle', true]])
    if (wrong.length === 0)
      wrong = await new Round(name, settled).run(count, passed)
        .catch((error) => [error]);
  if (wrong.length === 0 && figures.refused === 0) wrong = [new Error('none was refused')];
  console.log(`${figures.refused} refused, ${figures.harmless} starts with ` +
    `everything, ${figures.last} without the last commit`);
  if (wrong.length > 0) console.log(linesOf(wrong).join('\n'));
  console.log(`${passed.count} passed, ${Number(wrong.length > 0)} failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

// Streams a list of a million entries to a reader that stands still, then reads a
// little for each durable write that another connection gets acknowledged, then
// reads as fast as it can. The stream must be complete, the memory flat, and
// no other client may wait for the slow reader: every write is answered, and a second
// stream runs from beginning to end while the first one stands still. Nothing
// here depends on how long anything takes.
//
//   node stream.js PROGRAM                  the last line: N passed, N failed
'use strict';
const http = require('node:http');
const { Server } = require('./server.js');

const ENTRIES = 1000000;
const COMMIT = 1000;
const LOADERS = 4;
const SLOW_WRITES = 300;  // of another connection, each for a little reading
const MIB = 1024 * 1024;
const CACHE = 32;         // MiB
const GROWTH_MAX = 32;    // MiB
const LIST = `/list?prefix=${encodeURIComponent('["big"]')}`;

const server = new Server(process.argv[2], ['--cache', `${CACHE}MiB`]);
const results = [];

function is(phrase, got, expected) {
  results.push(got === expected);
  if (got !== expected) console.log(`${phrase}: ${got}, not ${expected}`);
}

async function load() {
  let next = 0;
  async function loader() {
    while (next < ENTRIES) {
      const from = next;
      next += COMMIT;
      const mutations = Array.from({ length: COMMIT }, (_, i) =>
        ({ type: 'set', key: ['big', from + i], value: { n: from + i } }));
      const { status, text } =
        await server.request('POST', '/atomic', { mutations });
      if (status !== 200) throw new Error(`loading: ${status} ${text}`);
    }
  }
  await Promise.all(Array.from({ length: LOADERS }, loader));
}

// Durable writes, one after the other, on a connection of their own.
class Writer {
  constructor() {
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    this.answered = 0;
    this.statuses = new Set();
    this.peak = 0;
    this.isStopped = false;
    this.done = this.run();
  }

  async run() {
    while (!this.isStopped) {
      this.write = this.put();
      await this.write;
      this.peak = Math.max(this.peak, server.rss());
    }
    this.agent.destroy();
  }

  async put() {
    const reply = await server.open('PUT', `/kv/small/${this.answered}`,
      { text: '{"from":"writer"}', agent: this.agent });
    for await (const chunk of reply) void chunk;
    this.statuses.add(reply.statusCode);
    this.answered++;
  }

  stop() {
    this.isStopped = true;
    return this.done;
  }
}

// One stream. Its lines are looked at as they are read.
class Stream {
  async open() {
    this.reply = await server.open('GET', LIST,
      { headers: { accept: 'application/x-ndjson' }, agent: false });
    this.chunks = this.reply[Symbol.asyncIterator]();
    this.rest = '';
    this.count = 0;
    this.wrong = null;
    this.last = null;
  }

  // False at the end.
  async read() {
    const { value, done } = await this.chunks.next();
    if (done) return false;
    const lines = (this.rest + value.toString('latin1')).split('\n');
    this.rest = lines.pop();
    lines.forEach((line) => this.look(line));
    return true;
  }

  look(line) {
    const { key, value } = this.last = JSON.parse(line);
    if (key === undefined) return;
    if (key[0] !== 'big' || key[1] !== this.count || value.n !== this.count)
      this.wrong ??= `entry ${this.count} is ${line}`;
    this.count++;
  }

  expectWhole(name) {
    is(`${name}: status`, this.reply.statusCode, 200);
    is(`${name}: first wrong entry`, this.wrong, null);
    is(`${name}: entries`, this.count, ENTRIES);
    is(`${name}: last line`, JSON.stringify(this.last),
      `{"end":true,"count":${ENTRIES}}`);
    is(`${name}: rest`, this.rest, '');
  }
}

async function readSlowly(stream, writer) {
  const end = writer.answered + SLOW_WRITES;
  while (writer.answered < end && await stream.read()) await writer.write;
}

async function run() {
  await server.start();
  await load();
  const before = server.rss();
  const writer = new Writer();
  const first = new Stream();
  const second = new Stream();
  await first.open();
  await second.open();
  while (await second.read());
  const beside = writer.answered;
  second.expectWhole('second stream');
  await readSlowly(first, writer);
  is('the slow reader was slow', first.count < ENTRIES, true);
  while (await first.read());
  await writer.stop();
  first.expectWhole('first stream');
  expectOthers(writer, before, beside);
}

function expectOthers(writer, before, beside) {
  const growth = (writer.peak - before) / MIB;
  is('writes answered while a stream stood still', beside > 0, true);
  is('statuses of all writes', [...writer.statuses].join(), '201');
  is('memory that a stream takes is small', growth < GROWTH_MAX, true);
  console.log(`memory: ${(before / MIB).toFixed(1)} MiB before, at most ` +
    `${growth.toFixed(1)} MiB more while streaming, with ${CACHE} MiB of ` +
    `cache; ${writer.answered} writes answered, ${beside} of them while a ` +
    'stream stood still');
}

async function main() {
  try {
    await run();
    is('exit code after SIGTERM', await server.kill('SIGTERM'), 0);
  } catch (error) {
    is('the test ran to its end', error.stack, '');
  }
  const failed = results.filter((isRight) => !isRight).length;
  if (failed > 0)
    console.log(`the server's last lines:\n${server.lastWords()}`);
  console.log(`${results.length - failed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}

main();

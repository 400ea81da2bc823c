// Kills the server with SIGKILL at random moments under eight clients whose
// every write has an Idempotency-Key and is repeated until it is answered, some
// of them once more after that. So every client always knows what became of its
// writes: counters, new entries and refusals are exact after each kill, and a
// repetition gets the first answer.
//
//   node retries.js PROGRAM CYCLES [SEED]    the last line: N passed, N failed
//
// With KX_POWER=whole or torn the power is cut at each kill: see kill.js.
'use strict';
const { Server, pause } = require('./server.js');
const { Power } = require('./power.js');
const { randomFrom } = require('./random.js');
const { Finding, announce, conclude, cycles, seedOf } = require('./report.js');

const CLIENTS = 8;
const PLACES = 5; // of each client, to create and to delete
const [program, cyclesText, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const SETTINGS = ['--cache', '1MiB', '--checkpoint-log', '1MiB',
  '--checkpoint-interval', '1s'];

const random = randomFrom(seed);
const mode = process.env.KX_POWER;
const power = mode && new Power(process.env.KX_POWER_LIBRARY,
  { torn: mode === 'torn', random: randomFrom(seed + 99) });
const server = new Server(program, SETTINGS, power);
const figures = { answered: 0, broken: 0, replayed: 0, again: 0, refused: 0 };

// Writes one after the other; knows exactly what they must have done.
class Client {
  constructor(number) {
    this.number = number;
    this.random = randomFrom(seed + number + 1);
    this.sent = 0;
    this.counted = 0;
    this.events = 0;
    this.places = new Set();
    this.pending = null;
  }

  // A request, the status that it must get, and what changes here with it.
  next() {
    const kind = this.random(4);
    const n = this.random(PLACES);
    if (kind === 0) return this.event();
    if (kind === 1) return this.create(n);
    return kind === 2 ? this.remove(n) : this.count();
  }

  count() {
    const counted = this.counted + 1;
    const mutations = [
      { type: 'sum', key: ['total'], value: 1 },
      { type: 'sum', key: ['counted', this.number], value: 1, return: 'new' }];
    return { method: 'POST', target: '/atomic', body: { mutations },
      status: 200, holds: (json) => json.results[1].value === counted,
      done: () => { this.counted = counted; } };
  }

  event() {
    return { method: 'POST', target: `/kv/events/${this.number}`,
      body: this.events, status: 201, holds: (json) => json.ok,
      done: () => { this.events++; } };
  }

  create(n) {
    const key = ['places', this.number, n];
    const taken = this.places.has(n);
    return { method: 'POST', target: '/atomic',
      body: { checks: [{ key, versionstamp: null }],
        mutations: [{ type: 'set', key, value: this.sent }] },
      status: taken ? 409 : 200,
      holds: (json) => taken ? json.code === 'check-failed' : json.ok,
      done: () => {
        this.places.add(n);
        figures.refused += taken ? 1 : 0;
      } };
  }

  remove(n) {
    return { method: 'DELETE', target: `/kv/places/=${this.number}/=${n}`,
      status: 204, holds: () => true,
      done: () => { this.places.delete(n); } };
  }

  send({ method, target, body, key }) {
    return server.request(method, target, body,
      { 'idempotency-key': `"${key}"` });
  }

  // Compares an answer with what it must be; the first one is kept.
  judge(write, reply) {
    const complain = (what) => {
      throw new Finding(`client ${this.number}: ${write.method} ` +
        `${write.target} ${JSON.stringify(write.body)}, sent ${write.times} ` +
        `times: ${what}: ${reply.status} ${reply.text}`);
    };
    const replayed = reply.headers['idempotency-replayed'] === 'true';
    figures.replayed += replayed ? 1 : 0;
    if (write.times === 1 && replayed) complain('replayed at once');
    if (reply.status !== write.status || !write.holds(reply.json))
      complain('not the answer');
    if (write.answer !== undefined && (write.answer !== reply.text || !replayed))
      complain(`the answer was ${write.answer}`);
    write.answer = reply.text;
  }

  // Sends the pending write, a new one if there is none; false when the
  // connection broke.
  async step() {
    this.pending ??= { ...this.next(), times: 0,
      key: `${this.number}-${this.sent++}` };
    const write = this.pending;
    write.times++;
    let reply;
    try {
      reply = await this.send(write);
    } catch {
      figures.broken++;
      return false;
    }
    if (reply.status === 503) return true; // not carried out: again
    const first = write.answer === undefined;
    this.judge(write, reply);
    if (first) {
      figures.answered++;
      write.done();
    }
    if (this.random(4) === 0) figures.again++;
    else this.pending = null;
    return true;
  }

  async run(until) {
    while (!until.stopped && await this.step());
  }

  async settle() {
    while (this.pending !== null && await this.step());
    return this.pending === null ? [] :
      [`client ${this.number}: the connection broke without a kill`];
  }
}

const clients = Array.from({ length: CLIENTS }, (_, n) => new Client(n));

async function crash() {
  const until = { stopped: false };
  const all = Promise.all(clients.map((client) => client.run(until)));
  await Promise.race([pause(20 + random(250)), all]);
  const dead = server.kill('SIGKILL');
  until.stopped = true;
  await dead;
  await all;
}

async function value(key) {
  const reply = await server.request('GET',
    '/kv?key=' + encodeURIComponent(JSON.stringify(key)));
  return reply.status === 404 ? 0 : reply.json;
}

// Returns what is wrong once every client knows what became of its writes.
async function check() {
  const wrong = (await Promise.all(clients.map((one) => one.settle()))).flat();
  const expect = (what, got, wanted) => {
    if (JSON.stringify(got) !== JSON.stringify(wanted))
      wrong.push(`${what} is ${JSON.stringify(got)}, ` +
        `not ${JSON.stringify(wanted)}`);
  };
  const sum = clients.reduce((total, { counted }) => total + counted, 0);
  expect('the total', await value(['total']), sum);
  for (const { number, counted, events, places } of clients) {
    expect(`the count of ${number}`, await value(['counted', number]), counted);
    expect(`the number of events of ${number}`,
      (await server.list(['events', String(number)])).length, events);
    expect(`what is at the places of ${number}`,
      (await server.list(['places', number])).map(({ key }) => key[2]),
      [...places].sort((a, b) => a - b));
  }
  return wrong;
}

async function cycle() {
  await crash();
  await server.start();
  return check();
}

async function main() {
  const passed = { cycles: 0 };
  announce(seed, program, cyclesText);
  let wrong = await server.start()
    .then(() => cycles(server, Number(cyclesText), passed, cycle))
    .catch((error) => [error]);
  if (wrong.length === 0 && figures.replayed === 0)
    wrong = [new Error('nothing was replayed')];
  console.log(`${figures.answered} writes answered, ${figures.refused} of ` +
    `them refused; ${figures.broken} connections broke, ${figures.again} ` +
    `writes came again after their answer, ${figures.replayed} answers were ` +
    'replayed');
  if (power) console.log(`${power.lost} unsynced files or blocks lost`);
  conclude(server, 'cycle', passed.cycles, wrong);
}

main();

// Sixteen clients on twenty keys, with kills: what they sent and saw must be a
// linearizable history (history_check.js) of single reads, reads of many keys,
// lists, index queries and failed checks; sums of accounts and a ring that
// commits permute stay whole in every list; commits on conditions of values and
// ranges let neither a phantom nor a lost update pass.
//
//   node history.js PROGRAM OPERATIONS [SEED]   the last line: N passed, N failed
//
// With KX_POWER_LIBRARY the power is cut at each kill (power.js).
'use strict';
const { check } = require('./history_check.js');
const { HistoryClient, INDEX, KEYS, settle } = require('./history_client.js');
const { Journal, Rooms, Stock } = require('./history_conditions.js');
const { Bank, Ring } = require('./history_sums.js');
const { Power } = require('./power.js');
const { randomFrom } = require('./random.js');
const { announce, linesOf, seedOf } = require('./report.js');
const { Server, pause } = require('./server.js');

const CLIENTS = 16;
const PART = Number(process.env.KX_PART ?? 10000); // between two kills

const [program, operationsText, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const library = process.env.KX_POWER_LIBRARY;
const power = library && new Power(library, { random: randomFrom(seed + 99) });
const server = new Server(program, ['--cache', '1MiB'], power);
const history = { writes: [], views: [], lastId: 0 };
const broken = [];
let left = 0;

class OneServerClient extends HistoryClient {
  constructor(n) {
    super(history, randomFrom(seed + n + 1),
      (method, target, body) => server.request(method, target, body));
  }

  async run() {
    while (left > 0) {
      left--;
      await this.step().catch((error) => {
        if (server.up) broken.push(error);
      });
      if (!server.up) return;
    }
  }
}

async function start() {
  await server.start();
  server.up = true;
}

// Kills the server while the clients work.
async function part(clients, sums) {
  left = PART;
  const work = Promise.all([...clients, ...sums].map((one) => one.run()));
  while (left > PART / 10) await pause(1);
  server.up = false;
  left = 0;
  await server.kill('SIGKILL');
  await work;
  await start();
}

async function main() {
  announce(seed, program, operationsText);
  await start();
  await server.request('POST', '/indexes', INDEX);
  const clients = Array.from({ length: CLIENTS }, (_, n) =>
    new OneServerClient(n));
  const sums = [new Bank(server, randomFrom(seed + 50)),
    new Ring(server, randomFrom(seed + 51)),
    ...[Rooms, Journal, Stock].map((Kind, n) =>
      new Kind(server, randomFrom(seed + 52 + n)))];
  for (const one of sums) await one.prepare();
  const going = () => left > 0 && server.up;
  sums.forEach((one) => { one.going = going; });
  const parts = Math.max(1, Math.round(Number(operationsText) / PART));
  for (let n = 0; n < parts; n++) await part(clients, sums);
  await settle(history, (...given) => server.request(...given));
  for (const one of sums) await one.settle?.();
  const wrong = [...broken, ...check(history, KEYS),
    ...sums.flatMap((one) => one.wrong)];
  console.log(`${history.writes.length} commits, ${history.views.length} ` +
    `views, ${parts} kills, ` + sums.map((one) => one.says()).join(', '));
  linesOf(wrong).slice(0, 5).forEach((line) => console.log(line));
  await server.kill('SIGTERM');
  console.log(`${wrong.length === 0 ? parts : 0} passed, ` +
    `${wrong.length > 0 ? 1 : 0} failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

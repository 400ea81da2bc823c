// Kills the server with SIGKILL at random moments under eight clients that set,
// delete and commit atomically and one that declares and drops indexes; some
// times again while it starts. After each restart every acknowledged commit must
// be there, a commit that was cut off whole or not at all, every index equal to
// the data in both directions, and no versionstamp may come twice. Ends at the
// first cycle where that is not so.
//
//   node kill.js PROGRAM CYCLES [SEED]      the last line: N passed, N failed
//
// With KX_POWER=whole or torn the power is cut at each kill, by the library in
// KX_POWER_LIBRARY: see power.js. KX_POWER=forgetful must lose commits.
'use strict';
const { Client } = require('./client.js');
const { Server, pause } = require('./server.js');
const { DECLARATIONS, Declarer, indexes, verify } = require('./indexes.js');
const { Power } = require('./power.js');
const { randomFrom } = require('./random.js');
const { announce, conclude, cycles, seedOf } = require('./report.js');

const CLIENTS = 8;
// Entries that no client changes, so that builds and drops take several jobs.
const OTHERS = 4000;
const [program, cyclesText, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
// Little cache and log, so that pages and checkpoints are written all the time.
const SETTINGS = ['--cache', '1MiB', '--checkpoint-log', '1MiB',
  '--checkpoint-interval', '1s'];

const random = randomFrom(seed);
const mode = process.env.KX_POWER;
const power = mode && new Power(process.env.KX_POWER_LIBRARY,
  { torn: mode === 'torn', forgetful: mode === 'forgetful',
    random: randomFrom(seed + 99) });
const server = new Server(program, SETTINGS, power);
const clients = Array.from({ length: CLIENTS },
  (_, n) => new Client(n, randomFrom(seed + n + 1)));
const declarer = new Declarer(randomFrom(seed + CLIENTS + 1));
const figures = { slowest: 0, building: 0, twice: 0 };

async function prepare() {
  await server.start();
  await server.load(OTHERS, (n) => ({ key: ['users', `other-${n}`],
    value: { color: 'grey', n } }));
  await declarer.change(server, DECLARATIONS[0], true);
}

async function restart() {
  if (random(3) === 0) {
    figures.twice++;
    server.launch();
    await pause(random(80));
    await server.kill('SIGKILL');
  }
  const before = Date.now();
  await server.start();
  figures.slowest = Math.max(figures.slowest, Date.now() - before);
}

// Works for a random while, then kills the server.
async function crash() {
  const until = { stopped: false };
  const work = [...clients, declarer].map((one) => one.run(server, until));
  const all = Promise.all(work);
  await Promise.race([pause(20 + random(250)), all]);
  until.stopped = true;
  await server.kill('SIGKILL');
  await all;
}

// Returns what is wrong.
async function check() {
  const there = await indexes(server);
  figures.building += there.some(({ state }) => state === 'building') ? 1 : 0;
  const users = new Map((await server.list(['users']))
    .map(({ key, value }) => [key[1], value]));
  const others = [...users.keys()].filter((user) => user.startsWith('other-'));
  const wrong = clients.flatMap((client) => client.settle(users));
  wrong.push(...declarer.settle(there.map(({ name }) => name)));
  if (others.length !== OTHERS)
    wrong.push(`${others.length} of ${OTHERS} untouched entries`);
  wrong.push(...await verify(server, users));
  const highest = clients.map(({ stamp }) => stamp).sort().at(-1);
  const reply = await server.request('PUT', '/kv/probe', 1);
  if (!(reply.json?.versionstamp > highest))
    wrong.push(`versionstamp ${reply.json?.versionstamp} after ${highest}`);
  return wrong;
}

async function cycle() {
  await crash();
  await restart();
  return check();
}

async function main() {
  const passed = { cycles: 0 };
  announce(seed, program, cyclesText);
  const wrong = await prepare().then(() => cycles(server, Number(cyclesText), passed, cycle))
    .catch((error) => [error]);
  const sum = (name) => clients.reduce((total, one) => total + one[name], 0);
  console.log(`${sum('operations')} operations, ${sum('refused')} refused as ` +
    `duplicates, ${declarer.changes} index changes, ${figures.building} ` +
    `restarts into a build, ${figures.twice} killed again while starting, ` +
    `slowest restart ${figures.slowest} ms`);
  if (power) console.log(`${power.lost} unsynced files or blocks lost`);
  conclude(server, 'cycle', passed.cycles, wrong);
}

main();

// A slow disk and a slow network: each sync of the database takes 50 ms (slow_disk.c,
// preloaded by run.sh), each byte to it and from it 50 ms more, and its checkpointer and
// its walwriter are stopped (SIGSTOP) most of the time, while three nodes serve writes and
// strong reads. That costs time only: the node that is active at first is so in the end,
// each request is answered as without load, and the round trips of a batch to the database
// stay few.
//
//   node nodes_slow.js PROGRAM SECONDS ENGINE [SEED]     the last line: N passed, N failed
//
// ENGINE has host=DIRECTORY, with the socket. The database is empty.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { FleetNode, epochOf, soon } = require('./nodes_fleet.js');
const { pause } = require('./server.js');
const { randomFrom } = require('./random.js');
const { announce, linesOf, seedOf } = require('./report.js');

const DELAY_MS = 50;
const CLIENTS = 8;
const READERS = 2;
const TRIPS_MAX = 2;    // what the plans of a batch read, and the batch
const TRIPS_MORE = 10;  // in all, for what is read once
const BATCHES_MIN = 20; // less proves nothing
const STOPPED_MS = 3000;
const RUNNING_MS = 500;
const SOCKET = '.s.PGSQL.5432';
const STOPPED = ['checkpointer', 'walwriter'];
const [program, secondsText, engine, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const random = randomFrom(seed);
const directory = /host=([^&]+)/.exec(engine)[1];

const wrong = [];
const until = { stopped: false };
const figures = { acked: 0, reads: 0, times: [] };

// ---- What is slow --------------------------------------------------------------------

// One connection: how many batches it sent, and since the first of them how often it sent
// something after an answer.
class Line {
  constructor(client) {
    Object.assign(this, { trips: 0, batches: 0, answered: true });
    const server = net.connect(path.join(directory, SOCKET));
    this.carry(client, server, (chunk) => {
      if (chunk.includes('COMMIT\0')) this.batches++;
      if (this.answered && this.batches > 0) this.trips++;
      this.answered = false;
    });
    this.carry(server, client, () => { this.answered = true; });
  }

  carry(from, to, note) {
    const late = (body) => setTimeout(() => to.destroyed || body(), DELAY_MS);
    from.on('data', (chunk) => {
      if (from instanceof net.Socket) note(chunk);
      late(() => to.write(chunk));
    });
    from.on('end', () => late(() => to.end()));
    from.on('error', () => to.destroy());
    from.on('close', () => late(() => to.destroy()));
  }
}

class Proxy {
  constructor() {
    this.directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-slow-'));
    this.lines = [];
    this.listener = net.createServer((client) => this.lines.push(new Line(client)))
      .listen(path.join(this.directory, SOCKET));
    process.on('exit', () => fs.rmSync(this.directory, { recursive: true }));
  }

  // The one by which batches are applied.
  get writer() {
    return this.lines.reduce((most, line) => line.batches > most.batches ? line : most);
  }
}

// The processes of the database with these names.
function processes() {
  const first = fs.readFileSync(path.join(directory, 'data/postmaster.pid'), 'utf8');
  return execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(parseInt(first))],
    { encoding: 'utf8' }).split('\n')
    .filter((line) => STOPPED.some((name) => line.includes(name)))
    .map((line) => parseInt(line));
}

function signal(pids, name) {
  for (const pid of pids) process.kill(pid, name);
}

// Ends with all of them running.
async function stopOn(seconds) {
  const pids = processes();
  if (pids.length !== STOPPED.length) throw new Error(`found ${pids} of ${STOPPED}`);
  process.on('exit', () => signal(pids, 'SIGCONT'));
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end && !until.stopped) {
    signal(pids, 'SIGSTOP');
    await pause(Math.min(STOPPED_MS, end - performance.now()));
    signal(pids, 'SIGCONT');
    await pause(RUNNING_MS);
    judge();
  }
}

// ---- The load ------------------------------------------------------------------------

function judge() {
  const epoch = epochOf(engine);
  if (epoch === 1 || wrong.some((one) => `${one}`.startsWith('false'))) return;
  wrong.unshift(`false take-overs: ${epoch - 1}`);
  until.stopped = true;
}

async function good(nodes, method, target, body) {
  const node = nodes[random(nodes.length)];
  const reply = await node.ask(method, target, body).catch((error) => ({ text: error.code }));
  if (reply.status !== 200 && reply.status !== 404 && !until.stopped) {
    wrong.push(`${method} ${target} by ${node.name}: ${reply.status} ${reply.text}`);
    until.stopped = true;
  }
  return reply;
}

async function write(nodes, client) {
  while (!until.stopped) {
    const begun = performance.now();
    const mutations = [{ type: 'set', key: ['slow', client.number, client.acked], value: 1 },
      { type: 'sum', key: ['sums', client.number], value: 1 }];
    if ((await good(nodes, 'POST', '/atomic', { mutations })).status !== 200) return;
    client.acked++;
    figures.acked++;
    figures.times.push(performance.now() - begun);
  }
}

async function read(nodes, clients) {
  while (!until.stopped) {
    const client = clients[random(clients.length)];
    const least = client.acked;
    const reply = await good(nodes, 'GET', `/kv/sums/=${client.number}`);
    const sum = reply.status === 200 ? reply.json : 0;
    if (sum < least && !until.stopped) wrong.push(`a read shows ${sum} of ${least}`);
    figures.reads++;
  }
}

function percentile(times, percent) {
  const sorted = [...times].sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1,
    Math.floor(sorted.length * percent / 100))] ?? 0);
}

async function run(nodes, proxy) {
  const clients = Array.from({ length: CLIENTS }, (_, number) => ({ number, acked: 0 }));
  nodes[0].launch();
  await soon('the tables are there', () => nodes[0].isActive());
  for (const node of nodes.slice(1)) node.launch();
  await soon('all nodes are ready, or two were active', async () => epochOf(engine) > 1 ||
    (await Promise.all(nodes.map((node) => node.ask('GET', '/readyz').catch(() => null))))
      .every((reply) => reply?.status === 200));
  judge();
  const working = [...clients.map((client) => write(nodes, client)),
    ...Array.from({ length: READERS }, () => read(nodes, clients))];
  await stopOn(Number(secondsText));
  judge();
  until.stopped = true;
  await Promise.all(working);
  const { trips, batches } = proxy.writer;
  console.log(`${batches} batches in ${trips} round trips`);
  if (wrong.length > 0) return;
  if (batches < BATCHES_MIN) wrong.push(new Error(`only ${batches} batches`));
  if (trips > TRIPS_MAX * batches + TRIPS_MORE)
    wrong.push(`${trips} round trips for ${batches} batches`);
  for (const { number, acked } of clients) {
    const { json } = await nodes[0].ask('GET', `/kv/sums/=${number}`);
    if (json !== acked) wrong.push(`client ${number} has ${json} of ${acked}`);
  }
}

async function main() {
  announce(seed, program, secondsText, engine);
  const proxy = new Proxy();
  const nodes = [];
  for (const name of ['one', 'two', 'three'])
    nodes.push(await FleetNode.make(program, name,
      engine.replace(directory, proxy.directory), '--forward', 'proxy'));
  await run(nodes, proxy).catch((error) => wrong.push(error));
  console.log(`${figures.acked} commits, ms: median ${percentile(figures.times, 50)}, ` +
    `p99 ${percentile(figures.times, 99)}; ${figures.reads} strong reads`);
  if (wrong.length > 0)
    console.log([...linesOf(wrong).slice(0, 10), ...nodes.map((node) => node.shownLog())].join('\n'));
  console.log(wrong.length > 0 ? '0 passed, 1 failed' : '1 passed, 0 failed');
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

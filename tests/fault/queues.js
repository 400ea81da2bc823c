// Sixteen workers claim the jobs of a queue and acknowledge them in the commits of their
// results, while workers are killed at random moments, and the server with SIGKILL. Each
// job has one result or, if its work always fails, is dead; no worker gets a job before the
// lease of another worker has ended.
//
//   node queues.js PROGRAM JOBS [SEED]    the last line: N passed, N failed
'use strict';
const { Server, pause } = require('./server.js');
const { randomFrom } = require('./random.js');
const { Finding, announce, conclude, seedOf } = require('./report.js');

const WORKERS = 16;
const BATCH = 10;
const LEASE_MS = 2000;
const RETRIES = ['1ms', '20ms'];
const POISON = 50; // the work of each 50th job fails
const WORKER_DIES = 25; // one step of 25
const EXTENDS = 8; // one step of 8
const [program, jobsText, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const random = randomFrom(seed);
const jobs = Number(jobsText);
const server = new Server(program, ['--cache', '8MiB', '--checkpoint-log', '4MiB']);
const figures = { claimed: 0, again: 0, stale: 0, died: 0, broken: 0, kills: 0 };
const held = new Map(); // job -> { leaseEnd, attempts } of its last claim that was seen
const isPoison = (n) => n % POISON === POISON - 1;

// By the server's clock alone: a lease begins when the claim is planned.
function take({ key: [, n], leaseEndsAt, leaseMs, attempts }) {
  const before = held.get(n);
  const begun = leaseEndsAt - leaseMs;
  if (before && begun < before.leaseEnd)
    throw new Finding(`job ${n} was claimed ${before.leaseEnd - begun} ms before ` +
      'the lease of its holder ended');
  if (before && attempts <= before.attempts)
    throw new Finding(`attempt ${attempts} of job ${n} came after ${before.attempts}`);
  figures.claimed++;
  if (before) figures.again++;
  held.set(n, { leaseEnd: leaseEndsAt, attempts });
}

// The job may be claimed again from now on.
function giveUp(batch) {
  for (const { key: [, n] } of batch) held.get(n).leaseEnd = 0;
}

async function send(target, body) {
  const reply = await server.request('POST', target, body);
  if (reply.status !== 200 && reply.status !== 409 && reply.status !== 503)
    throw new Finding(`POST ${target}: ${reply.status} ${reply.text}`);
  if (reply.status === 409 && reply.json.code !== 'receipt-stale')
    throw new Finding(`POST ${target}: ${reply.text}`);
  figures.stale += reply.status === 409 ? 1 : 0;
  return reply;
}

async function finish(batch) {
  const good = batch.filter(({ key }) => !isPoison(key[1]));
  const bad = batch.filter(({ key }) => isPoison(key[1]));
  const receipts = (list) => list.map(({ receipt }) => receipt);
  if (good.length > 0)
    await send('/atomic', { ack: receipts(good), mutations: good.map(({ key }) =>
      ({ type: 'sum', key: ['results', key[1]], value: 1 })) });
  giveUp(bad);
  if (bad.length > 0)
    await send('/queues/jobs_due/fail', { receipts: receipts(bad), error: 'poison' });
}

async function step() {
  const reply = await send(`/queues/jobs_due/claim?limit=${BATCH}&wait=1`);
  if (reply.status !== 200) return;
  const batch = reply.json.jobs;
  batch.forEach(take);
  if (random(WORKER_DIES) === 0) {
    figures.died++; // what it holds is due again when the leases end
    return;
  }
  if (batch.length > 0 && random(EXTENDS) === 0)
    await send('/queues/jobs_due/extend', { receipts: batch.map(({ receipt }) => receipt) });
  await finish(batch);
}

async function work(until) {
  while (!until.done) {
    try {
      await step();
    } catch (error) {
      if (error instanceof Finding) throw error;
      figures.broken++;
      await until.up;
    }
  }
}

async function left() {
  const { json } = await server.request('GET', '/queues/jobs_due');
  return json.due + json.leased + json.waiting + json.dead;
}

// Kills the server until no job is left.
async function interrupt(until) {
  for (;;) {
    await pause(300 + random(1500));
    if (await left() === 0) break;
    let up;
    until.up = new Promise((resolve) => { up = resolve; });
    await server.kill('SIGKILL');
    figures.kills++;
    await server.start();
    up();
  }
  until.done = true;
}

// Returns what is wrong in the end.
async function check() {
  const wrong = [];
  const results = new Map();
  for (const { key, value } of await server.list(['results'])) results.set(key[1], value);
  const dead = new Map();
  for (const { key } of await server.list(['dead'])) {
    if (dead.has(key[2])) wrong.push(`job ${key[2]} is dead twice`);
    dead.set(key[2], key);
  }
  for (let n = 0; n < jobs; n++) {
    const one = isPoison(n) ? undefined : 1;
    if (results.get(n) !== one) wrong.push(`job ${n} has ${results.get(n)} results`);
    if (dead.has(n) !== isPoison(n)) wrong.push(`job ${n} is ${dead.has(n) ? '' : 'not '}dead`);
    if (isPoison(n) && held.get(n).attempts <= RETRIES.length)
      wrong.push(`job ${n} is dead after attempt ${held.get(n).attempts}`);
  }
  return wrong.slice(0, 10).map((what) => new Finding(what));
}

async function run() {
  await server.start();
  const reply = await server.request('POST', '/indexes', { name: 'jobs_due', prefix: ['jobs'],
    fields: ['/due'], queue: { lease: `${LEASE_MS}ms`, retries: RETRIES, dead: ['dead'] } });
  if (reply.status !== 201) throw new Error(reply.text);
  await server.load(jobs, (n) => ({ key: ['jobs', n], value: { n } }));
  const until = { done: false, up: Promise.resolve() };
  const all = Array.from({ length: WORKERS }, () => work(until));
  try {
    await Promise.race([interrupt(until), ...all]);
    await Promise.all(all);
  } finally {
    until.done = true;
  }
  const wrong = await check();
  for (const figure of ['again', 'died', 'kills'])
    if (figures[figure] === 0) wrong.push(new Error(`none: ${figure}`));
  return wrong;
}

async function main() {
  announce(seed, program, jobsText);
  const wrong = await run().catch((error) => [error]);
  console.log(`${jobs} jobs claimed ${figures.claimed} times, ${figures.again} of these ` +
    `again; ${figures.died} workers died, the server ${figures.kills} times; ` +
    `${figures.stale} requests with stale receipts, ${figures.broken} without an answer`);
  conclude(server, 'queue', wrong.length === 0 ? 1 : 0, wrong);
}

main();

// Kills a server again and again (SIGKILL) while it builds indexes over many
// entries, with little memory, and a client writes some of them. After each
// restart an index that was ready is ready, and the throttled build must be where
// it was, or at most one step before that; in the end every index must equal the
// data in both directions.
//
//   node builds.js PROGRAM KILLS [SEED]      the last line: N passed, N failed
'use strict';
const { DECLARATIONS, indexes, verify } = require('./indexes.js');
const { randomFrom } = require('./random.js');
const { announce, conclude, seedOf } = require('./report.js');
const { Server, pause } = require('./server.js');

const ENTRIES = 60000;
// The first index is built at this pace, in steps of a tenth of a second.
const PER_SECOND = 100000;
const JOB = PER_SECOND / 10 + 100;
// The builds that store how far they have come: this one, and that of totals.
const KEEP = [DECLARATIONS[0].name, 'totals'];
const [program, killsText, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const random = randomFrom(seed);
const server = new Server(program, ['--cache', '4MiB',
  '--checkpoint-log', '4MiB', '--checkpoint-interval', '1s',
  '--build-memory', '1MiB']);
const users = new Map();
const figures = { builds: 0, writes: 0, within: 0, back: 0 };
let next = ENTRIES;   // of the values that were not used yet
let pending = null;   // the user whose write is under way, and the value

function valueOf(n) {
  return { email: `${Math.imul(n, 2654435761) >>> 0}@x.org`,
    color: `color-${n % 10}`, n };
}

function userOf(n) {
  users.set(`user-${n}`, valueOf(n));
  return { key: ['users', `user-${n}`], value: valueOf(n) };
}

async function ok(method, target, body) {
  const reply = await server.request(method, target, body);
  if (reply.status >= 300) throw new Error(`${target}: ${reply.text}`);
}

// All of them from the beginning.
async function declare() {
  for (const declaration of DECLARATIONS) {
    await server.request('DELETE', `/indexes/${declaration.name}`);
    await ok('POST', '/indexes?paused=1', declaration);
  }
  await ok('POST', `/indexes/${DECLARATIONS[0].name}/throttle`,
    { perSecond: PER_SECOND });
  for (const { name } of DECLARATIONS)
    await ok('POST', `/indexes/${name}/resume`);
  figures.builds++;
}

function keep(user, value) {
  if (value === null) users.delete(user);
  else users.set(user, value);
}

// Writes until the connection breaks. Values are never used twice.
async function write(until) {
  while (!until.stopped) {
    const user = `user-${random(ENTRIES)}`;
    const value = random(4) === 0 ? null : valueOf(next++);
    pending = { user, value };
    if (value === null) await ok('DELETE', `/kv/users/${user}`);
    else await ok('PUT', `/kv/users/${user}`, value);
    keep(user, value);
    pending = null;
    figures.writes++;
  }
}

function progress(there) {
  return new Map(there.map(({ name, state, build }) =>
    [name, state === 'ready' ? Infinity : build?.done ?? state]));
}

// Looks at the builds until the connection breaks; `seen` is the last look.
async function watch(until, seen) {
  while (!until.stopped) {
    for (const [name, done] of progress(await indexes(server)))
      seen.set(name, done);
  }
}

async function ignoreBreak(work, until) {
  try {
    await work;
  } catch (error) {
    if (!until.stopped) throw error;
  }
}

// Until a build has come so far, or all are ready. How fast the machine is must
// not decide whether more than a job can be lost.
async function come(far, seen, until) {
  for (; !until.stopped; await pause(1)) {
    const done = [...seen.values()];
    if (done.some((one) => one >= far && one < Infinity)) return;
    if (done.length > 0 && done.every((one) => one === Infinity)) return;
  }
}

// Works for a while, in which there is a part of a job, more than one, or all,
// then kills the server. Returns what was seen last.
async function crash() {
  const until = { stopped: false };
  const seen = new Map();
  const all = Promise.all([ignoreBreak(write(until), until),
    ignoreBreak(watch(until, seen), until)]);
  const moment = [
    () => come(JOB + random(ENTRIES - JOB), seen, until),
    () => come(Infinity, seen, until),
    () => pause(5 + random(400)),
    () => pause(5 + random(400)),
  ][random(4)]();
  await Promise.race([moment, all]);
  until.stopped = true;
  await server.kill('SIGKILL');
  await all;
  return seen;
}

// The write that was cut off has happened, or not.
async function settle() {
  if (pending === null) return;
  const { user } = pending;
  const reply = await server.request('GET', `/kv/users/${user}`);
  keep(user, reply.status === 404 ? null : reply.json);
  pending = null;
}

// Returns what is wrong with the progress.
function compare(seen, now) {
  const wrong = [];
  for (const [name, before] of seen) {
    const after = now.get(name);
    if (before > 0 && before < Infinity) figures.within++;
    if (after < before) figures.back++;
    const kept = before === Infinity || KEEP.includes(name);
    if (kept && !(after >= before - JOB))
      wrong.push(`${name} had done ${before}, and continues at ${after}`);
  }
  return wrong;
}

async function kills(count, passed) {
  await declare();
  for (passed.kills = 0; passed.kills < count; passed.kills++) {
    const seen = await crash();
    await server.start();
    const wrong = compare(seen, progress(await indexes(server)));
    if (wrong.length > 0) return wrong;
    await settle();
    const now = [...progress(await indexes(server)).values()];
    if (!now.every((done) => done === Infinity)) continue;
    wrong.push(...await verify(server, users));
    if (wrong.length > 0) return wrong;
    await declare();
  }
  const wrong = await verify(server, users);
  if (figures.within === 0) wrong.push(new Error('no kill was within a build'));
  const code = await server.kill('SIGTERM');
  return code === 0 ? wrong : [...wrong, `exit code ${code} after SIGTERM`];
}

async function main() {
  const passed = { kills: 0 };
  announce(seed, program, killsText);
  const wrong = await server.start()
    .then(() => server.load(ENTRIES, userOf))
    .then(() => kills(Number(killsText), passed))
    .catch((error) => [error]);
  console.log(`${figures.builds} times declared, ${figures.within} builds ` +
    `were cut off, ${figures.back} of them went back, ` +
    `${figures.writes} writes beside them`);
  conclude(server, 'kill', passed.kills, wrong);
}

main();

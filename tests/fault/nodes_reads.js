// A history of three nodes in front of one database: sixteen clients on twenty keys send
// each operation to any node, reads at each level, while in turn the active node is
// killed, frozen until another is active, and a standby is killed. What was asked strongly,
// and what the active node answered at any level, must be linearizable (history_check.js).
// What standbys answered is of a state that has a number (Kindex-At): one state for
// each number, in order, with all that the client was promised (Kindex-After), which is now
// and then a state that is only to come; and the states that one node shows in turn never
// get older. Sums of accounts and a ring stay whole in every list.
//
//   node nodes_reads.js PROGRAM OPERATIONS ENGINE [SEED]   the last line: N passed, N failed
//
// The database is empty. KX_NODES_FAULTS names the faults, with commas: kill, freeze,
// standby. KX_PART: so many operations between two of them.
'use strict';
const { performance } = require('node:perf_hooks');
const { check, checkStates } = require('./history_check.js');
const { HistoryClient, INDEX, KEYS, number, settle } = require('./history_client.js');
const { Bank, Ring } = require('./history_sums.js');
const { FleetNode, activeOf, soon } = require('./nodes_fleet.js');
const { randomFrom } = require('./random.js');
const { announce, linesOf, seedOf } = require('./report.js');
const { pause } = require('./server.js');

const CLIENTS = 16;
const PATIENCE_MS = 300; // then a client sends the next; the answer counts when it comes
const AGAIN_MS = 10;     // after a request that was not answered, or refused
const MISSED = 20;       // acknowledged commits while a node is frozen and another one is active
const AHEAD = 8;         // batches; a state that the others bring soon
const LEVELS = ['strong', 'session', 'session', 'eventual'];
const LEVEL_VIEWS_MIN = 50; // of session and eventual reads by standbys: less proves nothing
const [program, operationsText, engine, seedText] = process.argv.slice(2);
const PART = Number(process.env.KX_PART ?? 2000);
const faults = (process.env.KX_NODES_FAULTS ?? 'kill,freeze,standby').split(',');
const seed = seedOf(seedText);

const history = { writes: [], views: [], lastId: 0 };
const states = [];   // views that standbys answered
const wrong = [];
const counts = { strong: 0, session: 0, eventual: 0, ahead: 0, refused: 0, unanswered: 0 };
let nodes = [];
let left = 0;        // operations that are still to be answered

function position(text) {
  const [epoch, batch] = text.split('.').map(Number);
  return { epoch, batch };
}

function later(a, b) {
  return { epoch: Math.max(a.epoch, b.epoch), batch: Math.max(a.batch, b.batch) };
}

function isRead(method, target) {
  return method === 'GET' || target === '/get';
}

function levelled(target, level) {
  return `${target}${target.includes('?') ? '&' : '?'}consistency=${level}`;
}

// A reply of a node; where one points to the active node, of that.
async function send(node, method, target, body, headers) {
  const first = await node.request(method, target, body, headers);
  if (first.status !== 307) return first;
  const { origin } = new URL(first.headers.location);
  return nodes.find((one) => one.origin === origin)
    .request(method, target, body, headers);
}

// Resolves to {status: 503} where there is no answer.
async function trySend(node, method, target, body, headers) {
  const reply = await send(node, method, target, body, headers).catch(() => null);
  if (reply?.status < 500) return reply;
  counts[reply === null ? 'unanswered' : 'refused']++;
  if (reply !== null && reply.status !== 503)
    wrong.push(`${reply.status} for ${method} ${target}: ${reply.text}`);
  await pause(AGAIN_MS);
  return { status: 503, headers: {}, json: null, text: '' };
}

class NodesClient extends HistoryClient {
  // only: the node that it asks; undefined: any.
  constructor(n, only) {
    super(history, randomFrom(seed + n + 1),
      (method, target, body) => this.send(method, target, body));
    this.only = only;
    this.position = { epoch: 0, batch: 0 }; // the latest it was told
    this.least = 0n;                        // the newest stamp it has seen there
  }

  // The reply has `asked`, what it has to hold to.
  async send(method, target, body) {
    const node = this.only ?? nodes[this.random(nodes.length)];
    const reply = isRead(method, target) ? await this.sendRead(node, method, target, body) :
      await trySend(node, method, target, body);
    if (reply.status !== 503) left--;
    return reply;
  }

  async sendRead(node, method, target, body) {
    const level = LEVELS[this.random(LEVELS.length)];
    const asked = { level, node, least: 0n, after: { epoch: 0, batch: 0 } };
    const headers = {};
    if (level === 'session') {
      const { epoch, batch } = this.position;
      const ahead = this.random(4) === 0 ? 1 + this.random(AHEAD) : 0;
      counts.ahead += ahead > 0 ? 1 : 0;
      Object.assign(asked, { least: this.least, after: { epoch, batch: batch + ahead } });
      headers['kindex-after'] = `${epoch}.${batch + ahead}`;
    }
    const reply = await trySend(node, method, levelled(target, level), body, headers);
    return Object.assign(reply, { asked });
  }

  committed(record, reply) {
    const at = position(reply.headers['kindex-at']);
    record.at = at.batch;
    this.position = later(this.position, at);
    if (record.stamp > this.least) this.least = record.stamp;
  }

  view(start, reply, says, shows) {
    const { asked } = reply;
    const text = reply.headers['kindex-at'];
    if (asked === undefined || text === undefined) {
      counts.strong++;
      return super.view(start, reply, `${says} (${asked?.level ?? 'a check'})`, shows);
    }
    const at = position(text);
    const { level, node, after, least } = asked;
    const title = `${says} (${level}, ${node.name}, ${text})`;
    if (level === 'strong') wrong.push(`${title} says a position`);
    if (after.epoch > at.epoch || after.batch > at.batch)
      wrong.push(`${title} is before the position ${after.epoch}.${after.batch}`);
    counts[level]++;
    states.push({ start, end: performance.now(), says: title, shows, node, level, least,
      at: at.batch });
    this.position = later(this.position, at);
    this.note(reply);
    return null;
  }

  // It has seen these stamps in a state with a number.
  note(reply) {
    const texts = reply.json?.entries?.map(({ versionstamp }) => versionstamp) ??
      [reply.headers.etag?.replaceAll('"', '') ?? null];
    for (const text of texts)
      if (text !== null && number(text) > this.least) this.least = number(text);
  }

  async run(underWay) {
    while (left > 0) {
      const step = this.step().catch((error) => wrong.push(error));
      underWay.add(step);
      step.then(() => underWay.delete(step));
      await Promise.race([step, pause(PATIENCE_MS)]);
    }
  }
}

// What the sums take for a server: any node, and any level.
function anyNode(random) {
  return { request(method, target, body) {
    const level = LEVELS[random(LEVELS.length)];
    return trySend(nodes[random(nodes.length)], method,
      isRead(method, target) ? levelled(target, level) : target, body);
  } };
}

// A node never shows a state that is older than one it has shown.
function checkNodes() {
  const older = [];
  for (const node of nodes) {
    const mine = states.filter((view) => view.node === node);
    const ends = [...mine].sort((a, b) => a.end - b.end);
    let next = 0;
    let newest = 0;
    for (const view of mine.sort((a, b) => a.start - b.start)) {
      for (; next < ends.length && ends[next].end < view.start; next++)
        newest = Math.max(newest, ends[next].at);
      if (view.at < newest) older.push(`${view.says} is before ${newest}`);
    }
  }
  return older;
}

async function strike(fault) {
  const active = await activeOf(nodes);
  const others = nodes.filter((node) => node !== active);
  if (fault === 'freeze') {
    active.child.kill('SIGSTOP');
    await soon('another node is active', async () =>
      (await Promise.all(others.map((node) => node.isActive()))).includes(true));
    const acked = () => history.writes.filter(({ stamp }) => stamp !== null).length;
    const before = acked();
    await soon('it acknowledges commits', () => acked() >= before + MISSED);
    const late = new NodesClient(CLIENTS, active); // for it to answer first
    const reads = KEYS.map(() => late.read());
    active.child.kill('SIGCONT');
    await Promise.all(reads);
    return active.settled();
  }
  const node = fault === 'kill' ? active : others[0];
  await node.kill('SIGKILL');
  node.launch();
  return node.settled();
}

async function part(clients, sums, fault) {
  const underWay = new Set();
  left = PART;
  const working = Promise.all([...clients.map((one) => one.run(underWay)),
    ...sums.map((one) => one.run())]);
  await soon('a third of the operations', () => left < PART * 2 / 3);
  await strike(fault);
  await working;
  await Promise.all(underWay);
}

async function prepare(sums) {
  for (const [name, forward] of [['one', 'redirect'], ['two', 'proxy'], ['three', 'proxy']]) {
    const node = await FleetNode.make(program, name, engine, '--forward', forward);
    node.port = Number(new URL(node.origin).port);
    nodes.push(node);
    node.launch();
  }
  for (const node of nodes) await node.settled();
  const made = await (await activeOf(nodes)).request('POST', '/indexes', INDEX,
    { prefer: 'wait=60' });
  if (made.status >= 300) throw new Error(made.text);
  for (const one of sums) {
    await one.prepare();
    one.going = () => left > 0;
  }
}

async function run(parts) {
  const clients = Array.from({ length: CLIENTS }, (_, n) => new NodesClient(n));
  const sums = [Bank, Ring].map((Kind, n) =>
    new Kind(anyNode(randomFrom(seed + 50 + n)), randomFrom(seed + 60 + n)));
  await prepare(sums);
  for (let n = 0; n < parts; n++) await part(clients, sums, faults[n % faults.length]);
  const active = await activeOf(nodes);
  await settle(history, (...given) => active.request(...given));
  const { writes } = history;
  console.log(`${writes.length} commits; views: ` + Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`).join(', '));
  console.log(`${parts} faults, ` + sums.map((one) => one.says()).join(', '));
  for (const level of ['session', 'eventual'])
    if (counts[level] < LEVEL_VIEWS_MIN) wrong.push(new Error(`only ${counts[level]} ${level} views`));
  wrong.push(...check(history, KEYS), ...checkStates({ writes, views: states }, KEYS),
    ...checkNodes(), ...sums.flatMap((one) => one.wrong));
}

async function main() {
  announce(seed, program, operationsText, engine);
  const parts = Math.max(1, Math.round(Number(operationsText) / PART));
  await run(parts).catch((error) => wrong.push(error));
  linesOf(wrong).slice(0, 5).forEach((line) => console.log(line.slice(0, 1000)));
  if (wrong.length > 0) nodes.forEach((node) => console.log(node.shownLog()));
  console.log(`${wrong.length === 0 ? parts : 0} passed, ${wrong.length > 0 ? 1 : 0} failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

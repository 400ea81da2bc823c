// Three nodes in front of one PostgreSQL, and clients that write through all of
// them: one node points to the active one, two send requests there. In turn the
// active node is killed, frozen until another is active, and stopped, and a standby
// is killed; or the active node is cut off, the database is killed, or its standby
// takes its place, also while the old one is still there. Nothing that was acknowledged may be lost, also not by a node that was
// frozen meanwhile, no versionstamp may come twice, and every sum must be what the
// clients have added. Each client also reads its sum, from whichever node, after the
// position of what it has written (consistency=session): it may never be less than
// what was acknowledged before. No read may have a position that is not there yet.
//
//   node nodes.js PROGRAM ROUNDS ENGINE [SEED]     the last line: N passed, N failed
//
// The database is empty, and that of KX_POSTGRES (tests/lib/postgres.sh).
// KX_NODES_FAULTS names the faults, with commas: kill, freeze, stop, standby; cut, in a
// network of namespaces (KX_NODES_CUT=1, and ENGINE is for a node %); database,
// promote, split and outlive, with KX_NODES_PAIR="PRIMARY STANDBY SETTING..." (nodes_databases.js);
// postmaster, member, agent, switchover, still, store and loss, with KX_NODES_PATRONI=PLACE
// (nodes_patroni.js).
// KX_NODES_ASYNC=1: the standby is asynchronous, and lacks the last second when it is
// promoted; the nodes are told to accept that. KX_NODES_UNFENCED=1 is for a program
// without fence: takes the constraint away that would still refuse a batch whose
// number was used.
// KX_NODES_COUNT: how many nodes, 3 without it. KX_NODES_MUTE=1: the first host of the
// address takes connections and never answers, as a frozen machine does; another value is
// a host that drops all packets. The lease may change only when a fault has struck its
// holder.
'use strict';
const { execFile, execFileSync } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { promisify } = require('node:util');
const { Databases } = require('./nodes_databases.js');
const { Cable } = require('./nodes_network.js');
const { Members } = require('./nodes_patroni.js');
const { FleetNode, activeOf, epochOf, freePort, soon } = require('./nodes_fleet.js');
const { entriesUnder, pause } = require('./server.js');
const { randomFrom } = require('./random.js');
const { announce, linesOf, seedOf } = require('./report.js');

const CLIENTS = 8;
const PATIENCE_MS = 500; // then a client sends the next; this one counts when it is answered
const GONE_MS = 10;      // before the next request, after a connection broke
const FREEZE_MS = 300;   // after another node is active
const [program, roundsText, engine, seedText] = process.argv.slice(2);
const seed = seedOf(seedText);
const random = randomFrom(seed);
const asynchronous = process.env.KX_NODES_ASYNC === '1';
const [primary, standby, ...settings] = (process.env.KX_NODES_PAIR ?? '').split(' ');
const mute = process.env.KX_NODES_MUTE;
const names = ['one', 'two', 'three', 'four', 'five', 'six']
  .slice(0, Number(process.env.KX_NODES_COUNT ?? 3));
const databases = primary !== '' ?
  new Databases(primary, standby, settings, asynchronous) : undefined;
const members = process.env.KX_NODES_PATRONI !== undefined ?
  new Members(process.env.KX_NODES_PATRONI) : undefined;
const faults = (process.env.KX_NODES_FAULTS ?? 'kill,freeze,stop,standby').split(',');

// The address of the database, for nodes.
let address = engine;

// Puts a host before the others that never answers.
async function addMute() {
  if (mute !== '1') {
    address = engine.replace('host=', `host=${mute},`);
    return;
  }
  const listener = net.createServer((client) => client.on('error', () => {}))
    .listen(0, '127.0.0.1');
  await once(listener, 'listening');
  address = `${engine.replace('host=', 'host=127.0.0.1,')}&port=${listener.address().port},5432`;
}

class Node extends FleetNode {
  constructor(name, listen, forward, number) {
    super(program, name, listen, address.replace('%', number), ['--forward', forward,
      ...(mute === undefined ? [] : ['--engine-insecure'])]);
  }

  // In a network where it can be cut off.
  static within(cable, name, forward, number) {
    const node = new Node(name, cable.listen, forward, number);
    node.cable = cable;
    const start = cable.within(program,
      [...node.settings, '--insecure', '--engine-insecure']);
    node.program = start.program;
    node.settings = start.words;
    return node;
  }
}

// What was sent, and what became of it.
const ledger = { acks: new Map(), sent: 0, unknown: 0, refused: 0, late: 0,
  lastAck: new Map() };
// Session reads: how many nodes answered themselves while they were standbys, and what
// was wrong.
const reads = { answered: 0, refused: 0, unanswered: 0, byStandbys: new Set(), stale: [],
  early: [] };
const until = { stopped: false };
const underWay = new Set();

function note(key, reply, client) {
  if (reply.status === 200) {
    ledger.acks.set(key, reply.json.versionstamp);
    ledger.lastAck.set(reply.headers['kindex-node'], performance.now());
    client.acked++;
    client.position = later(client.position, reply.headers['kindex-at']);
  } else {
    ledger.refused++;
  }
}

// The one of two positions that has both. An epoch is not lower in a later batch.
function later(a, b) {
  const [epochA, batchA] = a.split('.').map(Number);
  const [epochB, batchB] = b.split('.').map(Number);
  return `${Math.max(epochA, epochB)}.${Math.max(batchA, batchB)}`;
}

// The sum of a client as a node shows it that has this position; undefined without one.
async function readSum(node, client, position) {
  const reply = await node.follow('GET', `/kv/sums/=${client.number}?consistency=session`,
    undefined, { 'kindex-after': position }).catch(() => null);
  if (reply === null) reads.unanswered++;
  else if (reply.status === 503) reads.refused++;
  else reads.answered++;
  if (reply === null || reply.status === 503) return undefined;
  const shown = reply.headers['kindex-at']; // of a standby
  if (shown !== undefined) {
    reads.byStandbys.add(node.name);
    if (later(shown, position) !== shown)
      reads.early.push(`${node.name} has ${shown}, not ${position}`);
  }
  return reply.status === 200 ? reply.json : 0;
}

// Now and then it asks for a position that is far ahead.
async function readOwn(nodes, client) {
  while (!until.stopped) {
    const node = nodes[random(nodes.length)];
    const { acked, position } = client;
    const [epoch, batch] = position.split('.').map(Number);
    const wanted = random(8) === 0 ? `${epoch}.${batch + 1e6}` : position;
    const sum = await Promise.race([readSum(node, client, wanted), pause(PATIENCE_MS)]);
    if (sum < acked)
      reads.stale.push(`${node.name} shows ${sum} of ${acked} after ${position}`);
    await pause(random(20));
  }
}

// One commit: a new entry, and one more in the client's sum.
async function commit(nodes, client) {
  const key = `${client.number}-${client.next++}`;
  const mutations = [{ type: 'set', key: ['entries', key], value: key },
    { type: 'sum', key: ['sums', client.number], value: 1 }];
  let late = false;
  ledger.sent++;
  client.sent++;
  const answered = nodes[random(nodes.length)].follow('POST', '/atomic', { mutations })
    .then((reply) => {
      note(key, reply, client);
      if (late && reply.status === 200) ledger.late++;
    }, () => {
      ledger.unknown++;
      return pause(GONE_MS);
    });
  underWay.add(answered);
  answered.then(() => underWay.delete(answered));
  await Promise.race([answered, pause(PATIENCE_MS)]);
  late = true;
}

async function work(nodes, client) {
  while (!until.stopped) {
    await commit(nodes, client);
    if (random(8) === 0) await pause(random(20));
  }
}

// A node that has to begin again while the database is away ends.
function supervise(nodes) {
  for (const node of nodes.filter((one) => !one.running)) node.launch();
}

// Milliseconds until another node than this has acknowledged a commit.
async function takeOver(node) {
  const begun = performance.now();
  await soon('another node acknowledges', () => [...ledger.lastAck].some(
    ([name, at]) => name !== node.name && at > begun));
  return performance.now() - begun;
}

// Until a commit is acknowledged that was answered after this call.
function acknowledged(nodes) {
  const begun = performance.now();
  return soon('a commit is acknowledged', async () => {
    supervise(nodes);
    if (asynchronous)
      await promisify(execFile)(program, ['cluster', 'accept-loss', '--engine', engine])
        .catch(() => null);
    return [...ledger.lastAck.values()].some((at) => at > begun);
  });
}

// Milliseconds until a commit is acknowledged that was answered after `ready`.
async function recovery(nodes, ready) {
  const begun = performance.now();
  await ready();
  await acknowledged(nodes);
  return performance.now() - begun;
}

// Milliseconds until a commit is acknowledged after a fault that waits for it before it
// heals.
async function outlasted(nodes, strikes) {
  const begun = performance.now();
  let taken;
  await strikes(async () => {
    await acknowledged(nodes);
    taken = performance.now() - begun;
  });
  return taken;
}

async function strike(nodes, fault, figures) {
  const active = await activeOf(nodes, () => supervise(nodes));
  const change = { database: 'restart', promote: 'promote', split: 'split' }[fault];
  if (change !== undefined) {
    figures[fault].push(await recovery(nodes, () => databases[change]()));
    return;
  }
  const keeper = fault === 'outlive' ? databases : members;
  if (keeper !== undefined) {
    figures[fault] ??= [];
    figures[fault].push(await outlasted(nodes, (until) => keeper[fault](until)));
    return;
  }
  if (fault === 'standby') {
    const other = nodes.find((node) => node !== active);
    await other.kill('SIGKILL');
    other.launch();
    return other.settled();
  }
  const taken = takeOver(active);
  if (fault === 'cut') {
    active.cable.cut();
    active.frozen = true;
    figures[fault].push(await taken);
    await pause(FREEZE_MS);
    active.cable.join();
    active.frozen = false;
    return active.settled();
  }
  if (fault === 'freeze') {
    active.child.kill('SIGSTOP');
    active.frozen = true;
    figures[fault].push(await taken);
    await pause(FREEZE_MS);
    active.child.kill('SIGCONT');
    active.frozen = false;
    return active.settled();
  }
  await active.kill(fault === 'kill' ? 'SIGKILL' : 'SIGTERM');
  figures[fault].push(await taken);
  active.launch();
  return active.settled();
}

// All entries with a prefix, from whichever node is active. On a slow machine the lease
// may end meanwhile, so a page is asked for until it is answered.
function list(nodes, prefix) {
  return entriesUnder(async (...words) => {
    let reply = null;
    await soon('a page of a list is answered', async () => {
      const node = await activeOf(nodes, () => supervise(nodes));
      reply = await node.follow(...words).catch(() => null);
      return reply !== null && reply.status !== 503;
    });
    return reply;
  }, prefix);
}

function some(what, list) {
  return list.length === 0 ? [] :
    [`${list.length} ${what}: ${list.slice(0, 5).join(', ')}`];
}

// A slow machine may cost a node its lease now and then: twice as many changes are allowed.
function changesOf(figures) {
  const changes = mute !== undefined ? epochOf(engine) - figures.epoch : 0;
  return changes > 2 * figures.rounds ?
    [`${changes} changes of the lease for ${figures.rounds} faults`] : [];
}

// Returns what is wrong.
async function check(nodes, clients) {
  const entries = await list(nodes, ['entries']);
  const stamps = new Map(entries.map((one) => [one.key[1], one.versionstamp]));
  const sums = new Map((await list(nodes, ['sums'])).map((one) => [one.key[1], one.value]));
  const acked = [...ledger.acks];
  const byStamp = new Map(acked.map(([key, stamp]) => [stamp, key]));
  const seen = new Set();
  const wrongSums = clients.filter(({ number, sent, acked: least }) =>
    (sums.get(number) ?? 0) < least || (sums.get(number) ?? 0) > sent);
  return [
    ...some('acknowledged commits are lost', acked
      .filter(([key, stamp]) => stamps.get(key) !== stamp).map(([key]) => key)),
    ...some('versionstamps came twice', acked
      .filter(([key, stamp]) => byStamp.get(stamp) !== key).map(([, stamp]) => stamp)),
    ...some('versionstamps are of two entries', entries
      .map(({ versionstamp }) => versionstamp)
      .filter((stamp) => seen.size === seen.add(stamp).size)),
    ...some('reads are older than what their client had written', reads.stale),
    ...some('reads have a position that was not there yet', reads.early),
    ...some('sums are wrong', wrongSums.map(({ number, sent, acked: least }) =>
      `${number} has ${sums.get(number)} of ${least} to ${sent}`)),
    ...(reads.byStandbys.size >= 2 ? [] :
      [new Error(`only ${[...reads.byStandbys]} answered reads as standbys`)]),
  ];
}

function unfence() {
  execFileSync('psql', ['--no-psqlrc', '--quiet', `--host=${process.env.KX_POSTGRES}`,
    '--username=kindex', `--dbname=${/\/([^/?]+)\?/.exec(engine)[1]}`,
    '--command=ALTER TABLE kindex.log DROP CONSTRAINT log_pkey',
    '--command=CREATE INDEX ON kindex.log (batch)']);
}

async function run(nodes, clients, figures) {
  for (const node of nodes) node.launch();
  for (const node of nodes) await node.settled();
  if (process.env.KX_NODES_UNFENCED === '1') unfence();
  if (mute !== undefined) figures.epoch = epochOf(engine);
  const working = clients.flatMap((client) =>
    [work(nodes, client), readOwn(nodes, client)]);
  for (figures.rounds = 0; figures.rounds < Number(roundsText); figures.rounds++) {
    await strike(nodes, faults[figures.rounds % faults.length], figures);
    await pause(random(300));
  }
  const changes = changesOf(figures);
  until.stopped = true;
  await Promise.all(working);
  await Promise.all(underWay);
  return [...changes, ...await check(nodes, clients)];
}

async function main() {
  announce(seed, program, roundsText, engine);
  if (mute !== undefined) await addMute();
  const nodes = [];
  for (const name of names) {
    const forward = name === 'one' ? 'redirect' : 'proxy';
    const number = nodes.length + 1;
    nodes.push(process.env.KX_NODES_CUT === '1' ?
      Node.within(await Cable.make(number), name, forward, number) :
      new Node(name, `127.0.0.1:${await freePort()}`, forward, number));
  }
  const clients = Array.from({ length: CLIENTS },
    (_, number) => ({ number, next: 0, sent: 0, acked: 0, position: '0.0' }));
  const figures = { rounds: 0, kill: [], freeze: [], stop: [], cut: [], database: [],
    promote: [], split: [] };
  const wrong = await run(nodes, clients, figures).catch((error) => [error]);
  console.log(`${ledger.sent} commits, ${ledger.acks.size} acknowledged, ` +
    `${ledger.late} of them late, ${ledger.refused} refused, ${ledger.unknown} unanswered`);
  console.log(`${reads.answered} session reads, ${reads.refused} refused, ` +
    `${reads.unanswered} unanswered`);
  for (const fault of faults.filter((one) => figures[one]?.length > 0))
    console.log(`${fault}: ${databases ?? members ? 'a' : 'another'} node acknowledges after ` +
      `${figures[fault].map(Math.round).join(', ')} ms`);
  if (wrong.length > 0) {
    console.log(linesOf(wrong).join('\n'));
    nodes.forEach((node) => console.log(node.shownLog()));
  }
  console.log(`${wrong.length > 0 ? 0 : figures.rounds} passed, ` +
    `${wrong.length > 0 ? 1 : 0} failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

main();

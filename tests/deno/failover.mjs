// Nodes in front of one PostgreSQL (KX_ENGINE, a new database): programs continue while
// the active node is killed (SIGKILL) and another one takes over. They come by a node
// that sends requests to the active one, or by an address that leads to whichever node
// lives, as that of a balancer does. Writers count a total and their own steps by commits
// with checks, list what they have, and watch the total. Each step is counted once, all
// that was acknowledged is there, and the watch shows the last total.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import process from 'node:process';
import { collect, finish, openKv, runtime, sleep, test, until } from './kv.mjs';

const ROUNDS = Number(process.env.KX_ROUNDS ?? 1); // of each story but the planted one
const WRITERS = 3;
const KILLS = 2;
const STEPS = 10; // of each writer before a kill, and after the last

const free = () => new Promise((done) => {
  const listener = createServer().listen(0, '127.0.0.1', () => {
    const { port } = listener.address();
    listener.close(() => done(port));
  });
});

class Node {
  static async start(name) {
    const node = new Node();
    node.name = name;
    node.port = await free();
    node.at = `http://127.0.0.1:${node.port}`;
    node.launch();
    await node.ready();
    return node;
  }

  launch() {
    this.lives = true;
    const log = openSync(`${process.env.KX_LOG}.${this.name}`, 'a');
    this.process = spawn(process.env.KINDEX, ['serve', '--engine', process.env.KX_ENGINE,
      '--node', this.name, '--listen', `127.0.0.1:${this.port}`, '--advertise', this.at],
    { stdio: ['ignore', 'ignore', log] });
    this.ended = new Promise((done) => { this.process.on('exit', done); });
  }

  async kill() {
    this.lives = false;
    this.process.kill('SIGKILL');
    await this.ended;
  }

  async look(path) {
    try {
      const answer = await fetch(this.at + path);
      return { status: answer.status, text: await answer.text() };
    } catch {
      return { status: 0, text: '' };
    }
  }

  ready() {
    return until(() => this.look('/readyz'), ({ status }) => status === 200);
  }

  async isActive() {
    return /^kindex_node_active 1$/m.test((await this.look('/metrics')).text);
  }
}

// An address that leads to the active node, or to another one that lives.
async function balance(nodes) {
  const lead = async (client) => {
    const active = await activeOf(nodes);
    const order = [active, ...nodes].filter((node) => node?.lives);
    const server = connect(order[0].port, '127.0.0.1');
    server.on('error', () => client.destroy());
    server.on('close', () => client.destroy());
    client.on('close', () => server.destroy());
    client.pipe(server).pipe(client);
  };
  const listener = createServer((client) => {
    client.on('error', () => client.destroy());
    lead(client);
  });
  await new Promise((done) => { listener.listen(0, '127.0.0.1', done); });
  return `http://127.0.0.1:${listener.address().port}`;
}

const isBroken = (error) => runtime === 'Node' && /fetch failed|terminated/.test(error.message);

// What a program does: Deno repeats by itself what got no answer, @deno/kv only what
// got a 5xx, and throws when a connection breaks.
async function insist(body) {
  for (;;) {
    try {
      return await body();
    } catch (error) {
      if (!isBroken(error)) throw error;
      await sleep(50);
    }
  }
}

// One step, once: a commit without an answer that was stored is known by its entry.
async function step(kv, writer) {
  const mark = ['steps', writer.number, writer.done];
  for (;;) {
    const [total, made] = await insist(() => kv.getMany([['total'], mark]));
    if (made.value !== null) return made.versionstamp;
    const result = await insist(() => kv.atomic().check(total).check(made)
      .set(['total'], (total.value ?? 0) + 1).set(mark, writer.done).commit());
    if (result.ok) return result.versionstamp;
  }
}

async function write(kv, writer, story) {
  while (!story.over) {
    writer.stamps.push(await step(kv, writer));
    writer.done += 1;
    if (writer.done % STEPS !== 0) continue;
    const entries = await insist(() => collect(kv.list({ prefix: ['steps', writer.number] })));
    if (entries.some(({ value }, n) => value !== n) || entries.length !== writer.done)
      story.wrong.add(`a list of ${writer.number} lacks steps`);
  }
}

// The values of the total. When the connection of a watch breaks, Deno begins it again.
// @deno/kv does so only after a normal end; else its reader gets the error if it is raw,
// and an error that no program can catch ends the process if it is not.
async function watch(kv, story) {
  while (!story.over) {
    story.reader = kv.watch([['total']], { raw: story.breaks }).getReader();
    try {
      for (;;) {
        const { done, value } = await story.reader.read();
        if (done) break;
        const total = value[0].value ?? 0;
        assert.ok(total >= story.last, `${total} after ${story.last}`);
        story.last = total;
        story.seen += 1;
      }
      story.ends += 1;
    } catch (error) {
      if (!story.breaks || !isBroken(error)) throw error;
      await sleep(50);
    }
  }
}

async function activeOf(nodes) {
  const active = await Promise.all(nodes.map((node) => node.isActive()));
  return nodes[active.indexOf(true)];
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// Kills the active node, and starts it again when another one is active.
async function replace(nodes, plant) {
  const active = await activeOf(nodes);
  await active.kill();
  plant?.();
  await until(() => activeOf(nodes), (node) => node !== undefined);
  active.launch();
  await active.ready();
}

// Returns what is wrong in the end. breaks: the killed node has connections of the
// program. plant: something that is done while no node is active.
async function play(at, through, { breaks = false, plant } = {}) {
  const kv = await openKv(at);
  const story = { over: false, last: 0, seen: 0, ends: 0, wrong: new Set(), breaks };
  const writers = Array.from({ length: WRITERS },
    (_, number) => ({ number, done: 0, stamps: [] }));
  const working = writers.map((writer) => write(kv, writer, story));
  const watching = watch(kv, story);
  const failed = Promise.all([...working, watching]).then(() => new Promise(() => null));
  const progress = () => {
    const wanted = writers.map(({ done }) => done + STEPS);
    return until(() => writers.every(({ done }, n) => done >= wanted[n]), (all) => all);
  };
  const kills = async () => {
    for (let n = 0; n < KILLS && (breaks || !await through.isActive()); n++) {
      await progress();
      await replace(nodes, plant);
    }
    await progress();
  };
  await Promise.race([kills(), failed]);
  story.over = true;
  await Promise.all(working);
  const total = (await insist(() => kv.get(['total']))).value;
  await Promise.race([until(() => story.last, (last) => last === total), failed]);
  await story.reader.cancel();
  await watching;
  const wrong = [...story.wrong];
  if (story.ends > 1) wrong.push(`the watch ended ${story.ends - 1} times`);
  const done = sum(writers.map((writer) => writer.done));
  if (total !== done) wrong.push(`the total is ${total} of ${done}`);
  for (const { number, stamps } of writers) {
    const entries = await collect(kv.list({ prefix: ['steps', number] }));
    const found = new Map(entries.map(({ value, versionstamp }) => [value, versionstamp]));
    stamps.forEach((stamp, n) => {
      if (found.get(n) !== stamp) wrong.push(`step ${n} of ${number} is lost`);
    });
  }
  console.log(`${done} steps, ${story.seen} states seen`);
  for (const { number } of writers)
    for (const { key } of await collect(kv.list({ prefix: ['steps', number] })))
      await kv.delete(key);
  await kv.delete(['total']);
  // After a watch that broke, @deno/kv ends the process when it is closed.
  if (!breaks || runtime === 'Deno') kv.close();
  return wrong;
}

const nodes = [];
for (const name of ['one', 'two', 'three', 'four']) nodes.push(await Node.start(name));
process.on('exit', () => nodes.forEach((node) => node.process.kill('SIGKILL')));
const standby = async () => {
  const active = await activeOf(nodes);
  return nodes.find((node) => node !== active);
};

for (let n = 0; n < ROUNDS; n++) {
  await test('a program continues by way of a standby', async () => {
    const through = await standby();
    assert.deepEqual(await play(through.at, through), []);
  });
  await test('a program continues by an address that leads to another node', async () => {
    assert.deepEqual(await play(await balance(nodes), null, { breaks: true }), []);
  });
}

await test('planted: a step that is lost meanwhile is found', async () => {
  const sql = 'DELETE FROM kindex.entries WHERE k = (SELECT k FROM kindex.entries ' +
    "WHERE encode(k, 'escape') LIKE '%steps%' LIMIT 1)";
  const plant = () => execFileSync('psql', ['--no-psqlrc', '--quiet',
    `--dbname=${process.env.KX_ENGINE}`, `--command=${sql}`]);
  const through = await standby();
  const wrong = await play(through.at, through, { plant });
  assert.ok(wrong.some((text) => text.endsWith('is lost')), String(wrong));
});
finish();

// Sixteen clients at a time, eight of Deno and eight of Node, each with a
// separate connection: all count on the same two entries.
//
//   clients.mjs URL          the story
//   clients.mjs URL count    eight clients that count, for the story in the
//                            other world
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { args, finish, KvU64, openKv, runtime, test, url } from './kv.mjs';

const CLIENTS = 8; // of each world
const STEPS = 20; // of each client

// A step that is read, changed and written with a check, again until the check
// holds. Returns how often it did not.
async function stepWithCheck(kv) {
  for (let failed = 0; ; failed += 1) {
    const seen = await kv.get(['count', 'check']);
    const { ok } = await kv
      .atomic()
      .check(seen)
      .set(['count', 'check'], (seen.value ?? 0) + 1)
      .set(['steps', runtime, seen.value ?? 0], true)
      .commit();
    if (ok) return failed;
  }
}

// The negative control: without a check, steps of others are overwritten.
async function stepWithout(kv) {
  const { value } = await kv.get(['count', 'careless']);
  await kv.set(['count', 'careless'], (value ?? 0) + 1);
}

async function client() {
  const kv = await openKv();
  let failed = 0;
  for (let i = 0; i < STEPS; i += 1) {
    await kv.atomic().sum(['count', 'sum'], 1n).commit();
    failed += await stepWithCheck(kv);
    await stepWithout(kv);
  }
  kv.close();
  return failed;
}

async function countHere() {
  const failed = await Promise.all(Array.from({ length: CLIENTS }, client));
  return failed.reduce((sum, one) => sum + one, 0);
}

// The same in the other world.
async function countThere() {
  const file = fileURLToPath(import.meta.url);
  const deno = [process.env.DENO_PROGRAM, 'run', '--quiet', '--no-config',
    '--unstable-kv', '--allow-all'];
  const [program, ...options] = runtime === 'Deno' ? ['node'] : deno;
  await promisify(execFile)(program, [...options, file, url, 'count']);
}

if (args[0] === 'count') {
  await countHere();
  process.exit(0);
}

const total = 2 * CLIENTS * STEPS;
const [failed] = await Promise.all([countHere(), countThere()]);
const kv = await openKv();
const value = async (key) => (await kv.get(key)).value;

await test('no sum of sixteen clients is lost', async () => {
  assert.deepEqual(await value(['count', 'sum']), new KvU64(BigInt(total)));
});

await test('no step with a check is lost, or taken twice', async () => {
  assert.equal(await value(['count', 'check']), total);
  const steps = [];
  for await (const { key } of kv.list({ prefix: ['steps'] })) steps.push(key[2]);
  steps.sort((a, b) => a - b);
  assert.deepEqual(steps, Array.from({ length: total }, (_, i) => i));
});

await test('they did get in each other\'s way', async () => {
  assert.ok(failed > 0);
  assert.ok((await value(['count', 'careless'])) < total);
});

kv.close();
finish();

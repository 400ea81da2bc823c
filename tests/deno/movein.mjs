// A store in Deno's own file, imported while Deno has it open.
//
//   movein.mjs URL               the story
//   movein.mjs URL write FILE    writes the store, and keeps it open until its
//                                standard input ends
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { args, collect, finish, openKv, rest, test, url } from './kv.mjs';
import { typedForm, values } from './lib/values.mjs';

const HOUR = 3_600_000;

// Writes to the file with Deno's own engine.
async function writeStore(file) {
  const kv = await globalThis.Deno.openKv(file);
  for (const [name, value] of Object.entries(values)) {
    await kv.set(['values', name], value);
  }
  await kv.set(['order', 'a'], 1);
  await kv.set(['order', 'b'], 1);
  await kv.set(['order', 'a'], 2);
  await kv.atomic().set(['pair', 1n], 'x').set(['pair', true], 'y')
    .set(['pair', new Uint8Array([0, 255])], 'z').commit();
  await kv.set(['expires'], 'later', { expireIn: HOUR });
  await kv.enqueue('message', { delay: HOUR });
  console.log('written');
  await once(process.stdin.resume(), 'end');
  kv.close();
  process.exit(0);
}

if (args[0] === 'write') await writeStore(args[1]);

const directory = mkdtempSync(path.join(tmpdir(), 'kindex-movein-'));
const file = path.join(directory, 'kv.sqlite3');
const writer = spawn(process.env.DENO_PROGRAM, ['run', '--quiet', '--no-config',
  '--unstable-kv', '--allow-all', fileURLToPath(import.meta.url), url, 'write',
  file], { stdio: ['pipe', 'pipe', 'inherit'] });
const [said] = await once(writer.stdout, 'data');
const begun = Date.now();
const kv = await openKv();

await test('Deno has written the store', () => {
  assert.equal(String(said), 'written\n');
});

await test('the file is imported while Deno has it open', async () => {
  const { stderr } = await promisify(execFile)(process.env.KINDEX,
    ['import', '--from', file, '--url', url, '--batch', '1']);
  const count = Object.keys(values).length + 6;
  assert.match(stderr, new RegExp(`^imported ${count} entries in `));
  assert.match(stderr, /^ +3 {2}\["pair"\]$/m);
  assert.match(stderr, /^1 queued messages were not imported/m);
});

for (const [name, value] of Object.entries(values)) {
  await test(`${name} is the value that Deno wrote`, async () => {
    const got = (await kv.get(['values', name])).value;
    assert.deepEqual(typedForm(got), typedForm(value));
    assert.equal(Object.is(got, -0), Object.is(value, -0));
  });
}

await test('the versionstamps have the order of the commits', async () => {
  const [a, b] = await collect(kv.list({ prefix: ['order'] }));
  assert.equal(a.value, 2);
  assert.ok(b.versionstamp < a.versionstamp);
  const stamps = (await collect(kv.list({ prefix: ['pair'] })))
    .map((entry) => entry.versionstamp);
  assert.equal(stamps.length, 3);
  assert.equal(new Set(stamps).size, 1);
});

await test('the expiry is kept', async () => {
  const { body } = await rest('POST', '/get', { keys: [['expires']] });
  const left = body.entries[0].expiresAt - begun;
  assert.ok(left > HOUR - 600_000 && left <= HOUR, `${left} ms`);
});

await test('Deno can still write and close its store', async () => {
  const ended = once(writer, 'exit');
  writer.stdin.end();
  assert.deepEqual((await ended)[0], 0);
});

kv.close();
rmSync(directory, { recursive: true });
finish();

// The control of the others: a test that is wrong must be counted as such, and
// a promise that is never kept must not look like an end.
import assert from 'node:assert/strict';
import process from 'node:process';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { args, finish, openKv, runtime, test, url } from './kv.mjs';

if (args[0] === 'wrong') {
  const kv = await openKv();
  await kv.set(['control'], 1);
  await test('right', async () => {
    assert.equal((await kv.get(['control'])).value, 1);
  });
  await test('wrong', async () => {
    assert.equal((await kv.get(['control'])).value, 2);
  });
  finish();
}

await test('a wrong expectation is counted and ends with an error', () => {
  const me = fileURLToPath(import.meta.url);
  const options = runtime === 'Deno'
    ? ['run', '--quiet', '--no-config', '--unstable-kv', '--allow-all'] : [];
  const run = spawnSync(process.execPath, [...options, me, url, 'wrong'],
    { encoding: 'utf8', timeout: 60_000 });
  assert.match(run.stdout, /FAILED .*: wrong/);
  assert.match(run.stdout, /^1 passed, 1 failed$/m);
  assert.equal(run.status, 1);
});
finish();

// A server that stops and starts again: a watch continues by itself, and Deno
// repeats writes without an answer.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { finish, openKv, rest, runtime, test, until } from './kv.mjs';

const directory = mkdtempSync(path.join(tmpdir(), 'kindex-restart-'));
const portFile = path.join(directory, 'port');

// Starts the server on its directory; with port 0 on a free one.
async function start(port) {
  rmSync(portFile, { force: true });
  const server = spawn(process.env.KINDEX, ['serve', '--cache', '16MiB',
    '--data', path.join(directory, 'data'), '--listen', `127.0.0.1:${port}`,
    '--port-file', portFile], { stdio: 'ignore' });
  const read = () => {
    try { return readFileSync(portFile, 'utf8').trim(); } catch { return ''; }
  };
  return { server, port: await until(read, (text) => text !== '') };
}

// Deno tells the signal that was sent, whether or not it was what ended the
// process.
async function stop({ server }) {
  const ended = new Promise((done) => { server.on('exit', done); });
  server.kill('SIGTERM');
  assert.equal(await ended, runtime === 'Deno' ? null : 0);
}

// What @deno/kv sends waits for this: its watch gives up for good when it comes
// back while nobody listens, and the moment when it does is drawn by lot.
let there = Promise.resolve();
let sent = 0;
async function fetcher(...args) {
  sent += 1;
  await there;
  return fetch(...args);
}

let running = await start(0);
const at = `http://127.0.0.1:${running.port}`;
const kv = await openKv(at, { fetcher });

async function restart() {
  let arrive;
  there = new Promise((done) => { arrive = done; });
  await stop(running);
  running = await start(running.port);
  arrive();
}

await test('a watch continues after a restart, with the changes', async () => {
  await kv.set(['w'], 'before');
  const reader = kv.watch([['w']]).getReader();
  assert.equal((await reader.read()).value[0].value, 'before');
  assert.equal(sent > 0, runtime === 'Node');
  await restart();
  await rest('PUT', '/kv/w', 'after', at);
  let seen = 'before';
  while (seen === 'before') seen = (await reader.read()).value[0].value;
  assert.equal(seen, 'after');
  await reader.cancel();
});

await test('what was stored is there after a restart', async () => {
  const { versionstamp } = await kv.set(['kept'], new Map([['a', 1n]]));
  await restart();
  const entry = await kv.get(['kept']);
  assert.deepEqual(entry.value, new Map([['a', 1n]]));
  assert.equal(entry.versionstamp, versionstamp);
  assert.ok((await kv.set(['next'], 1)).versionstamp > versionstamp);
});

// Somebody at the server's address who hangs up: resolves once it has.
async function hangUp(port) {
  const nobody = createServer();
  await new Promise((met) => {
    nobody.on('connection', (socket) => {
      socket.destroy();
      met();
    });
    nobody.listen(port, '127.0.0.1');
  });
  await new Promise((done) => { nobody.close(done); });
}

await test('Deno repeats a write until it is answered, Node tells', async () => {
  await kv.set(['counted'], 0);
  const seen = await kv.get(['counted']);
  const write = () => kv.atomic().check(seen).set(['counted'], 1).commit();
  await stop(running);
  const hungUp = hangUp(running.port);
  const first = write().catch((error) => error);
  await hungUp;
  running = await start(running.port);
  const result = await first;
  if (runtime === 'Node') assert.ok(result instanceof Error);
  assert.equal((runtime === 'Node' ? await write() : result).ok, true);
  assert.equal((await kv.get(['counted'])).value, 1);
});

kv.close();
await stop(running);
rmSync(directory, { recursive: true });
finish();

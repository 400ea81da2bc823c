// The other stories over https, where Deno speaks only HTTP/2: each runs once
// more in a program of its own, which knows the authority from its environment.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { args, finish, rest, runtime, test, until, url } from './kv.mjs';

// What the other program does when it is this one: a request of REST.
if (args[0] === 'ask') {
  const { body } = await rest('GET', '/livez').catch(() => ({ body: 'none' }));
  console.log(JSON.stringify(body));
  process.exit(0);
}

const directory = mkdtempSync(path.join(tmpdir(), 'kindex-tls-'));
const file = (name) => path.join(directory, name);

function make(...words) {
  const { status, stderr } = spawnSync('openssl', words, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1',
  '-nodes'];
make('req', '-x509', ...KEY, '-keyout', file('ca.key'), '-out', file('ca.pem'),
  '-days', '2', '-subj', '/CN=ours');
make('req', '-x509', ...KEY, '-keyout', file('key'), '-out', file('cert'),
  '-days', '2', '-subj', '/CN=localhost', '-CA', file('ca.pem'), '-CAkey',
  file('ca.key'), '-addext', 'subjectAltName=DNS:localhost', '-addext',
  'basicConstraints=critical,CA:FALSE');

const server = spawn(process.env.KINDEX, ['serve', '--cache', '16MiB', '--data',
  file('data'), '--listen', '0', '--tls-cert', file('cert'),
  '--tls-key', file('key'), '--port-file', file('port')], { stdio: 'ignore' });
const read = () => {
  try { return readFileSync(file('port'), 'utf8').trim(); } catch { return ''; }
};
const at = `https://localhost:${await until(read, (text) => text !== '')}`;

// Runs a story against the server; resolves to the lines that it says.
function run(name, trusted, ...more) {
  const story = fileURLToPath(new URL(name, import.meta.url));
  const options = runtime === 'Deno'
    ? ['run', '--quiet', '--no-config', '--unstable-kv', '--allow-all'] : [];
  const known = trusted // by both: one world runs a program of the other
    ? { DENO_CERT: file('ca.pem'), NODE_EXTRA_CA_CERTS: file('ca.pem') } : {};
  const { stdout, stderr } = spawnSync(process.execPath,
    [...options, story, at, ...more],
    { encoding: 'utf8', timeout: 100_000, env: { ...process.env, ...known } });
  return { stdout, all: stdout + stderr };
}

await test('the address without TLS is another one', () => {
  assert.notEqual(at, url);
});

await test('a client that does not know the authority gets no answer', () => {
  assert.match(run('tls.mjs', false, 'ask').stdout, /^"none"$/m);
  assert.match(run('tls.mjs', true, 'ask').stdout, /^\{"ok":true\}$/m);
});

for (const name of ['operations.mjs', 'values.mjs', 'watch.mjs']) {
  await test(`all of ${name} holds over https`, () => {
    const { stdout, all } = run(name, true);
    assert.match(stdout, /^[1-9]\d* passed, 0 failed$/m, all.slice(-2000));
  });
}

server.kill('SIGTERM');
await new Promise((done) => { server.on('exit', done); });
rmSync(directory, { recursive: true, force: true });
finish();

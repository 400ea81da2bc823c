// Measures the cost of compressed replies and bodies: CPU time of the server per request, and
// bytes of the reply, by coding.
//   node tests/bench/compression.js [KINDEX] [REQUESTS]
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const zlib = require('node:zlib');

const program = process.argv[2] ?? 'build/kindex';
const count = Number(process.argv[3] ?? 1000);
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-bench-'));
const ticks = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });

function start() {
  const server = spawn(program, ['serve', '--data', path.join(work, 'data'), '--listen', '127.0.0.1:0',
    '--port-file', path.join(work, 'port'), '--compress', 'on'], { stdio: 'ignore' });
  return new Promise((resolve, reject) => {
    server.on('exit', () => reject(new Error('the server did not start')));
    const timer = setInterval(() => {
      const text = fs.existsSync(path.join(work, 'port')) ? fs.readFileSync(path.join(work, 'port'), 'utf8') : '';
      if (text.trim() === '') return;
      clearInterval(timer);
      resolve({ server, port: Number(text) });
    }, 20);
  });
}

function send(port, method, target, body, headers) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method, path: target, headers, agent }, (answer) => {
      let size = 0;
      answer.on('data', (chunk) => { size += chunk.length; });
      answer.on('end', () => (answer.statusCode < 300 ? resolve(size) : reject(new Error(`${method} ${target}: ${answer.statusCode}`))));
    });
    request.on('error', reject);
    request.end(body);
  });
}

// Seconds of processor time that the process has taken.
function taken(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

async function measure(server, name, one) {
  let size = 0;
  const before = taken(server.pid);
  for (let done = 0; done < count; done += 4) {
    const sizes = await Promise.all([one(), one(), one(), one()]);
    size = sizes[0];
  }
  const each = (taken(server.pid) - before) / count * 1e6;
  console.log(`| ${name} | ${Math.round(each)} | ${size} |`);
}

async function main() {
  const { server, port } = await start();
  const entry = (n) => ({ id: n, name: `User ${n}`, email: `user.${n * 7919 % 9973}@example.org`,
    tags: ['red', 'green', 'blue'].slice(n % 3), at: new Date(1.7e12 + n * 86413e3).toISOString() });
  const value = JSON.stringify(Array.from({ length: 30 }, (_, n) => entry(n)));
  for (let n = 0; n < 1000; n++) await send(port, 'PUT', `/kv/users/=${n}`, JSON.stringify(entry(n)));
  await send(port, 'PUT', '/kv/value', value);
  console.log('| request | processor, us | bytes |\n|---|---|---|');
  for (const [what, target] of [[`GET of ${value.length} bytes`, '/kv/value'], ['list of 1,000 entries', '/list?prefix=users&limit=1000']]) {
    for (const coding of ['identity', 'gzip', 'zstd']) {
      await measure(server, `${what}, ${coding}`, () => send(port, 'GET', target, undefined, { 'Accept-Encoding': coding }));
    }
  }
  for (const [coding, body] of [['identity', value], ['gzip', zlib.gzipSync(value)]]) {
    await measure(server, `PUT of ${value.length} bytes, ${coding}`, () => send(port, 'PUT', '/kv/value', body, { 'Content-Encoding': coding }));
  }
  agent.destroy();
  server.removeAllListeners('exit');
  server.kill();
  await new Promise((resolve) => { server.on('exit', resolve); });
  fs.rmSync(work, { recursive: true });
}

main().catch((error) => { console.error(error.message); process.exitCode = 1; });

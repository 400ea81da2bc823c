// Lists of 100 entries, as many as eight connections get in some seconds; prints how
// many a second. For postgresql.sh.
//   node lists.js URL SECONDS     node lists.js URL load: makes the entries
'use strict';
const http = require('node:http');

const CONNECTIONS = 8;
const ENTRIES = 10000;
const COMMIT = 1000;
const [origin, what] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });

function ask(method, target, body) {
  return new Promise((resolve, reject) => {
    const headers = body && { 'content-type': 'application/json' };
    http.request(new URL(target, origin), { method, agent, headers }, (reply) => {
      reply.resume().on('end', () => (reply.statusCode === 200 ? resolve() :
        reject(new Error(`${target} is answered ${reply.statusCode}`))));
    }).on('error', reject).end(body);
  });
}

async function load() {
  for (let first = 0; first < ENTRIES; first += COMMIT) {
    const mutations = Array.from({ length: COMMIT }, (_, n) => ({ type: 'set',
      key: ['listed', first + n], value: { name: `N${n}`, note: 'x'.repeat(150) } }));
    await ask('POST', '/atomic', JSON.stringify({ mutations }));
  }
}

async function measure(seconds) {
  const began = performance.now();
  let count = 0;
  async function work() {
    while (performance.now() < began + seconds * 1000) {
      const start = Math.floor(Math.random() * (ENTRIES - 100));
      await ask('GET', `/list?prefix=listed&limit=100&start=${encodeURIComponent(`["listed",${start}]`)}`);
      count++;
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  console.log(Math.round(count * 1000 / (performance.now() - began)));
}

(what === 'load' ? load() : measure(Number(what))).then(() => agent.destroy());

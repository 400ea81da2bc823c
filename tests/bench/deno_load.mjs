// A Deno program as people write them, with many operations always in flight:
//
//   deno run deno_load.mjs DATABASE KIND KEYS IN-FLIGHT SECONDS [SIZE]
//
// DATABASE is an address of Kindex or a file of Deno's own store. KIND is fill
// (stores KEYS entries, once), set or get; SIZE is that of a value. Prints a line of JSON like replay.lua,
// and in `all` how many operations there were with those that warmed it up.
import { createRequire } from 'node:module';
import process from 'node:process';

const data = createRequire(import.meta.url)('./data.js');
const WARM_MS = 200;
const BATCH = 500;

const [database, kind, ...numbers] = process.argv.slice(2);
const [keys, inFlight, seconds, size] = numbers.map(Number);
const kv = await Deno.openKv(database);
const keyOf = (n) => ['deno', data.itemId(n)];
const valueOf = (n) => JSON.parse(data.value(n, keys, size));

async function fill() {
  for (let next = 0; next < keys;) {
    const atomic = kv.atomic();
    for (let i = 0; i < BATCH && next < keys; i++, next++) {
      atomic.set(keyOf(next), valueOf(next));
    }
    if (!(await atomic.commit()).ok) throw new Error('not filled');
  }
}

const operations = {
  async set(n) {
    if (!(await kv.set(keyOf(n), valueOf(n))).ok) throw new Error('not set');
  },
  async get(n) {
    const { value } = await kv.get(keyOf(n));
    if (value?.name !== `User ${n}`) throw new Error(`${n}: wrong value`);
  },
};

// Resolves to the microseconds that each operation took.
async function load(operation, milliseconds) {
  const random = data.sequence(19);
  const times = [];
  const began = performance.now();
  async function worker() {
    for (let now = performance.now(); now - began < milliseconds;) {
      await operation(random(keys));
      const later = performance.now();
      times.push((later - now) * 1000);
      now = later;
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { times, us: (performance.now() - began) * 1000 };
}

if (kind === 'fill') {
  await fill();
} else {
  const warm = await load(operations[kind], WARM_MS);
  const { times, us } = await load(operations[kind], seconds * 1000);
  times.sort((a, b) => a - b);
  const share = (part) => times[Math.floor(times.length * part)];
  console.log(JSON.stringify({
    requests: times.length, all: times.length + warm.times.length, us,
    p50: share(0.5), p99: share(0.99), max: times.at(-1), status: 0, socket: 0,
  }));
}
kv.close();

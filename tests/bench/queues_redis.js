// Jobs of a Redis list, ten in each request: a script claims them, with a lease of a
// minute in a sorted set, and takes back those whose lease has ended; another removes them.
//
//   node queues_redis.js SOCKET JOBS CLIENTS
'use strict';

const net = require('node:net');

const [path, jobs, clients] = process.argv.slice(2);
const BATCH = 10;
const CLAIM = `local now = redis.call('time')[1]
  local late = redis.call('zrangebyscore', KEYS[2], 0, now, 'limit', 0, ARGV[1])
  for _, job in ipairs(late) do
    redis.call('zrem', KEYS[2], job)
    redis.call('rpush', KEYS[1], job)
  end
  local jobs = redis.call('rpop', KEYS[1], ARGV[1]) or {}
  for _, job in ipairs(jobs) do redis.call('zadd', KEYS[2], now + 60, job) end
  return jobs`;

// The answer that begins at a place of the text, and where it ends; nothing if a part is
// still to come. The text is ASCII.
function parse(text, at) {
  const end = text.indexOf('\r\n', at);
  if (end < 0) return undefined;
  const line = text.slice(at + 1, end);
  if (text[at] === '-') throw new Error(line);
  if (text[at] === '$' && line !== '-1') {
    const next = end + 2 + Number(line);
    return text.length < next + 2 ? undefined : [text.slice(end + 2, next), next + 2];
  }
  if (text[at] !== '*') return [line, end + 2];
  const items = [];
  let next = end + 2;
  while (items.length < Number(line)) {
    const item = parse(text, next);
    if (item === undefined) return undefined;
    items.push(item[0]);
    next = item[1];
  }
  return [items, next];
}

// A connection: a function that sends a command and resolves to its answer.
function connect() {
  const socket = net.connect(path).setEncoding('latin1');
  let text = '';
  let waiting;
  socket.on('error', (error) => waiting?.reject(error));
  socket.on('data', (part) => {
    text += part;
    try {
      const answer = parse(text, 0);
      if (answer === undefined) return;
      text = '';
      waiting.resolve(answer[0]);
    } catch (error) {
      waiting.reject(error);
    }
  });
  const send = (...words) => new Promise((resolve, reject) => {
    waiting = { resolve, reject };
    socket.write(`*${words.length}\r\n${words.map((word) => `$${String(word).length}\r\n${word}\r\n`).join('')}`);
  });
  return { send, end: () => socket.end() };
}

async function timed(what, client) {
  const began = performance.now();
  await Promise.all(Array.from({ length: Number(clients) }, async () => {
    const connection = connect();
    await client(connection.send);
    connection.end();
  }));
  const seconds = (performance.now() - began) / 1000;
  console.log(`redis ${what}: ${Math.round(jobs / seconds)} jobs/s`);
}

async function main() {
  let next = 0;
  await timed('stored', async (send) => {
    while (next < jobs) {
      const first = next;
      next += BATCH;
      await send('lpush', 'jobs', ...Array.from({ length: BATCH }, (_, i) =>
        JSON.stringify({ id: first + i, to: 'ada@x.org', text: 'x'.repeat(100) })));
    }
  });
  const seen = new Set();
  await timed('claimed and acknowledged', async (send) => {
    for (;;) {
      const batch = await send('eval', CLAIM, 2, 'jobs', 'leases', BATCH);
      if (batch.length === 0) return;
      for (const job of batch) seen.add(JSON.parse(job).id);
      await send('zrem', 'leases', ...batch);
    }
  });
  if (seen.size !== Number(jobs)) throw new Error(`${seen.size} of ${jobs} jobs were claimed`);
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});

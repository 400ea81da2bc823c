// What the client takes from the other side of a connection: no redirect, no pause, no
// answer and no event has more of it than a limit.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { fails, kindex } from './lib.mjs';

const { connect } = kindex;

/** Serves while `work` runs with the server's address. */
async function serving(handler, work) {
  const server = createServer(handler);
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  try {
    return await work(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections?.();
    await new Promise((resolve) => { server.close(resolve); });
  }
}

const answering = (answers, options) => connect('http://kindex.invalid', {
  fetch: async () => answers.shift()(),
  ...options,
});
const problem = (status, headers) => () => new Response('{"code":"busy"}', { status, headers });
const found = () => new Response('{"entries":[{"key":["a"],"value":1,"versionstamp":"1"}]}');

/** What the client waited for: its timers end at once. */
async function waits(work) {
  const { setTimeout: real } = globalThis;
  const found = [];
  globalThis.setTimeout = (call, ms) => {
    found.push(ms);
    return real(call, ms >= 45_000 && ms < 60_000 ? ms : 0);
  };
  try {
    await work();
  } finally {
    globalThis.setTimeout = real;
  }
  return Math.max(...found);
}

test('a pause that an answer asks for lasts at most a minute', async () => {
  const waited = async (text) => await waits(async () => {
    const client = answering([problem(429, { 'Retry-After': text }), found]);
    assert.equal((await client.get(['a'])).value, 1);
  });
  assert.equal(await waited('86400'), 60_000);
  assert.equal(await waited('9'.repeat(400)), 60_000);
  assert.equal(await waited('60'), 60_000);
  // 45 seconds are what a request may be silent for.
  assert.equal(await waited('-5'), 45_000);
  assert.equal(await waited('Infinity'), 45_000);
  assert.equal(await waited('Sat, 28 Nov 2099 00:00:00 GMT'), 45_000);
});

test('a watch waits at most a minute before it asks again', async () => {
  const event = (retry) => () => new Response(
    `retry: ${retry}\n\nevent: entries\ndata: {"entries":[]}\n\n`,
  );
  const longest = await waits(async () => {
    const events = answering([event('86400000'), event('x')]).watch([['a']]);
    await events.next();
    await events.next();
    await events.return();
  });
  assert.equal(longest, 60_000);
});

for (const status of [301, 302, 303, 307, 308, 300, 304]) {
  test(`a ${status} is no success, and nothing goes to where it points`, async () => {
    const seen = [];
    const other = (request, response) => {
      seen.push(request.url);
      response.end('{"entries":[],"versionstamp":"1"}');
    };
    await serving(other, (elsewhere) => serving((request, response) => {
      response.writeHead(status, { Location: `${elsewhere}${request.url}` });
      response.end();
    }, async (base) => {
      const client = connect(base, { token: 'secret' });
      for (const call of [
        () => client.put(['a'], 'secret'),
        () => client.get(['a']),
        () => client.list().next(),
        () => client.deleteRange({ prefix: ['a'] }),
        () => client.declareIndex({ name: 'i', prefix: ['a'], fields: ['/a'] }),
        () => client.dropIndex('i'),
        () => client.watch([['a']]).next(),
      ]) {
        const error = await fails(call(), 'no-answer');
        assert.equal(error.status, status);
        assert.match(error.message, new RegExp(`^the answer ${status} sends the request on to ${elsewhere}/`));
      }
    }));
    assert.deepEqual(seen, []);
  });
}

/** A body without an end, whose parts are made when they are read. */
const endless = (part, before = () => {}) => new ReadableStream({
  pull(controller) {
    before();
    controller.enqueue(new TextEncoder().encode(part));
  },
});

test('an answer without an end is an error at its limit', async () => {
  let ended = 0;
  await serving((request, response) => {
    response.on('close', () => { ended += 1; });
    const write = () => { while (response.write('[1,1,1,1,')); };
    response.on('drain', write);
    write();
  }, async (base) => {
    const client = connect(base, { answerBytesMax: 100_000 });
    const error = await fails(client.get(['a']), 'no-answer');
    assert.equal(error.message, 'the answer has more than 100000 bytes');
    await fails(client.dropIndex('i'), 'no-answer');
    while (ended < 2) await new Promise((resolve) => { setTimeout(resolve, 5); });
  });
});

test('an answer has at most 256 MiB unless told otherwise', async () => {
  let parts = 0;
  const megabyte = '1'.repeat(1024 * 1024);
  const client = answering([() => new Response(endless(megabyte, () => { parts += 1; }))]);
  await fails(client.get(['a']), 'no-answer');
  assert.ok(parts >= 257 && parts < 262, String(parts));
});

test('an answer that comes by the byte is an error', async () => {
  const { now } = Date;
  let clock = now();
  Date.now = () => clock;
  try {
    const slow = () => new Response(endless('1', () => { clock += 1000; }));
    const error = await fails(answering([slow]).get(['a']), 'no-answer');
    assert.equal(error.message, 'the answer came at less than 1024 bytes per second');
    assert.equal(error.status, 200);
  } finally {
    Date.now = now;
  }
});

test('a problem without an end is what its beginning says', async () => {
  const client = answering([() => new Response(endless('no '), { status: 500 })]);
  const error = await fails(client.get(['a']), 'no-answer');
  assert.deepEqual([error.status, error.message.slice(0, 9)], [500, 'no no no ']);
  assert.ok(error.message.length <= 200);
});

test('an event without an end is an error at its limit', async () => {
  const event = () => new Response(endless('data: 1\n'));
  const events = answering([event], { answerBytesMax: 10_000 }).watch([['a']]);
  const error = await fails(events.next(), 'no-answer');
  assert.equal(error.message, 'the answer has more than 10000 bytes');
});

test('an address where nothing listens is an error at once', async () => {
  const base = await serving(() => {}, (address) => address);
  let asked = 0;
  const counting = (...request) => {
    asked += 1;
    return fetch(...request);
  };
  const error = await fails(connect(base, { fetch: counting }).get(['a']), 'no-answer');
  assert.equal(error.status, 0);
  assert.match(error.message, /does not answer/);
  if (globalThis.process?.versions.node && !globalThis.Deno) {
    assert.match(error.message, /does not answer \((ECONNREFUSED|ConnectionRefused)\)$/);
    assert.equal(asked, 1);
  }
  // Once it has answered, it is asked again: it may be starting.
  const answers = [found, () => { throw Object.assign(new TypeError(), { code: 'ECONNREFUSED' }); }, found];
  const client = answering(answers);
  await client.get(['a']);
  assert.equal((await client.get(['a'])).value, 1);
  assert.equal(answers.length, 0);
});

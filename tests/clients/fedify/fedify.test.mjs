// Tests the adapter for Fedify with Fedify's suite for queues, with its in-memory store as a
// model, and in a federation. PLANTED names a flaw to put in, which a test must find.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createFederation, MemoryKvStore } from '@fedify/fedify';
import { testMessageQueue } from '@fedify/testing';
import { connect } from 'kindex';
import { KindexKvStore, KindexMessageQueue } from 'kindex-adapters/fedify';

const url = process.env.KINDEX_URL;
const planted = process.env.PLANTED;
const db = connect(url);
const duration = (milliseconds) => ({ total: () => milliseconds });

class FlawedStore extends KindexKvStore {
  // Reads and writes without a condition in between.
  async cas(key, expected, value, options) {
    if (JSON.stringify(await this.get(key)) !== JSON.stringify(expected)) return false;
    await this.set(key, value, options);
    return true;
  }
}
class FlawedQueue extends KindexMessageQueue {
  enqueue(message, { delay } = {}) {
    return super.enqueue(message, { delay });
  }
}
const openStore = (options) => (planted === 'cas' ? new FlawedStore(options) : new KindexKvStore(options));
const openQueue = (options) => (planted === 'order' ? new FlawedQueue(options) : new KindexMessageQueue(options));

async function all(entries) {
  const found = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

test("a store answers like Fedify's in-memory store", async () => {
  const stores = [openStore({ db, prefix: ['model'] }), new MemoryKvStore()];
  const both = async (ask) => {
    const [ours, theirs] = await Promise.all(stores.map(ask));
    assert.deepEqual(ours, theirs);
    return ours;
  };
  const values = [{ a: [1, 'x', null, { b: true }] }, 'text', 7, [], false];
  for (const [i, value] of values.entries()) {
    await both((kv) => kv.get(['k', `${i}`]));
    await both((kv) => kv.set(['k', `${i}`], value));
    await both((kv) => kv.get(['k', `${i}`]));
  }
  await both((kv) => kv.set(['k'], 'itself'));
  await both((kv) => kv.set(['kk', 'other'], 1));
  const sorted = async (entries) => (await all(entries)).sort((a, b) => String(a.key).localeCompare(String(b.key)));
  assert.equal((await both((kv) => sorted(kv.list(['k'])))).length, values.length + 1);
  await both((kv) => sorted(kv.list()));
  await both((kv) => kv.delete(['k', '1']));
  await both((kv) => kv.delete(['k', 'none']));
  await both((kv) => sorted(kv.list(['k'])));
  for (const [expected, value, wanted] of [[undefined, 1, true], [undefined, 2, false], [1, { a: 1, b: [2] }, true],
    [{ a: 1 }, 3, false], [{ b: [2], a: 1 }, 4, true], [4, 4, true]]) {
    assert.equal(await both((kv) => kv.cas(['c'], expected, value)), wanted);
    await both((kv) => kv.get(['c']));
  }
  assert.equal(await stores[0].cas(['c'], 4, undefined), true);
  assert.equal((await db.get(['model', 'c'])).versionstamp, null);
});

test('an entry expires after its time to live', async () => {
  const kv = openStore({ db });
  const before = Date.now();
  await kv.set(['life'], 1, { ttl: duration(60_000) });
  const { expiresAt } = await db.get(['fedify', 'life']);
  assert.ok(expiresAt >= before + 60_000 && expiresAt <= Date.now() + 60_000);
  await kv.cas(['life'], 1, 2, { ttl: duration(1) });
  while (await kv.get(['life']) !== undefined) await new Promise((resolve) => { setTimeout(resolve, 5); });
});

test('when many clients swap one value, exactly one succeeds', async () => {
  const kv = openStore({ db });
  for (let round = 0; round < 10; round++) {
    await kv.set(['swap'], round);
    const results = await Promise.all(Array.from({ length: 8 }, (_, i) => kv.cas(['swap'], round, `${round}/${i}`)));
    assert.equal(results.filter(Boolean).length, 1);
  }
});

test("a queue passes Fedify's suite, with ordering keys", async () => {
  await testMessageQueue(() => openQueue({ db, prefix: ['suite'] }),
    ({ controller }) => controller.abort(), { testOrderingKey: true });
  assert.deepEqual(await openQueue({ db, prefix: ['suite'] }).getDepth(), { queued: 0 });
});

test('messages with an ordering key are handled one at a time, in order', async () => {
  const queue = openQueue({ db, prefix: ['order'], concurrency: 8 });
  const stop = new AbortController();
  const running = new Map();
  const seen = new Map();
  let done;
  const ended = new Promise((resolve) => { done = resolve; });
  for (let n = 0; n < 10; n++) for (const key of ['a', 'b']) await queue.enqueue({ key, n }, { orderingKey: key });
  assert.deepEqual(await queue.getDepth(), { queued: 20 });
  let left = 20;
  const listening = queue.listen(async ({ key, n }) => {
    assert.equal(running.get(key), undefined, `${n} of ${key} beside another`);
    running.set(key, n);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
    running.delete(key);
    seen.set(key, [...seen.get(key) ?? [], n]);
    if (--left === 0) done();
  }, { signal: stop.signal });
  await ended;
  stop.abort();
  await listening;
  for (const key of ['a', 'b']) assert.deepEqual(seen.get(key), Array.from({ length: 10 }, (_, n) => n));
});

test('a message whose handler throws is retried, then moved to the dead messages', async () => {
  const errors = [];
  const queue = openQueue({ db, prefix: ['poison'], onError: (error) => errors.push(error.message) });
  await queue.enqueue('bad', { orderingKey: 'k' });
  await queue.enqueue('good', { orderingKey: 'k' });
  const stop = new AbortController();
  const seen = [];
  await queue.listen((message) => {
    seen.push(message);
    if (message === 'bad') throw new Error('no');
    stop.abort();
  }, { signal: stop.signal });
  assert.deepEqual(seen, ['bad', 'bad', 'bad', 'bad', 'bad', 'good']);
  assert.deepEqual(errors, ['no', 'no', 'no', 'no', 'no']);
  const [{ value }] = await all(db.list({ prefix: ['poison', 'dead'] }));
  assert.equal(value.message, 'bad');
  assert.equal(await db.count({ prefix: ['poison', 'lanes'] }), 0);
});

test('a federation works with the store and the queue', async () => {
  const kv = openStore({ db, prefix: ['federation'] });
  const queue = openQueue({ db, prefix: ['federation-queue'] });
  const federation = createFederation({ kv, queue, manuallyStartQueue: true });
  federation.setActorDispatcher('/users/{identifier}', () => null);
  const answer = await federation.fetch(new Request('https://example.org/users/ada', { headers: { Accept: 'application/activity+json' } }), { contextData: undefined });
  assert.equal(answer.status, 404);
  const stop = new AbortController();
  const started = federation.startQueue(undefined, { signal: stop.signal });
  stop.abort();
  await started;
});

test('unknown options are errors', () => {
  assert.throws(() => new KindexKvStore({ db, prefx: ['a'] }), /no member prefx/);
  assert.throws(() => new KindexMessageQueue({ url, workers: 8 }), /no member workers/);
});

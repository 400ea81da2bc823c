import assert from 'node:assert/strict';
import test from 'node:test';
import { db, fails } from './lib.mjs';

const declare = (name, queue) =>
  db.declareIndex({ name: `${name}_due`, prefix: [name], fields: ['/due'], queue });

test('jobs are claimed, extended, released, failed and acknowledged', async () => {
  await declare('todo', { lease: '60s', retries: ['1h'] });
  const queue = db.queue('todo_due');
  assert.deepEqual(await queue.claim(), []);
  await db.put(['todo', 1n], { at: new Date(5) });
  await db.put(['todo', 2n], null);
  const [first, second] = await queue.claim({ limit: 5 });
  assert.deepEqual([first.key, first.value, first.attempts, first.leaseMs],
    [['todo', 1n], { at: new Date(5) }, 1, 60_000]);
  await queue.extend([first, second.receipt], { lease: '5m' });
  await queue.release(first, { delay: '1ms' });
  assert.ok((await db.queues()).includes('todo_due'));
  assert.deepEqual(await queue.claim({ prefix: [0] }), []);
  await queue.fail(second, { error: 'no route', delay: '1ms' });
  assert.equal((await fails(queue.ack(first), 'receipt-stale')).status, 409);
  const again = await queue.claim({ limit: 1, wait: 5 });
  assert.deepEqual([again[0].key, again[0].attempts], [['todo', 1n], 1]);
  const commit = await db.atomic().ack(again[0]).set(['todone'], 1).commit();
  assert.equal(commit.ok, true);
  const [last] = await queue.claim({ wait: 5 });
  assert.deepEqual([last.key, last.attempts, last.error], [['todo', 2n], 2, 'no route']);
  await queue.ack(last);
  assert.equal((await queue.stats()).leased, 0);
});

/** Waits until the lease of the job is extended, which is a commit. */
async function extended(job) {
  const signal = AbortSignal.timeout(60_000);
  for await (const [entry] of db.watch([job.key], { signal })) {
    if (entry.versionstamp !== job.versionstamp) return;
  }
}

test('work handles each job, and an error is a failure', async () => {
  await declare('work', { lease: '6s', retries: ['1ms'], dead: ['worked'] });
  const stop = new AbortController();
  const seen = [];
  const errors = [];
  let running = 0;
  let most = 0;
  let secondBegins;
  const together = new Promise((resolve) => { secondBegins = resolve; });
  for (let n = 0; n < 6; n++) await db.put(['work', n], n);
  await db.queue('work_due').work(async (job, signal) => {
    most = Math.max(most, ++running);
    if (running === 2) secondBegins();
    await together;
    if (job.value === 3) await extended(job);
    running--;
    assert.equal(signal.aborted, false);
    seen.push(job.value);
    if (job.value === 5) throw new Error(`no route ${'\u{1f600}'.repeat(200)}`);
    if (job.value === 4) await db.atomic().ack(job).commit();
  }, {
    concurrency: 3,
    signal: stop.signal,
    onError: (error, job) => {
      errors.push([job.attempts, error.message.slice(0, 8)]);
      if (job.attempts === 2) stop.abort();
    },
  });
  assert.deepEqual(seen.toSorted?.() ?? [...seen].sort(), [0, 1, 2, 3, 4, 5, 5]);
  assert.ok(most > 1 && most <= 3, `${most} at a time`);
  assert.deepEqual(errors, [[1, 'no route'], [2, 'no route']]);
  assert.equal(await db.count({ prefix: ['work'] }), 0);
  assert.equal(await db.count({ prefix: ['worked'] }), 1);
});

test('a handler learns that its lease was lost, and work ends with what is refused', async () => {
  await declare('lost', { lease: '300ms' });
  await db.put(['lost', 1], 1);
  const stop = new AbortController();
  const lost = [];
  await db.queue('lost_due').work(async (job, signal) => {
    stop.abort();
    await db.put(job.key, 2); // a write ends the lease
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    lost.push(signal.reason.code);
  }, { signal: stop.signal, onError: (error) => lost.push(error.code) });
  assert.deepEqual(lost, ['receipt-stale', 'receipt-stale']);
  await fails(db.queue('none').work(() => {}), 'queue-not-found');
});

// The TypeScript client against a real server, whose address is in KINDEX_URL. The
// same file runs in every runtime that the client is for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, db, fails, kindex } from './lib.mjs';

const { connect, InvalidValueError, KvU64 } = kindex;

test('entries come back as they were put', async () => {
  const values = [
    null, true, 'a\u{1F600}', 1.5, { a: [1, { b: null }], 'é': 'x' }, [],
    10n ** 30n, NaN, -0, Infinity, undefined, new Date(86400000),
    new Uint8Array([0, 255, 7]), new Map([[1, new Set(['x'])]]), /a\/b/gi,
    { when: new Date(0), big: 1n }, [1n, undefined], new Float64Array([1.5, -2]),
    new KvU64(2n ** 64n - 1n),
  ];
  for (const [i, value] of values.entries()) {
    await db.put(['values', i], value);
    const entry = await db.get(['values', i]);
    assert.deepEqual(entry.value, value);
    assert.match(entry.versionstamp, /^[0-9a-f]{20}$/);
  }
  const listed = await all(db.list({ prefix: ['values'], pageSize: 7 }));
  assert.deepEqual(listed.map(({ value }) => value), values);
  assert.equal(await db.count({ prefix: ['values'] }), values.length);
});

test('members that are undefined are left out', async () => {
  await db.put(['partial'], { a: 1, b: undefined });
  assert.deepEqual((await db.get(['partial'])).value, { a: 1 });
});

test('keys have parts of every type, in order', async () => {
  const keys = [
    ['k', new Uint8Array([1, 2])], ['k', 'a/b c?'], ['k', 2n ** 60n], ['k', 7],
    ['k', false], ['k', true],
  ];
  for (const key of keys) await db.put(key, 1);
  const found = await all(db.list({ prefix: ['k'] }));
  assert.deepEqual(found.map(({ key }) => key), keys);
  const some = await all(db.list({ prefix: ['k'], reverse: true, limit: 2 }));
  assert.deepEqual(some.map(({ key }) => key), [keys[5], keys[4]]);
});

test('a missing entry is null', async () => {
  assert.deepEqual(await db.get(['missing', 1]), {
    key: ['missing', 1],
    value: null,
    versionstamp: null,
  });
  const removed = await db.delete(['missing', 1]);
  assert.equal(removed.versionstamp, null);
});

test('keys are listed alone, and a range of any length is deleted', async () => {
  const atomic = (from) => {
    const commit = db.atomic();
    for (let i = from; i < from + 600; i++) commit.set(['range', i], 'x');
    return commit.commit();
  };
  await atomic(0);
  await atomic(600);
  await db.put(['ranges'], 1);
  const listed = await all(db.list({ prefix: ['range'], keys: true, limit: 2 }));
  assert.deepEqual(listed.map(({ key, value }) => [key, value]), [
    [['range', 0], null], [['range', 1], null],
  ]);
  assert.equal(await db.deleteRange({ start: ['range', 1], end: ['range', 1200] }), 1199);
  assert.equal(await db.deleteRange({ prefix: ['range'] }), 1);
  assert.equal((await db.get(['ranges'])).value, 1);
});

test('versions decide', async () => {
  const first = await db.put(['v'], 1, { versionstamp: null });
  assert.ok(first);
  assert.equal(await db.put(['v'], 2, { versionstamp: null }), null);
  const second = await db.put(['v'], 2, { versionstamp: first });
  assert.ok(second > first);
  assert.equal(await db.patch(['v'], 3, { versionstamp: first }), null);
  assert.equal((await db.delete(['v'])).value, 2);
});

test('a commit is all or nothing, and has results', async () => {
  const commit = await db.atomic()
    .check({ prefix: ['shop', 'orders'], none: true })
    .set(['shop', 'orders', 1], { total: 3 })
    .sum(['shop', 'count'], 1n, { min: 0n, max: 5n, return: 'new' })
    .operations(['shop', 'log'], [{ op: 'set', path: '/a/b', value: 'x' }])
    .commit();
  assert.equal(commit.ok, true);
  assert.equal(commit.results[0], null);
  assert.equal(commit.results[1].value, 1n);
  const again = await db.atomic()
    .check({ of: ['shop', 'orders', 1], where: { path: '/total', ge: 4 } })
    .delete(['shop', 'orders', 1])
    .commit();
  assert.equal(again.ok, false);
  assert.deepEqual(again.failedChecks[0].key, ['shop', 'orders', 1]);
  const error = await fails(
    db.atomic().sum(['shop', 'count'], 9n, { max: 5n }).commit(),
    'out-of-bounds',
  );
  assert.equal(error.status, 409);
  assert.deepEqual(error.problem.present, { type: 'bigint', value: '1' });
});

test('time to live', async () => {
  await db.put(['ttl'], 1, { ttl: '1h' });
  const { expiresAt } = await db.get(['ttl']);
  assert.ok(expiresAt > Date.now() + 3000000);
  await db.atomic().touch(['ttl'], { expiresAt: 4102444800000 }).commit();
  assert.equal((await db.get(['ttl'])).expiresAt, 4102444800000);
});

test('a collection keeps its indexes', async () => {
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof value.email === 'string'
          ? { value: { ...value, seen: true } }
          : { issues: [{ message: 'no email' }] },
    },
  };
  const users = db.collection('users', {
    schema,
    indexes: {
      byEmail: { fields: ['/email'], unique: true, fold: 'lower' },
      byTown: { fields: ['/address/town', '/name'] },
    },
  });
  const indexes = await db.applyIndexes();
  assert.deepEqual(indexes.map(({ name, state }) => [name, state]), [
    ['users_by_email', 'ready'],
    ['users_by_town', 'ready'],
  ]);
  await db.applyIndexes();
  const ada = { name: 'Ada', email: 'Ada@x.org', address: { town: 'Rome' } };
  const bob = { name: 'Bob', email: 'bob@x.org', address: { town: 'Rome' } };
  await users.put('ada', ada);
  assert.ok(await users.create(7n, bob));
  assert.equal(await users.create(7n, bob), null);
  assert.deepEqual((await users.byEmail.get('ADA@x.org')).value, {
    ...ada,
    seen: true,
  });
  assert.equal(await users.byEmail.get('eve@x.org'), null);
  const rome = await all(users.byTown.list('Rome'));
  assert.deepEqual(rome.map(({ key }) => key), [['users', 'ada'], ['users', 7n]]);
  assert.equal(await users.byTown.count(['Rome', 'Bob']), 1);
  assert.equal(await users.count(), 2);
  const violation = await fails(users.put('c', ada), 'unique-violation');
  assert.equal(violation.index, 'users_by_email');
  assert.deepEqual(violation.value, ['ada@x.org']);
  assert.deepEqual(violation.existingKey, ['users', 'ada']);
  assert.deepEqual(violation.attemptedKey, ['users', 'c']);
  await users.byEmail.upsert('other', { ...bob, name: 'Robert' });
  assert.equal((await users.get(7n)).value.name, 'Robert');
  await users.byEmail.upsert('zoe', { ...bob, email: 'zoe@x.org' });
  assert.equal((await users.get('zoe')).value.email, 'zoe@x.org');
  await assert.rejects(users.put('d', { name: 'D' }), InvalidValueError);
  await Promise.all(Array.from({ length: 8 }, () =>
    users.update('ada', (user) => ({ ...user, logins: (user.logins ?? 0) + 1 }))));
  assert.equal((await users.get('ada')).value.logins, 8);
});

test('the indexes become those of the collections in one commit', async () => {
  const declare = (indexes) => {
    const other = connect(process.env.KINDEX_URL);
    other.collection('pens', { prefix: ['pens', 1n], indexes });
    return other;
  };
  await db.declareIndex({ name: 'pens_others', prefix: ['pens', 1n], fields: ['/x'] });
  await declare({ byColor: { fields: ['/color'] } }).applyIndexes();
  await db.put(['pens', 1n, 'a'], { color: 'red', size: 2 });
  // What is built has entries, and one that is there migrates.
  const [color, size] = await declare({
    byColor: { fields: ['/color'], store: 'value' }, bySize: { fields: ['/size'] },
  }).applyIndexes();
  assert.deepEqual([color.name, color.state, color.store, color.prefix],
    ['pens_by_color', 'ready', 'value', ['pens', 1n]]);
  assert.deepEqual([size.name, size.state, size.entries], ['pens_by_size', 'ready', 1]);
  assert.equal((await db.getIndex('pens_others')).state, 'ready');
  // One that is refused leaves all others as they were.
  const refused = declare({
    byName: { fields: ['/name'] }, bySize: { fields: ['no pointer'] },
  });
  const error = await fails(refused.applyIndexes(), 'bad-index-definition');
  assert.match(error.problem.pointer, /^\/pens_by_size\//);
  await fails(db.getIndex('pens_by_name'), 'index-not-found');
  assert.deepEqual(await connect(process.env.KINDEX_URL).applyIndexes(), []);
});

test('an index that cannot become ready is an error', async () => {
  await db.atomic().set(['twice', 1], { a: 'x' }).set(['twice', 2], { a: 'x' }).commit();
  const twice = connect(process.env.KINDEX_URL);
  twice.collection('twice', { indexes: { byA: { fields: ['/a'], unique: true } } });
  const error = await fails(twice.applyIndexes(), 'index-not-ready');
  assert.match(error.message, /^index twice_by_a is (conflicted|failed)$/);
  await db.dropIndex('twice_by_a');
  // Nor can one that is there become unique: its old form can still be read.
  const once = connect(process.env.KINDEX_URL);
  once.collection('twice', { indexes: { byA: { fields: ['/a'] } } });
  await once.applyIndexes();
  const stopped = await fails(twice.applyIndexes(), 'index-not-ready');
  assert.equal(stopped.message, 'index twice_by_a is conflicted');
  assert.equal(await db.count({ index: 'twice_by_a' }), 2);
  await db.dropIndex('twice_by_a');
});

test('a watch shows the last state, and ends with its signal', async () => {
  const stop = new AbortController();
  const events = db.watch([['w', 1], ['w', 2]], { signal: stop.signal });
  const first = await events.next();
  assert.deepEqual(first.value.map(({ value }) => value), [null, null]);
  await db.put(['w', 2], { n: 1 });
  const second = await events.next();
  assert.deepEqual(second.value.map(({ key, value }) => [key, value]), [
    [['w', 2], { n: 1 }],
  ]);
  const ended = assert.rejects(events.next());
  stop.abort();
  await ended;
  const changes = db.watchPrefix(['w']);
  assert.deepEqual((await changes.next()).value, { reset: true, entries: [] });
  await db.delete(['w', 2]);
  const { value: change } = await changes.next();
  assert.deepEqual(change.entries[0].key, ['w', 2]);
  await changes.return();
});

test('an index of changes is followed, and again from where it was left', async () => {
  await db.declareIndex({
    name: 'feed', prefix: ['f'], fields: [{ versionstamp: true }], tombstones: '1h',
  });
  await db.put(['f', 1], { n: 1 });
  let since;
  const copy = new Map();
  const until = async (wanted) => {
    for await (const change of db.watchIndex('feed', { since })) {
      for (const { key, value, deleted } of change.entries) {
        if (deleted) copy.delete(key[1]);
        else copy.set(key[1], value.n);
      }
      since = change.since ?? since;
      if (change.since && JSON.stringify([...copy]) === wanted) return;
    }
  };
  await until('[[1,1]]');
  await db.put(['f', 2], { n: 2 });
  await db.delete(['f', 1]);
  await until('[[2,2]]');
  const left = since;
  await db.put(['f', 2], { n: 3 });
  await until('[[2,3]]');
  assert.ok(left < since);
  since = '00000000000000000000';
  await assert.rejects(until(''), ({ code }) => code === 'history-gone');
  await db.dropIndex('feed');
});

test('a request is sent again until it has an answer, and done once', async () => {
  let calls = 0;
  const flaky = connect(process.env.KINDEX_URL, {
    fetch: async (...request) => {
      calls += 1;
      if (calls % 3 === 1) throw new TypeError('cut off');
      const response = await fetch(...request);
      if (calls % 3 === 2) throw new TypeError('the answer is lost');
      return response;
    },
  });
  for (let i = 0; i < 5; i++) {
    const { results } = await flaky.atomic()
      .sum(['once'], 1, { return: 'new' }).commit();
    assert.equal(results[0].value, i + 1);
  }
  assert.equal(calls, 15);
  const never = connect(process.env.KINDEX_URL, {
    retries: 1,
    fetch: () => Promise.reject(new TypeError('cut off')),
  });
  const error = await fails(never.get(['x']), 'no-answer');
  assert.equal(error.status, 0);
});

test('an answer that is cut off is no answer', async () => {
  const asked = [];
  const cut = connect(process.env.KINDEX_URL, {
    fetch: async (address, options) => {
      const response = await fetch(address, options);
      asked.push(options.headers.get('Idempotency-Key'));
      if (asked.length % 2 === 0) return response;
      const { body } = new Response((await response.text()).slice(0, 9));
      const reader = body.getReader();
      const half = new ReadableStream({
        async pull(controller) {
          const { done, value } = await reader.read();
          if (done) controller.error(new TypeError('cut off'));
          else controller.enqueue(value);
        },
      });
      return new Response(half, response);
    },
  });
  const { results } = await cut.atomic().sum(['cut once'], 1, { return: 'new' }).commit();
  assert.equal(results[0].value, 1);
  assert.deepEqual([asked.length, new Set(asked).size], [2, 1]);
  assert.equal((await cut.get(['cut once'])).value, 1);
  assert.equal(asked.length, 4);
});

test('a refusal that passes is waited for', async () => {
  const statuses = [503, 429, 503];
  const refusing = connect(process.env.KINDEX_URL, {
    fetch: (...request) => {
      const status = statuses.pop();
      if (!status) return fetch(...request);
      const headers = { 'Retry-After': status === 429 ? '1' : '0' };
      return Promise.resolve(new Response('not JSON', { status, headers }));
    },
  });
  assert.equal((await refusing.get(['missing'])).value, null);
  assert.equal(statuses.length, 0);
  const refused = connect(process.env.KINDEX_URL, {
    retries: 0,
    fetch: () => Promise.resolve(new Response('by a proxy', { status: 503 })),
  });
  const error = await fails(refused.get(['x']), 'no-answer');
  assert.deepEqual([error.status, error.message], [503, 'by a proxy']);
});

test('a watch that is cut off continues with what has changed', async () => {
  const asked = [];
  const cut = connect(process.env.KINDEX_URL, {
    fetch: async (address, options) => {
      const response = await fetch(address, options);
      asked.push(options.headers.get('Last-Event-ID'));
      if (asked.length > 1) return response;
      const reader = response.body.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return new Response(value, { headers: response.headers });
    },
  });
  const events = cut.watch([['cut']]);
  assert.equal((await events.next()).value[0].value, null);
  await db.put(['cut'], 1);
  assert.equal((await events.next()).value[0].value, 1);
  assert.deepEqual(asked, [null, '-']);
  await events.return();
});

test('each request has the token, and only some members are asked for', async () => {
  const seen = [];
  const named = connect(process.env.KINDEX_URL, {
    token: async () => 'secret',
    fetch: (address, options) => {
      seen.push(options.headers.get('Authorization'));
      const headers = new Headers(options.headers);
      headers.delete('Authorization');
      return fetch(address, { ...options, headers });
    },
  });
  await named.put(['members', 1], { a: 1, b: { c: 2, d: 3 } });
  const [entry] = await all(named.list({ prefix: ['members'], fields: ['/b/c'] }));
  assert.deepEqual(entry.value, { b: { c: 2 } });
  assert.deepEqual(seen, ['Bearer secret', 'Bearer secret']);
});

test('numbers keep the lesser or the greater, and an index can be dropped', async () => {
  await db.put(['least'], 5);
  await db.atomic().min(['least'], 3).commit();
  await db.atomic().max(['least'], 4).commit();
  assert.equal((await db.get(['least'])).value, 4);
  await db.declareIndex({ name: 'dropped', prefix: ['d', 1n], fields: ['/a'] });
  assert.deepEqual((await db.getIndex('dropped')).prefix, ['d', 1n]);
  await db.dropIndex('dropped');
});

test('the same store is a Deno.Kv', async () => {
  if (globalThis.Bun) {
    await assert.rejects(db.kv(), /Bun provides/); // @deno/kv says that it needs V8
    return;
  }
  const kv = await db.kv();
  await kv.set(['kv', 1], { at: new Date(5) });
  assert.deepEqual((await db.get(['kv', 1])).value, { at: new Date(5) });
  kv.close();
});

test('what the service refuses is thrown with its code', async () => {
  const error = await fails(db.get([]), 'bad-key');
  assert.equal(error.status, 400);
  assert.ok(error.hint);
});

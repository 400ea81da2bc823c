// Every operation and option of Deno.Kv but watch, against an empty store.
import assert from 'node:assert/strict';
import { collect, finish, KvU64, openKv, rest, runtime, sleep, test, until,
  url } from './kv.mjs';

const kv = await openKv();
const values = (entries) => entries.map((entry) => entry.value);
const lasts = (entries) => entries.map(({ key }) => key[key.length - 1]);
const value = async (key) => (await kv.get(key)).value;

// ---- One entry -------------------------------------------------------------

await test('a missing entry has no value and no versionstamp', async () => {
  assert.deepEqual(await kv.get(['none']),
    { key: ['none'], value: null, versionstamp: null });
});

await test('what is set is there, with the versionstamp of the commit', async () => {
  const result = await kv.set(['one'], { x: 1 });
  assert.equal(result.ok, true);
  assert.match(result.versionstamp, /^[0-9a-f]{20}$/);
  assert.deepEqual(await kv.get(['one']), { key: ['one'], value: { x: 1 },
    versionstamp: result.versionstamp });
  const again = await kv.set(['one'], 'other');
  assert.ok(again.versionstamp > result.versionstamp);
  assert.equal(await value(['one']), 'other');
});

await test('delete removes it, and does not mind a missing one', async () => {
  await kv.delete(['one']);
  await kv.delete(['one']);
  assert.equal((await kv.get(['one'])).versionstamp, null);
});

await test('null and undefined are values', async () => {
  await kv.set(['nothing', 1], null);
  await kv.set(['nothing', 2], undefined);
  const [one, two] = await kv.getMany([['nothing', 1], ['nothing', 2]]);
  assert.equal(one.value, null);
  assert.equal(two.value, undefined);
  assert.notEqual(one.versionstamp, null);
  assert.notEqual(two.versionstamp, null);
});

await test('getMany keeps the order, and the places of what is missing', async () => {
  for (let i = 0; i < 9; i++) await kv.set(['many', i], i);
  const keys = [8, 3, 'none', 0, 5].map((part) => ['many', part]);
  assert.deepEqual(values(await kv.getMany(keys)), [8, 3, null, 0, 5]);
  assert.deepEqual(values(await kv.getMany(keys,
    { consistency: 'eventual' })), [8, 3, null, 0, 5]);
});

// ---- Lists -----------------------------------------------------------------

for (let i = 0; i < 20; i++) await kv.set(['list', i], i);
await kv.set(['lis'], 'before');
await kv.set(['lisu', 0], 'behind');
const list = async (selector, options) =>
  lasts(await collect(kv.list(selector, options)));
const range = (from, to) =>
  Array.from({ length: to - from }, (_, i) => from + i);

await test('every selector', async () => {
  assert.deepEqual(await list({ prefix: ['list'] }), range(0, 20));
  assert.deepEqual(await list({ prefix: ['list'], start: ['list', 5] }),
    range(5, 20));
  assert.deepEqual(await list({ prefix: ['list'], end: ['list', 5] }),
    range(0, 5));
  assert.deepEqual(await list({ start: ['list', 3], end: ['list', 7] }),
    range(3, 7));
  assert.deepEqual(await list({ start: ['list', 7], end: ['list', 7] }), []);
  assert.deepEqual(await list({ prefix: ['nothing here'] }), []);
});

// @deno/kv takes -0 in a key for 0.
await test('keys of every type, in their order', async () => {
  const parts = [new Uint8Array(), new Uint8Array([0, 255]),
    new Uint8Array([1]), '', 'a', 'a\0', 'a\0b', 'b', 'é', '漢', '😀',
    -(2n ** 70n), -256n, -1n, 0n, 1n, 255n, 2n ** 64n, -Infinity, -1e300, -1.5,
    ...(runtime === 'Deno' ? [-0] : []), 0, 5e-324, 1, 1.5, Infinity, NaN, false, true];
  for (const part of [...parts].reverse()) await kv.set(['type', part], part);
  assert.deepEqual(await list({ prefix: ['type'] }), parts);
  assert.deepEqual(values(await collect(kv.list({ prefix: ['type'] }))), parts);
  for (const part of parts) {
    assert.deepEqual(await value(['type', part]), part);
    assert.equal(await value(['type', part, part]), null);
  }
});

await test('reverse, limit and batchSize', async () => {
  assert.deepEqual(await list({ prefix: ['list'] }, { reverse: true }),
    range(0, 20).reverse());
  assert.deepEqual(await list({ prefix: ['list'] }, { limit: 4 }), range(0, 4));
  for (const batchSize of [1, 3, 20, 21, 1000]) {
    assert.deepEqual(await list({ prefix: ['list'] }, { batchSize }),
      range(0, 20));
    assert.deepEqual(await list({ prefix: ['list'] },
      { batchSize, limit: 7, reverse: true }), range(13, 20).reverse());
  }
  assert.deepEqual(await list({ prefix: ['list'] },
    { consistency: 'eventual' }), range(0, 20));
});

await test('a cursor continues where a list has stopped', async () => {
  for (const reverse of [false, true]) {
    const seen = [];
    let cursor = '';
    do {
      const iterator = kv.list({ prefix: ['list'] },
        { limit: 6, reverse, cursor: cursor || undefined });
      const entries = await collect(iterator);
      seen.push(...lasts(entries));
      cursor = entries.length < 6 ? '' : iterator.cursor;
    } while (cursor !== '');
    assert.deepEqual(seen, reverse ? range(0, 20).reverse() : range(0, 20));
  }
});

await test('a full batch in spite of expired entries in between', async () => {
  for (let i = 0; i < 10; i++) {
    await kv.set(['gaps', i], i, i % 2 === 0 ? {} : { expireIn: 1 });
  }
  await sleep(5);
  assert.deepEqual(await list({ prefix: ['gaps'] }, { batchSize: 2 }),
    [0, 2, 4, 6, 8]);
});

// ---- Commits ---------------------------------------------------------------

await test('a check holds or fails, and then nothing happens', async () => {
  const { versionstamp } = await kv.set(['check'], 1);
  const set = (check) => kv.atomic().check(check).set(['check'], 2)
    .set(['beside'], 2).commit();
  assert.deepEqual(await set({ key: ['check'], versionstamp: null }),
    { ok: false });
  assert.equal(await value(['beside']), null);
  assert.equal((await set({ key: ['check'], versionstamp })).ok, true);
  assert.deepEqual(await set({ key: ['check'], versionstamp }), { ok: false });
  assert.equal((await kv.atomic().check(await kv.get(['check']))
    .check({ key: ['none'], versionstamp: null }).commit()).ok, true);
});

await test('a hundred checks and nine hundred mutations', async () => {
  const many = kv.atomic();
  for (let i = 0; i < 100; i++) {
    many.check({ key: ['absent', i], versionstamp: null });
  }
  for (let i = 0; i < 900; i++) many.set(['bulk', i], i);
  assert.equal((await many.commit()).ok, true);
  assert.equal((await collect(kv.list({ prefix: ['bulk'] }))).length, 900);
});

await test('mutations apply in order and share a versionstamp', async () => {
  const { versionstamp } = await kv.atomic().set(['order'], new KvU64(5n))
    .sum(['order'], 3n).max(['order'], 7n).min(['order'], 100n)
    .set(['gone'], 1).delete(['gone']).set(['twice'], 1).set(['twice'], 2)
    .commit();
  assert.deepEqual(await value(['order']), new KvU64(8n));
  assert.equal(await value(['gone']), null);
  assert.deepEqual(await kv.get(['twice']),
    { key: ['twice'], value: 2, versionstamp });
});

await test('an empty commit has a versionstamp', async () => {
  const first = await kv.atomic().commit();
  const second = await kv.atomic().commit();
  assert.ok(second.versionstamp > first.versionstamp);
});

await test('a sum of KvU64 wraps; a missing entry takes the operand', async () => {
  const most = 2n ** 64n - 1n;
  await kv.atomic().sum(['u64'], most).commit();
  assert.deepEqual(await value(['u64']), new KvU64(most));
  await kv.atomic().sum(['u64'], 2n).commit();
  assert.deepEqual(await value(['u64']), new KvU64(1n));
  await kv.atomic().max(['u64 max'], 3n).min(['u64 min'], 3n).commit();
  assert.deepEqual(await value(['u64 max']), new KvU64(3n));
  assert.deepEqual(await value(['u64 min']), new KvU64(3n));
});

await test('a mutation that does not fit leaves nothing of its commit', async () => {
  await kv.set(['text'], 'no number');
  for (const name of ['sum', 'min', 'max']) {
    const commit = kv.atomic().set(['trace'], 1)[name](['text'], 1n);
    await assert.rejects(commit.commit(), new RegExp(
      `Failed to perform '${name}' mutation on a non-U64 value in the database`));
  }
  assert.equal((await kv.get(['trace'])).versionstamp, null);
});

await test('an entry expires at its time', async () => {
  const hour = 3_600_000;
  await kv.set(['brief'], 1, { expireIn: hour });
  await kv.atomic().set(['brief too'], 1, { expireIn: hour }).commit();
  assert.equal(await value(['brief']), 1);
  assert.equal(await value(['brief too']), 1);
  await kv.set(['brief'], 1, { expireIn: 200 });
  await kv.atomic().set(['brief too'], 1, { expireIn: 200 }).commit();
  await kv.set(['kept'], 1, { expireIn: 200 });
  await kv.set(['kept'], 2);
  // As in Deno, a sum without a time ends the one that was there.
  await kv.set(['summed'], new KvU64(1n), { expireIn: 200 });
  await kv.atomic().sum(['summed'], 1n).commit();
  await until(() => value(['brief']), (seen) => seen === null);
  await until(() => value(['brief too']), (seen) => seen === null);
  assert.equal(await value(['kept']), 2);
  assert.deepEqual(await value(['summed']), new KvU64(2n));
  const summed = await rest('GET', '/list?start=summed&end=summee');
  assert.equal(summed.body.entries[0].expiresAt, undefined);
});

await test('many clients count without losing a step', async () => {
  const step = async () => {
    await kv.atomic().sum(['counter', 'sum'], 1n).commit();
    for (let done = false; !done;) {
      const seen = await kv.get(['counter', 'check']);
      done = (await kv.atomic().check(seen)
        .set(['counter', 'check'], (seen.value ?? 0) + 1).commit()).ok;
    }
  };
  await Promise.all(Array.from({ length: 16 }, async () => {
    for (let i = 0; i < 5; i++) await step();
  }));
  assert.deepEqual(await value(['counter', 'sum']), new KvU64(80n));
  assert.equal(await value(['counter', 'check']), 80);
});

if (runtime === 'Deno') {
  // @deno/kv shows it in a reversed list.
  await test('the prefix itself is not listed', async () => {
    await kv.set(['list'], 'the prefix itself');
    for (const reverse of [false, true]) {
      assert.equal((await list({ prefix: ['list'] }, { reverse })).length, 20);
    }
  });

  await test('a key can end with the versionstamp of its commit', async () => {
    const { versionstamp } = await kv.atomic()
      .set(['log', kv.commitVersionstamp()], 'a')
      .set(['log', 'x', kv.commitVersionstamp()], 'b').commit();
    assert.equal(await value(['log', versionstamp]), 'a');
    assert.equal(await value(['log', 'x', versionstamp]), 'b');
  });

  await test('sums of numbers and bigints', async () => {
    const sum = (key, number) =>
      kv.atomic().mutate({ type: 'sum', key, value: number }).commit();
    await sum(['number'], 1.5);
    await sum(['number'], 2);
    assert.equal(await value(['number']), 3.5);
    await sum(['bigint'], -(2n ** 70n));
    await sum(['bigint'], 1n);
    assert.equal(await value(['bigint']), 1n - 2n ** 70n);
    await assert.rejects(sum(['number'], 1n),
      /Cannot sum Number with BigInt/);
  });
}

if (runtime === 'Node') {
  await test('each version of the protocol is spoken', async () => {
    for (const version of [1, 2, 3]) {
      const old = await openKv(url, { supportedVersions: [version] });
      const { versionstamp } = await old.set(['version'], version);
      assert.deepEqual(await old.get(['version']),
        { key: ['version'], value: version, versionstamp });
      old.close();
    }
    await assert.rejects(openKv(url, { supportedVersions: [4] }), /400/);
  });
}

await test('queues are refused, and the commit with them', async () => {
  await assert.rejects(kv.enqueue('work'), /[Ee]nqueue operations are not supported/);
  await assert.rejects(kv.atomic().set(['queued'], 1).enqueue('work').commit());
  assert.equal(await value(['queued']), null);
});

// ---- Indexes ---------------------------------------------------------------

await test('a declared unique index refuses as a failed check does', async () => {
  const declared = await rest('POST', '/indexes', {
    name: 'people_by_email', prefix: ['people'], fields: ['/email'],
    unique: true });
  assert.ok(declared.status < 300);
  const add = (id, email) => kv.atomic()
    .check({ key: ['people', id], versionstamp: null })
    .set(['people', id], { email, joined: new Date(0) }).commit();
  assert.equal((await add(1, 'ada@x.org')).ok, true);
  assert.deepEqual(await add(2, 'ada@x.org'), { ok: false });
  assert.equal(await value(['people_by_email', 'ada@x.org']), 1);
  assert.equal(await value(['people', 2]), null);
});

await test('a mistake in an index kept by hand is refused', async () => {
  await assert.rejects(kv.set(['people_by_email', 'ada@x.org'], 9),
    /people_by_email/);
  assert.equal(
    (await kv.set(['people_by_email', 'ada@x.org'], 1)).ok, true);
});

kv.close();
finish();

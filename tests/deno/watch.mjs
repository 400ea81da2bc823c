// kv.watch: what is shown at first, what follows, and how it ends.
import assert from 'node:assert/strict';
import { finish, openKv, rest, runtime, test, until } from './kv.mjs';

const kv = await openKv();

// Reads a watch until a state is as wanted, and returns that state.
async function state(reader, wanted) {
  for (;;) {
    const { done, value } = await reader.read();
    assert.equal(done, false);
    if (wanted(value)) return value;
  }
}

const values = (entries) => entries.map((entry) => entry.value);
const seen = (...wanted) => (entries) =>
  JSON.stringify(values(entries)) === JSON.stringify(wanted);

await test('the first state is whole, and each later one is', async () => {
  await kv.set(['w', 1], 'one');
  const reader = kv.watch([['w', 1], ['w', 2], ['w', 3]]).getReader();
  const first = await state(reader, () => true);
  assert.deepEqual(values(first), ['one', null, null]);
  assert.deepEqual(first.map(({ key }) => key), [['w', 1], ['w', 2], ['w', 3]]);
  assert.equal(first[1].versionstamp, null);
  const { versionstamp } = await kv.set(['w', 2], 'two');
  const second = await state(reader, seen('one', 'two', null));
  assert.equal(second[1].versionstamp, versionstamp);
  assert.equal(second[0].versionstamp, first[0].versionstamp);
  await kv.delete(['w', 1]);
  await state(reader, seen(null, 'two', null));
  await reader.cancel();
});

await test('all of a commit is seen at once', async () => {
  await kv.set(['c', 0], 0);
  const reader = kv.watch([['c', 0], ['c', 1]]).getReader();
  await state(reader, seen(0, null));
  const torn = [];
  const last = state(reader, ([a, b]) => {
    if (a.value !== 0 && a.versionstamp !== b.versionstamp) torn.push([a, b]);
    return a.value === 50;
  });
  for (let i = 1; i <= 50; i++) {
    await kv.atomic().set(['c', 0], i).set(['c', 1], i).commit();
  }
  assert.deepEqual(values(await last), [50, 50]);
  assert.deepEqual(torn, []);
  await reader.cancel();
});

await test('after many quick changes the last one is seen', async () => {
  await kv.set(['quick'], 0);
  const reader = kv.watch([['quick']]).getReader();
  await state(reader, seen(0));
  for (let i = 1; i <= 200; i++) await kv.set(['quick'], i);
  await state(reader, seen(200));
  await reader.cancel();
});

await test('raw shows every state that comes', async () => {
  const reader = kv.watch([['raw']], { raw: true }).getReader();
  assert.deepEqual(values(await state(reader, () => true)), [null]);
  await kv.set(['raw'], 1);
  await state(reader, seen(1));
  await reader.cancel();
});

await test('an entry that expires is a change', async () => {
  await kv.set(['brief'], 1);
  const reader = kv.watch([['brief']]).getReader();
  await state(reader, seen(1));
  await kv.set(['brief'], 2, { expireIn: 300 }); // a slow client does not see it
  await state(reader, seen(null));
  await reader.cancel();
});

await test('ten keys with large values', async () => {
  const keys = Array.from({ length: 10 }, (_, i) => ['large', i]);
  const large = 'x'.repeat(60_000);
  for (const key of keys) await kv.set(key, large + key[1]);
  const reader = kv.watch(keys).getReader();
  const all = await state(reader, () => true);
  assert.deepEqual(values(all), keys.map((key) => large + key[1]));
  await kv.set(['large', 9], 'small');
  assert.equal((await state(reader, ([...entries]) =>
    entries[9].value === 'small'))[0].value, `${large}0`);
  await reader.cancel();
});

await test('an entry of an index is watched like any other', async () => {
  const declared = await rest('POST', '/indexes', { name: 'by_mail',
    prefix: ['member'], fields: ['/mail'], unique: true });
  assert.ok(declared.status < 300);
  await kv.set(['member', 0], { mail: 'a@x.org' });
  const reader = kv.watch([['by_mail', 'a@x.org'], ['by_mail', 'b@x.org']])
    .getReader();
  await state(reader, seen(0, null));
  await rest('PUT', '/kv/member/=0', { mail: 'b@x.org' });
  await state(reader, seen(null, 0));
  await reader.cancel();
});

if (runtime === 'Deno') {
  await test('watchers of the whole key are told', async () => {
    const last = await kv.set(['base'], 1);
    const stamp = (BigInt(`0x${last.versionstamp}`) + 0x10000n)
      .toString(16).padStart(20, '0');
    const reader = kv.watch([['log', stamp], ['base']]).getReader();
    await state(reader, seen(null, 1));
    const { versionstamp } = await kv.atomic()
      .set(['log', kv.commitVersionstamp()], 'told').commit();
    assert.equal(versionstamp, stamp);
    await state(reader, seen('told', 1));
    await reader.cancel();
  });
}

await test('a watch that is cancelled is gone from the server', async () => {
  const watches = async () => Number(
    /^kindex_watch_streams (\d+)$/m.exec((await rest('GET', '/metrics')).body)[1]);
  const before = await until(watches, (count) => count === 0);
  const readers = [];
  for (let i = 0; i < 5; i++) {
    const reader = kv.watch([['cancel', i], ['cancel']]).getReader();
    await kv.set(['cancel', i], i);
    await state(reader, ([entry]) => entry.value === i);
    readers.push(reader);
  }
  assert.equal(await watches(), before + 5);
  for (const reader of readers) await reader.cancel();
  await until(watches, (count) => count === before);
});

kv.close();
finish();

// Indexes over what Deno and Node store: a program that only sets its entries
// gets its indexes kept, also by what JSON cannot carry.
import assert from 'node:assert/strict';

import { collect, finish, openKv, rest, test } from './kv.mjs';

const kv = await openKv();

const ada = {
  id: 18446744073709551616n,
  name: 'Ada',
  email: 'Ada@Example.org',
  born: new Date('1815-12-10T00:00:00.000Z'),
  tags: new Set(['math', 'poetry']),
  code: new Uint8Array([1, 2, 3]),
};
const carl = { ...ada, id: 7n, name: 'Carl', email: 'carl@example.org' };
carl.born = new Date('1777-04-30T00:00:00.000Z');
carl.tags = ['math'];

async function declare(name, fields, more) {
  const declaration = { name, prefix: ['users'], fields, ...more };
  const { status } = await rest('POST', '/indexes', declaration);
  assert.ok(status < 300);
}

await declare('by_email', [{ path: '/email', fold: 'lower' }], { unique: true });
await declare('by_id', ['/id'], { unique: true, store: 'value' });
await declare('by_born', ['/born']);
await declare('by_tag', [{ path: '/tags', each: true }]);
await declare('by_code', ['/code', '/name']);
await declare('card', ['/name'], { store: { fields: ['/born', '/id'] } });

const keys = async (prefix) =>
  (await collect(kv.list({ prefix }))).map((entry) => entry.key.slice(1));

await kv.set(['users', 'ada'], ada);
await kv.set(['users', 'carl'], carl);

await test('a text, folded; a pointer is the part of the key', async () => {
  assert.equal((await kv.get(['by_email', 'ada@example.org'])).value, 'ada');
});

await test('a bigint; a copy is the value itself', async () => {
  assert.deepEqual((await kv.get(['by_id', ada.id])).value, ada);
  assert.equal((await kv.get(['by_id', 7])).value, null);
});

await test('a Date is its milliseconds', async () => {
  assert.deepEqual(await keys(['by_born']), [
    [+carl.born, 'carl'],
    [+ada.born, 'ada'],
  ]);
});

await test('the elements of a Set, and of an array', async () => {
  assert.deepEqual(await keys(['by_tag']), [
    ['math', 'ada'],
    ['math', 'carl'],
    ['poetry', 'ada'],
  ]);
});

await test('bytes', async () => {
  assert.deepEqual(await keys(['by_code', ada.code]), [
    [ada.code, 'Ada', 'ada'],
    [ada.code, 'Carl', 'carl'],
  ]);
});

await test('stored members keep their types', async () => {
  const { value } = await kv.get(['card', 'Ada', 'ada']);
  assert.deepEqual(value, { born: ada.born, id: ada.id });
});

await test('a second user of a unique bigint fails as a check does', async () => {
  const again = { ...carl, email: 'other@example.org', id: ada.id };
  const { ok } = await kv.atomic().set(['users', 'eve'], again).commit();
  assert.equal(ok, false);
  assert.equal((await kv.get(['users', 'eve'])).value, null);
});

await test('entries kept by hand are taken when they are right', async () => {
  const bob = { ...carl, id: 8n, name: 'Bob', email: 'bob@example.org' };
  const { ok } = await kv
    .atomic()
    .set(['users', 'bob'], bob)
    .set(['by_email', 'bob@example.org'], 'bob')
    .set(['by_id', 8n], bob)
    .set(['card', 'Bob', 'bob'], { id: 8n, born: bob.born })
    .commit();
  assert.equal(ok, true);
  const wrong = kv
    .atomic()
    .set(['users', 'bob'], bob)
    .set(['by_id', 8n], { ...bob, born: new Date(0) });
  await assert.rejects(wrong.commit(), /by_id/);
});

await test('what is changed or deleted moves in all of them', async () => {
  await kv.set(['users', 'ada'], { ...ada, tags: new Set(['engines']) });
  await kv.delete(['users', 'carl']);
  assert.deepEqual(await keys(['by_tag']), [
    ['engines', 'ada'],
    ['math', 'bob'],
  ]);
  assert.equal((await kv.get(['by_email', 'carl@example.org'])).value, null);
});

await test('references and holes hide no member from an index', async () => {
  const tag = { color: 'red', size: 1, weight: 2, note: 'seen' };
  const scores = [];
  scores[2000] = scores[4000] = scores[4500] = 1;
  const itself = { name: 'Dan', email: 'dan@example.org', born: ada.born, id: 9n };
  itself.self = itself;
  const values = {
    many: { list: new Array(5000).fill(tag), email: 'many@example.org' },
    holes: { scores, email: 'holes@example.org' },
    itself,
  };
  for (const [name, value] of Object.entries(values)) {
    await kv.set(['users', name], value);
    const twice = await kv.atomic().set(['users', 'twice'], value).commit();
    assert.equal(twice.ok, false, name);
    assert.equal((await kv.get(['by_email', value.email])).value, name);
  }
  assert.equal((await kv.get(['by_id', 9n])).value.self.name, 'Dan');
  const { body } = await rest('GET', '/kv/users/itself?fields=name,born,none');
  assert.deepEqual(body, { name: 'Dan', born: +ada.born });
});

kv.close();
finish();

// Keyv with its own suite for stores, and what that does not ask for.
import keyvTestSuite, { keyvIteratorTests } from '@keyv/test-suite';
import { Keyv } from 'keyv';
import { KeyvKindex } from 'kindex-adapters/keyv';
import * as vitest from 'vitest';
import { db, expectNoOther, expectRefusals, expectTimeToLive, nowhere, planted, until } from './lib.mjs';

const { expect, it } = vitest;

class Flawed extends KeyvKindex {
  async delete(name) {
    await super.delete(name);
    return true;
  }
}
const store = () => (planted ? new Flawed({ db }) : new KeyvKindex({ db }));

keyvTestSuite(vitest, Keyv, store);
keyvIteratorTests(vitest, Keyv, store);

it('the time to live is the server\'s', async () => {
  const keyv = new Keyv({ store: store() });
  const key = ['keyv', 'keyv:a'];
  await expectTimeToLive(key, 60_000, () => keyv.set('a', 1, 60_000));
  await keyv.set('a', 2);
  expect((await db.get(key)).expiresAt).toBeUndefined();
  await store().set('keyv:b', 'x', 1);
  await until(async () => await store().get('keyv:b') === undefined);
});

it('many are set in one commit', async () => {
  const keyv = new Keyv({ store: store() });
  const entries = Array.from({ length: 1001 }, (_, n) => ({ key: `m${n}`, value: n }));
  await keyv.setMany(entries);
  const stamps = new Set();
  const names = { start: ['keyv', 'keyv:m'], end: ['keyv', 'keyv:n'] };
  for await (const { versionstamp } of db.list(names)) {
    stamps.add(versionstamp);
  }
  expect(stamps.size).toBe(2);
  expect(await keyv.getMany(entries.map(({ key }) => key)))
    .toEqual(entries.map(({ value }) => value));
});

it('clear leaves other namespaces, and names that only begin alike', async () => {
  const cats = new Keyv({ store: store(), namespace: 'cats' });
  const more = new Keyv({ store: store(), namespace: 'cats2' });
  await cats.set('a', 1);
  await more.set('a', 2);
  await cats.clear();
  expect(await cats.get('a')).toBeUndefined();
  expect(await more.get('a')).toBe(2);
  await more.clear();
});

it('an iterator shows the entries of its namespace, more than a page of them', async () => {
  const keyv = new Keyv({ store: store(), namespace: 'pages' });
  const names = Array.from({ length: 250 }, (_, n) => `n${String(n).padStart(3, '0')}`);
  await keyv.setMany(names.map((key, value) => ({ key, value })));
  const seen = [];
  for await (const [name, value] of keyv.iterator()) seen.push([name, value]);
  expect(seen).toEqual(names.map((name, n) => [name, n]));
});

it('an option that it does not have is an error', () => expectNoOther((options) => new KeyvKindex(options)));

it('errors are errors', async () => {
  const options = { store: new KeyvKindex(nowhere), throwOnErrors: true };
  const keyv = new Keyv(options);
  keyv.on('error', () => {});
  await expect(keyv.get('a')).rejects.toThrow('does not answer');
  await expect(keyv.set('a', 1)).rejects.toThrow('does not answer');
  await expect(keyv.has('a')).rejects.toThrow('does not answer');
  await expect(keyv.delete('a')).rejects.toThrow('does not answer');
  await expect(keyv.delete(['a', 'b'])).rejects.toThrow('does not answer');
  await expect(keyv.iterator().next()).rejects.toThrow('does not answer');
});

it('refusals are errors', async () => {
  const keyv = new Keyv({ store: store(), throwOnErrors: true, namespace: 'refused' });
  keyv.on('error', () => {});
  await db.deleteRange({ prefix: ['keyv'] });
  await expectRefusals(['keyv'], '', (name, value) => keyv.set(name, value));
});

it('many are deleted, as many as there are', async () => {
  const names = Array.from({ length: 100 }, (_, n) => `d${n}`);
  await store().setMany(names.map((key) => ({ key, value: 1 })));
  expect(await store().deleteMany([...names, 'none'])).toBe(true);
  expect(await store().hasMany(names)).toEqual(names.map(() => false));
  if (!planted) expect(await store().deleteMany(names)).toBe(false);
});

it('values that are too large for one answer come all the same', async () => {
  const names = Array.from({ length: 20 }, (_, n) => `large${n}`);
  const value = 'x'.repeat(2 ** 20 - 100);
  for (const name of names) await store().set(name, value);
  expect(await store().getMany(names)).toEqual(names.map(() => value));
  await store().deleteMany(names);
});

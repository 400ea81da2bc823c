// What the tests of the adapters share. PLANTED=yes puts a flaw into each adapter,
// which its tests must find.
import { connect } from 'kindex';
import { expect } from 'vitest';

export const url = process.env.KINDEX_URL;
export const db = connect(url);
export const planted = process.env.PLANTED === 'yes';

// Where nothing listens: an error must come, not a value.
export const nowhere = { url: 'http://127.0.0.1:1', retries: 0 };

/** Holds if the entry lives as long as `ms` from some time in `work`. */
export async function expectTimeToLive(key, ms, work) {
  const before = Date.now();
  await work();
  const { expiresAt } = await db.get(key);
  expect(expiresAt).toBeGreaterThanOrEqual(before + ms);
  expect(expiresAt).toBeLessThanOrEqual(Date.now() + ms);
}

/**
 * `set(name, value)` stores a value whose member at `field` must be unique, and is text.
 * Refusals of the service must be thrown as they are, and nothing be stored.
 */
export async function expectRefusals(prefix, field, set) {
  await db.declareIndex({ name: 'refusing', prefix, fields: [field], unique: true });
  await set('first', 'x');
  const [{ key }] = await all(db.list({ prefix, keys: true }));
  await expect(set('second', 'x')).rejects
    .toMatchObject({ code: 'unique-violation', existingKey: key });
  await db.dropIndex('refusing');
  await expect(set('large', 'x'.repeat(2 ** 20 + 1))).rejects
    .toMatchObject({ code: 'value-too-large' });
  expect(await db.count({ prefix })).toBe(1);
}

/** `open(options)` makes an adapter; an option that it does not have must be an error. */
export function expectNoOther(open) {
  expect(() => open({ db, prefx: ['a'] })).toThrow('options has no member prefx beside db');
  expect(() => open({ url, prefx: ['a'] })).toThrow('options has no member prefx: there are');
  expect(() => open({ url, token: 'a', prefix: ['a'], retries: 0 })).not.toThrow();
}

async function all(entries) {
  const found = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

/** Resolves once `found` resolves to a true value. */
export async function until(found) {
  while (!await found()) await new Promise((resolve) => { setTimeout(resolve, 5); });
}

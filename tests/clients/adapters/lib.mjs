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

/** Resolves once `found` resolves to a true value. */
export async function until(found) {
  while (!await found()) await new Promise((resolve) => { setTimeout(resolve, 5); });
}

// What the tests of the client share: the client that KINDEX_CLIENT names,
// which this runtime runs, and a server at KINDEX_URL.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const file = process.env.KINDEX_CLIENT;
export const kindex = file.includes('/cjs/') ? createRequire(file)(file) : await import(file);
export const url = process.env.KINDEX_URL;
export const db = kindex.connect(url);

export async function all(entries) {
  const found = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

export async function fails(promise, code) {
  const error = await promise.then(
    () => assert.fail('no error'),
    (caught) => caught,
  );
  assert.ok(error instanceof kindex.KindexError, String(error));
  assert.equal(error.code, code);
  return error;
}

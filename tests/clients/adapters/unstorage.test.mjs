// unstorage ships no suite for drivers, so that the same tests run over the driver
// for memory that it has, over ours, and over the one for Deno KV that it has.
import { kindexDriver } from 'kindex-adapters/unstorage';
import { createStorage, restoreSnapshot, snapshot } from 'unstorage';
import denoDriver from 'unstorage/drivers/deno-kv-node';
import memoryDriver from 'unstorage/drivers/memory';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { connect } from 'kindex';
import { db, expectNoOther, expectRefusals, expectTimeToLive, nowhere, planted, until, url } from './lib.mjs';

function newDriver() {
  const driver = kindexDriver({ db });
  // A driver that takes a base for the beginning of a name.
  if (planted) driver.getKeys = async () => ['a', 'ab'];
  return driver;
}
const openKvOptions = { accessToken: 'any token' };
const drivers = {
  memory: memoryDriver,
  kindex: newDriver,
  'deno-kv-node': () => denoDriver({ path: url, base: 'deno', openKvOptions }),
};

describe.each(Object.entries(drivers))('the driver %s', (_, make) => {
  const storage = createStorage({ driver: make() });
  afterEach(() => storage.clear());
  afterAll(() => storage.dispose());
  const sorted = async (...of) => (await storage.getKeys(...of)).sort();

  it('has nothing at first', async () => {
    expect(await storage.hasItem('a')).toBe(false);
    expect(await storage.getItem('a')).toBe(null);
    expect(await storage.getItemRaw('a') ?? null).toBe(null);
    expect(await storage.getKeys()).toEqual([]);
    await storage.clear();
    await storage.removeItem('a');
  });

  it.each([
    ['text', 'a text'],
    ['an empty text', ''],
    ['zero', 0],
    ['false', false],
    ['null', null],
    ['a list', [1, 'b', { c: [] }]],
    ['an object', { a: { b: 'ü' }, n: 1.5 }],
  ])('gives back %s', async (name, value) => {
    await storage.setItem('v:a', value);
    expect(await storage.getItem('v:a')).toEqual(value);
    expect(await storage.getItems(['v:a', { key: 'v:none' }])).toEqual([
      { key: 'v:a', value },
      { key: 'v:none', value: null },
    ]);
  });

  it('gives back bytes', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
    await storage.setItemRaw('raw.bin', bytes);
    expect(new Uint8Array(await storage.getItemRaw('raw.bin'))).toEqual(bytes);
  });

  it('lists by base, and as deep as it is told', async () => {
    for (const name of ['a', 'ab', 'a:b', 'a:b:c', 'ab:c']) await storage.setItem(name, 1);
    expect(await sorted()).toEqual(['a', 'a:b', 'a:b:c', 'ab', 'ab:c']);
    expect(await sorted('a')).toEqual(['a:b', 'a:b:c']);
    expect(await sorted('a:b')).toEqual(['a:b:c']);
    expect(await sorted(undefined, { maxDepth: 1 })).toEqual(['a', 'a:b', 'ab', 'ab:c']);
  });

  it('removes one item, or all', async () => {
    for (const name of ['a', 'ab', 'a:b']) await storage.setItem(name, 1);
    await storage.removeItem('a');
    expect(await storage.hasItem('a')).toBe(false);
    expect(await sorted()).toEqual(['a:b', 'ab']);
    await storage.clear();
    expect(await sorted()).toEqual([]);
  });

  it('sets many items', async () => {
    const items = Array.from({ length: 300 }, (_, n) => ({ key: `t:${n}`, value: { n } }));
    await storage.setItems(items);
    expect(await storage.getItems(items.map(({ key }) => key))).toEqual(items);
  });

  it('is restored from a snapshot', async () => {
    await storage.setItems([{ key: 's:a', value: '1' }, { key: 's:b:c', value: 'x' }]);
    const saved = await snapshot(storage, 's');
    await storage.clear();
    await restoreSnapshot(storage, saved, 'r');
    expect(await storage.getItem('r:a')).toBe(1);
    expect(await storage.getItem('r:b:c')).toBe('x');
  });
});

describe('the driver kindex, further', () => {
  const storage = createStorage({ driver: newDriver() });
  afterEach(() => storage.clear());
  afterAll(() => storage.dispose());

  it('lets the server end what has a time to live', async () => {
    const key = ['unstorage', 'a', 'b'];
    await expectTimeToLive(key, 60_000, () => storage.setItem('a:b', 1, { ttl: 60 }));
    await expectTimeToLive(key, 30_000, () => storage.setItems([{ key: 'a:b', value: 1 }], { ttl: 30 }));
    const brief = createStorage({ driver: kindexDriver({ db, ttl: 0.001 }) });
    await brief.setItem('c', 1);
    await until(async () => await brief.getItem('c') === null);
    await storage.setItem('a:b', 2);
    expect((await db.get(key)).expiresAt).toBeUndefined();
  });

  it('sets many items in one commit', async () => {
    await storage.setItems([{ key: 'a', value: 1 }, { key: 'b', value: 2 }]);
    const [a, b] = await db.getMany([['unstorage', 'a'], ['unstorage', 'b']]);
    expect(a.versionstamp).toBe(b.versionstamp);
  });

  it('tells of changes that others make', async () => {
    const seen = [];
    const stop = await storage.watch((event, key) => { seen.push(`${event} ${key}`); });
    const other = createStorage({ driver: newDriver() });
    await other.setItem('a:b', 1);
    await until(() => seen.includes('update a:b'));
    await other.removeItem('a:b');
    await until(() => seen.includes('remove a:b'));
    await stop();
  });

  // A client whose watch ends after its first event, and is then refused.
  const revoked = (statuses) => connect(url, {
    fetch: async (address, options) => {
      if (statuses.shift() === 401) {
        const problem = { status: 401, code: 'unauthorized', detail: 'no such token' };
        return new Response(JSON.stringify(problem), { status: 401 });
      }
      const response = await fetch(address, options);
      const reader = response.body.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return new Response(value, response);
    },
  });

  it('says why a watch has ended', async () => {
    const errors = [];
    const options = { onError: (error) => { errors.push(error); } };
    const told = createStorage({ driver: kindexDriver({ db: revoked([200, 401]), ...options }) });
    await told.watch(() => {});
    await until(() => errors.length > 0);
    expect(errors.map(({ code }) => code)).toEqual(['unauthorized']);

    const shown = vi.spyOn(console, 'error').mockImplementation(() => {});
    const quiet = createStorage({ driver: kindexDriver({ db: revoked([200, 401]) }) });
    await quiet.watch(() => {});
    await until(() => shown.mock.calls.length > 0);
    expect(shown.mock.calls[0][0].code).toBe('unauthorized');
    shown.mockRestore();

    const never = createStorage({ driver: kindexDriver({ db: revoked([401]), ...options }) });
    await expect(never.watch(() => {})).rejects.toMatchObject({ code: 'unauthorized' });
    expect(errors.length).toBe(1);
  });

  it('says nothing of a watch that was stopped', async () => {
    const errors = [];
    const own = createStorage({ driver: kindexDriver({ db, onError: (e) => { errors.push(e); } }) });
    const stop = await own.watch(() => {});
    await stop();
    await own.watch(() => {});
    await own.dispose();
    await db.get(['x']);
    expect(errors).toEqual([]);
  });

  it('makes errors of options that it does not have', () => expectNoOther(kindexDriver));

  it('makes errors of refusals', () =>
    expectRefusals(['unstorage'], '', (name, value) => storage.setItem(name, value)));

  it('clears a base', async () => {
    const driver = newDriver();
    for (const name of ['a', 'ab', 'a:b', 'a:c:d']) await storage.setItem(name, 1);
    await driver.clear('a:');
    expect((await storage.getKeys()).sort()).toEqual(['a', 'ab']);
  });

  it('keeps apart what has another prefix', async () => {
    const other = createStorage({ driver: kindexDriver({ url, prefix: ['cache', 7] }) });
    await other.setItem('a', 'there');
    expect(await storage.getItem('a')).toBe(null);
    expect((await db.get(['cache', 7, 'a'])).value).toBe('there');
    await other.clear();
  });

  it('makes errors of errors', async () => {
    const broken = createStorage({ driver: kindexDriver(nowhere) });
    await expect(broken.getItem('a')).rejects.toThrow('does not answer');
    await expect(broken.setItem('a', 1)).rejects.toThrow('does not answer');
    await expect(broken.getKeys()).rejects.toThrow('does not answer');
    await expect(broken.hasItem('a')).rejects.toThrow('does not answer');
    await expect(broken.getItems(['a'])).rejects.toThrow('does not answer');
    await expect(broken.removeItem('a')).rejects.toThrow('does not answer');
    await expect(kindexDriver(nowhere).clear('a')).rejects.toThrow('does not answer');
  });
});

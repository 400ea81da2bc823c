// Better Auth ships no suite for secondary storage: its interface is tested here, and
// it signs people up, in and out with it, and counts their requests.
import { webcrypto } from 'node:crypto';
import { kindexStorage } from 'kindex-adapters/better-auth';
import { afterEach, describe, expect, it } from 'vitest';
import { db, expectNoOther, expectRefusals, expectTimeToLive, nowhere, planted, until } from './lib.mjs';

globalThis.crypto ??= webcrypto; // Node 18
const { betterAuth } = await import('better-auth');
const { memoryAdapter } = await import('better-auth/adapters/memory');

// As on a store without such commits: a read, then a write.
function flawed(storage) {
  return {
    ...storage,
    async increment(name, ttl) {
      const count = Number(await storage.get(name)) + 1;
      await storage.set(name, String(count), ttl);
      return count;
    },
    async getAndDelete(name) {
      const value = await storage.get(name);
      await storage.delete(name);
      return value;
    },
  };
}
const storage = planted ? flawed(kindexStorage({ db })) : kindexStorage({ db });
const CALLERS = 50;
const atOnce = (work) => Promise.all(Array.from({ length: CALLERS }, work));

afterEach(() => db.deleteRange({ prefix: ['better-auth'] }));

describe('secondary storage', () => {
  it('gives back what was set, and null without it', async () => {
    expect(await storage.get('a')).toBe(null);
    for (const text of ['', '1', 'null', '{"a":"ü\\u0000"}']) {
      await storage.set('a', text);
      expect(await storage.get('a')).toBe(text);
    }
    await storage.delete('a');
    await storage.delete('a');
    expect(await storage.get('a')).toBe(null);
  });

  it('lets the server end what has a time to live', async () => {
    const key = ['better-auth', 'a'];
    await expectTimeToLive(key, 60_000, () => storage.set('a', 'x', 60));
    await storage.set('a', 'y');
    expect((await db.get(key)).expiresAt).toBeUndefined();
    await storage.set('a', 'z', 1);
    await until(async () => await storage.get('a') === null);
  });

  it('counts every caller once, in a window that the first one opens', async () => {
    const counts = await atOnce(() => storage.increment('n', 60));
    expect(counts.sort((a, b) => a - b))
      .toEqual(Array.from({ length: CALLERS }, (_, n) => n + 1));
    const { expiresAt } = await db.get(['better-auth', 'n']);
    expect(await storage.increment('n', 3600)).toBe(CALLERS + 1);
    expect((await db.get(['better-auth', 'n'])).expiresAt).toBe(expiresAt);
    expect(await storage.get('n')).toBe(String(CALLERS + 1));
  });

  it('begins a new window after the end of one', async () => {
    await storage.increment('n', 1);
    await until(async () => await storage.get('n') === null);
    expect(await storage.increment('n', 60)).toBe(1);
  });

  it('gives a value to one caller only', async () => {
    for (let round = 0; round < 5; round++) {
      await storage.set('code', '123456', 60);
      const values = await atOnce(() => storage.getAndDelete('code'));
      expect(values.filter((value) => value !== null)).toEqual(['123456']);
    }
  });

  it('makes errors of options that it does not have', () => expectNoOther(kindexStorage));

  it('makes errors of refusals', () =>
    expectRefusals(['better-auth'], '', (name, value) => storage.set(name, value, 0.5)));

  it('makes errors of errors', async () => {
    const broken = kindexStorage(nowhere);
    await expect(broken.get('a')).rejects.toThrow('does not answer');
    await expect(broken.set('a', '')).rejects.toThrow('does not answer');
    await expect(broken.increment('a', 1)).rejects.toThrow('does not answer');
    await expect(broken.getAndDelete('a')).rejects.toThrow('does not answer');
  });
});

describe('Better Auth', () => {
  const tables = { user: [], session: [], account: [], verification: [] };
  const auth = betterAuth({
    baseURL: 'http://auth.example',
    secret: 'a secret of the test, long enough for it',
    database: memoryAdapter(tables),
    secondaryStorage: storage,
    emailAndPassword: { enabled: true },
    rateLimit: {
      enabled: true,
      storage: 'secondary-storage',
      customRules: { '/get-session': { window: 3600, max: 5 } },
    },
  });
  const ask = (path, body, cookie = '') => auth.handler(
    new Request(`http://auth.example/api/auth${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        'Content-Type': 'application/json',
        Origin: 'http://auth.example',
        'X-Forwarded-For': '192.0.2.7',
        Cookie: cookie,
      },
      body: body && JSON.stringify(body),
    }),
  );
  const ada = { name: 'Ada', email: 'ada@example.org', password: 'correct horse' };

  it('keeps sessions there, and limits requests', async () => {
    const signedUp = await ask('/sign-up/email', ada);
    expect(signedUp.status).toBe(200);
    const cookie = signedUp.headers.get('Set-Cookie').split(';')[0];
    expect(tables.session).toEqual([]);

    const session = await (await ask('/get-session', null, cookie)).json();
    expect(session.user.email).toBe(ada.email);
    const { value, expiresAt } = await db.get(['better-auth', session.session.token]);
    expect(JSON.parse(value).user.name).toBe('Ada');
    expect(expiresAt).toBeGreaterThan(Date.now());

    expect((await ask('/sign-out', {}, cookie)).status).toBe(200);
    expect(await storage.get(session.session.token)).toBe(null);

    const statuses = await Promise.all(Array.from({ length: 20 }, async () =>
      (await ask('/get-session', null, cookie)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(4);
    expect(statuses.filter((status) => status === 429)).toHaveLength(16);
  });
});

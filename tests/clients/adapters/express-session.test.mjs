// express-session with the suite of connect-redis, and over HTTP.
import http from 'node:http';
import session from 'express-session';
import { ExactNumber } from 'kindex';
import { KindexStore } from 'kindex-adapters/express-session';
import { afterEach, describe, expect, it } from 'vitest';
import { lifecycleTest } from './connect-redis.ts';
import { db, expectNoOther, expectRefusals, expectTimeToLive, nowhere, planted, until, url } from './lib.mjs';

class Flawed extends KindexStore {
  async touch(sid, data, callback) {
    callback?.(null);
  }
}
const newStore = (options = { db }) =>
  (planted ? new Flawed(options) : new KindexStore(options));

afterEach(() => db.deleteRange({ prefix: ['sessions'] }));

// The suite asks Redis for seconds that are left. Its times are multiples of half a
// minute; rounded to these they do not depend on how long a request takes.
const redis = {
  async ttl(name) {
    const { expiresAt } = await db.get(['sessions', name.replace('sess:', '')]);
    return 30 * Math.round((expiresAt - Date.now()) / 30_000);
  },
};
it('passes the suite of connect-redis', () => lifecycleTest(newStore(), redis));

describe('a store', () => {
  const store = newStore();
  const alive = (ms) => ({
    cookie: { originalMaxAge: ms, expires: new Date(Date.now() + ms) },
    user: 'ada',
  });

  it('has what express-session calls, with callbacks', async () => {
    const called = (method, ...args) => new Promise((resolve, reject) => {
      store[method](...args, (error, result) => (error ? reject(error) : resolve(result)));
    });
    expect(await called('get', 'none')).toBe(null);
    await called('set', 's1', alive(60_000));
    expect((await called('get', 's1')).user).toBe('ada');
    await called('touch', 's1', alive(90_000));
    await called('touch', 'none', alive(90_000));
    expect(await called('get', 'none')).toBe(null);
    expect(await called('length')).toBe(1);
    expect(await called('ids')).toEqual(['s1']);
    expect((await called('all')).map(({ id, user }) => [id, user])).toEqual([['s1', 'ada']]);
    await called('destroy', 's1');
    await called('clear');
    expect(await called('length')).toBe(0);
  });

  it('lets the server end sessions', async () => {
    const key = ['sessions', 's1'];
    const forDay = { cookie: {}, user: 'ada' };
    await expectTimeToLive(key, 86_400_000, () => store.set('s1', forDay));
    await store.set('s1', alive(200));
    await until(async () => await store.get('s1') === null);
    await store.set('s1', alive(60_000));
    await store.touch('s1', alive(-1));
    expect(await store.get('s1')).toBe(null);
  });

  it('finds the sessions of a user by an index', async () => {
    await db.declareIndex({
      name: 'sessions_by_user', prefix: ['sessions'], fields: ['/user'],
    });
    await store.set('s1', alive(60_000));
    await store.set('s2', { ...alive(60_000), user: 'bo' });
    expect(await db.deleteRange({ index: 'sessions_by_user', prefix: ['ada'] })).toBe(1);
    expect(await store.ids()).toEqual(['s2']);
    await db.dropIndex('sessions_by_user');
  });

  it('makes errors of options that it does not have', () => expectNoOther((options) => new KindexStore(options)));

  it('keeps the digits of a number that another program has stored', async () => {
    const body = '{"cookie":{},"account":12345678901234567891,"rate":0.1000000000000000055511151231257827}';
    const address = `${url}/kv/sessions/s1`;
    const headers = { 'Content-Type': 'application/json' };
    expect((await fetch(address, { method: 'PUT', headers, body })).status).toBe(201);
    const found = await store.get('s1');
    expect(found.account).toBeInstanceOf(ExactNumber);
    await store.set('s1', { ...found, cookie: new session.Cookie({ maxAge: 60_000 }) });
    const stored = await (await fetch(address)).text();
    expect(stored).toContain('"account":12345678901234567891,"rate":0.1000000000000000055511151231257827');
    expect(stored).toContain('"originalMaxAge":60000');
  });

  it('makes errors of refusals', () =>
    expectRefusals(['sessions'], '/user', (name, user) =>
      store.set(name, { ...alive(60_000), user })));

  it('makes errors of errors', async () => {
    const broken = newStore(nowhere);
    await expect(broken.get('a')).rejects.toThrow('does not answer');
    await expect(broken.destroy('a')).rejects.toThrow('does not answer');
    for (const method of ['clear', 'length', 'ids', 'all']) {
      await expect(broken[method]()).rejects.toThrow('does not answer');
    }
    if (!planted) {
      await expect(broken.touch('a', alive(60_000))).rejects.toThrow('does not answer');
    }
    const error = await new Promise((resolve) => {
      broken.set('a', alive(60_000), resolve);
    });
    expect(error.code).toBe('no-answer');
  });
});

it('keeps a session over HTTP', async () => {
  const middleware = session({
    store: newStore(),
    secret: 'a secret of the test',
    resave: false,
    saveUninitialized: false,
    cookie: { maxAge: 60_000 },
  });
  const server = http.createServer((request, response) => {
    middleware(request, response, (error) => {
      if (error) return response.writeHead(500).end(String(error));
      if (request.url === '/out') return request.session.destroy(() => response.end('out'));
      if (request.url === '/in') request.session.views = (request.session.views ?? 0) + 1;
      return response.end(String(request.session.views ?? 0));
    });
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const address = `http://127.0.0.1:${server.address().port}`;
  let Cookie = '';
  const ask = async (path) => {
    const response = await fetch(address + path, { headers: { Cookie } });
    Cookie = response.headers.get('Set-Cookie')?.split(';')[0] ?? Cookie;
    return await response.text();
  };
  expect(await ask('/look')).toBe('0');
  expect(Cookie).toBe('');
  expect(await ask('/in')).toBe('1');
  expect(await ask('/in')).toBe('2');
  // A look alone is a touch, which makes the session last longer.
  const { key, versionstamp } = (await db.list({ prefix: ['sessions'] }).next()).value;
  expect(await ask('/look')).toBe('2');
  expect((await db.get(key)).versionstamp).not.toBe(versionstamp);
  expect(await ask('/out')).toBe('out');
  expect(await ask('/look')).toBe('0');
  await new Promise((resolve) => { server.close(resolve); });
});

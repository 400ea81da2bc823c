// The programs of Deno's guide to secondary indexes: its functions, with the
// same calls in the same order, on an index that they keep by hand and on one
// that is declared. Both must behave alike; the declared one also minds what
// is written by others.
import assert from 'node:assert/strict';
import { collect, finish, openKv, rest, test, until } from './kv.mjs';

const kv = await openKv();

// ---- Pointers: the index holds the key of the user -------------------------

const pointers = {
  async insertUser(user) {
    const primary = ['users', user.id];
    const byEmail = ['users_by_email', user.email.toLowerCase()];
    const result = await kv.atomic()
      .check({ key: primary, versionstamp: null })
      .check({ key: byEmail, versionstamp: null })
      .set(primary, user)
      .set(byEmail, user.id)
      .commit();
    if (!result.ok) throw new TypeError('there is such a user');
  },

  async getUserByEmail(email) {
    const id = await kv.get(['users_by_email', email.toLowerCase()]);
    if (!id.value) return null;
    return (await kv.get(['users', id.value])).value;
  },

  async deleteUser(id) {
    let result = { ok: false };
    while (!result.ok) {
      const user = await kv.get(['users', id]);
      if (user.value === null) return;
      result = await kv.atomic()
        .check(user)
        .delete(['users', id])
        .delete(['users_by_email', user.value.email.toLowerCase()])
        .commit();
    }
  },

  async insertByColor(user) {
    const primary = ['users', user.id];
    await kv.atomic()
      .check({ key: primary, versionstamp: null })
      .set(primary, user)
      .set(['users_by_favorite_color', user.favoriteColor, user.id], user.id)
      .commit();
  },

  async getUsersByFavoriteColor(color) {
    const found = await collect(
      kv.list({ prefix: ['users_by_favorite_color', color] }));
    if (found.length === 0) return [];
    const users = await kv.getMany(found.map(({ value }) => ['users', value]));
    return users.map((user) => user.value).filter(Boolean);
  },
};

// ---- Duplicated values: the index holds the user ---------------------------

const copies = {
  async insertUser(user) {
    const primary = ['users', user.id];
    const byEmail = ['users_by_email', user.email];
    const result = await kv.atomic()
      .check({ key: primary, versionstamp: null })
      .check({ key: byEmail, versionstamp: null })
      .set(primary, user)
      .set(byEmail, user)
      .commit();
    if (!result.ok) throw new TypeError('there is such a user');
  },

  async getUserByEmail(email) {
    return (await kv.get(['users_by_email', email])).value;
  },

  async deleteUser(id) {
    let result = { ok: false };
    while (!result.ok) {
      const user = await kv.get(['users', id]);
      if (user.value === null) return;
      result = await kv.atomic()
        .check(user)
        .delete(['users', id])
        .delete(['users_by_email', user.value.email])
        .commit();
    }
  },

  async insertByColor(user) {
    const primary = ['users', user.id];
    await kv.atomic()
      .check({ key: primary, versionstamp: null })
      .set(primary, user)
      .set(['users_by_favorite_color', user.favoriteColor, user.id], user)
      .commit();
  },

  async getUsersByFavoriteColor(color) {
    const found = await collect(
      kv.list({ prefix: ['users_by_favorite_color', color] }));
    return found.map(({ value }) => value);
  },
};

const getUser = async (id) => (await kv.get(['users', id])).value;

// ---- What both must do -----------------------------------------------------

const ada = { id: '1', name: 'Ada', email: 'Ada@x.org', favoriteColor: 'blue' };
const bo = { id: '2', name: 'Bo', email: 'bo@x.org', favoriteColor: 'blue' };
const cy = { id: '3', name: 'Cy', email: 'cy@x.org', favoriteColor: 'red' };

async function declare(name, body) {
  const { status } = await rest('POST', '/indexes',
    { name, prefix: ['users'], ...body });
  assert.ok(status < 300, `status ${status}`);
  await until(async () => (await rest('GET', `/indexes/${name}`)).body.state,
    (state) => state === 'ready');
}

async function clear(...names) {
  for (const name of names) {
    await rest('DELETE', `/indexes/${name}`);
    await rest('DELETE', `/list?prefix=${name}`);
  }
  await rest('DELETE', '/list?prefix=users');
  assert.deepEqual(await collect(kv.list({ prefix: [] })), []);
}

async function emails(guide, declared) {
  await guide.insertUser(ada);
  await guide.insertUser(bo);
  await assert.rejects(guide.insertUser(ada), TypeError);
  await assert.rejects(guide.insertUser({ ...cy, email: bo.email }), TypeError);
  assert.equal(await getUser('3'), null);
  assert.deepEqual(await getUser('1'), ada);
  assert.deepEqual(await guide.getUserByEmail(ada.email), ada);
  assert.equal(await guide.getUserByEmail('no@x.org'), null);
  await guide.deleteUser('1');
  await guide.deleteUser('1');
  assert.equal(await getUser('1'), null);
  assert.equal(await guide.getUserByEmail(ada.email), null);
  await guide.insertUser({ ...cy, email: ada.email });
  assert.equal((await guide.getUserByEmail(ada.email)).name, 'Cy');
  if (!declared) return;
  // The program does not mention the index.
  await kv.set(['users', '4'], { ...ada, id: '4', email: 'new@x.org' });
  assert.equal((await guide.getUserByEmail('new@x.org')).id, '4');
  const moved = await rest('PATCH', '/kv/users/4', { email: 'moved@x.org' });
  assert.equal(moved.status, 200);
  assert.equal(await guide.getUserByEmail('new@x.org'), null);
  assert.equal((await guide.getUserByEmail('moved@x.org')).id, '4');
  // A mistake is refused: the address of another user.
  await assert.rejects(kv.set(['users_by_email', 'moved@x.org'], '2'), /"moved@x.org"/);
}

async function colors(guide, declared) {
  await guide.insertByColor(ada);
  await guide.insertByColor(bo);
  await guide.insertByColor(cy);
  assert.deepEqual(await guide.getUsersByFavoriteColor('blue'), [ada, bo]);
  assert.deepEqual(await guide.getUsersByFavoriteColor('red'), [cy]);
  assert.deepEqual(await guide.getUsersByFavoriteColor('green'), []);
  if (!declared) return;
  await kv.set(['users', '1'], { ...ada, favoriteColor: 'red' });
  await kv.delete(['users', '3']);
  assert.deepEqual(await guide.getUsersByFavoriteColor('blue'), [bo]);
  assert.deepEqual(await guide.getUsersByFavoriteColor('red'),
    [{ ...ada, favoriteColor: 'red' }]);
}

for (const [kind, guide, store] of [['pointers', pointers, 'pointer'],
  ['copies', copies, 'value']]) {
  const field = store === 'pointer' ? { path: '/email', fold: 'lower' } : '/email';
  for (const declared of [false, true]) {
    const how = declared ? 'declared' : 'kept by hand';
    await test(`e-mail addresses: ${kind}, ${how}`, async () => {
      if (declared) {
        await declare('users_by_email', { fields: [field], unique: true, store });
      }
      await emails(guide, declared);
    });
    await clear('users_by_email');
    await test(`favourite colours: ${kind}, ${how}`, async () => {
      if (declared) {
        await declare('users_by_favorite_color',
          { fields: ['/favoriteColor'], store });
      }
      await colors(guide, declared);
    });
    await clear('users_by_favorite_color');
  }
}

kv.close();
finish();

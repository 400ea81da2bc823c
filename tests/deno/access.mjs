// Unmodified clients with an access token for the keys under ["users"]: what it
// allows works as ever, what it does not is an error that names the scope.
import assert from 'node:assert/strict';
import process from 'node:process';

import { finish, openKv, test, url } from './kv.mjs';

async function makeToken(name, grants, headers = {}) {
  const answer = await fetch(`${url}/tokens`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ name, grants }),
  });
  assert.equal(answer.status, 201);
  return await answer.json();
}

async function declare(headers) {
  const body = { name: 'by_mail', prefix: ['users'], fields: ['/mail'], unique: true };
  const answer = await fetch(`${url}/indexes`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok);
}

const ALL = ['read', 'write', 'list', 'watch', 'index', 'admin', 'monitor'];
const operator = await makeToken('operator', [{ scopes: ALL, prefix: [] }]);
const bearer = { Authorization: `Bearer ${operator.token}` };
const app = await makeToken('app',
  [{ scopes: ['read', 'write', 'list', 'watch'], prefix: ['users'] }], bearer);
const forbidden = (scope) => (error) => {
  assert.match(String(error), new RegExp(`403|scope ${scope}`));
  return true;
};

await declare(bearer);
process.env.DENO_KV_ACCESS_TOKEN = app.token;
const kv = await openKv(url, { accessToken: app.token });

await test('within its prefix everything works', async () => {
  assert.equal((await kv.get(['users', 'ada'])).value, null);
  assert.ok((await kv.set(['users', 'ada'], { mail: 'a@x.org' })).ok);
  assert.equal((await kv.get(['users', 'ada'])).value.mail, 'a@x.org');
  const found = [];
  for await (const entry of kv.list({ prefix: ['users'] })) found.push(entry.key);
  assert.deepEqual(found, [['users', 'ada']]);
  const checked = await kv.atomic().check({ key: ['users', 'bo'], versionstamp: null })
    .set(['users', 'bo'], { mail: 'b@x.org' }).commit();
  assert.ok(checked.ok);
});

await test('an index of the prefix is read, and written as the guide does', async () => {
  assert.equal((await kv.get(['by_mail', 'a@x.org'])).value, 'ada');
  const written = await kv.atomic()
    .set(['users', 'cy'], { mail: 'c@x.org' })
    .set(['by_mail', 'c@x.org'], 'cy').commit();
  assert.ok(written.ok);
});

await test('outside of it nothing does, and nothing of a commit is done', async () => {
  await assert.rejects(kv.get(['other', 'k']), forbidden('read'));
  await assert.rejects(kv.set(['other', 'k'], 1), forbidden('write'));
  await assert.rejects((async () => {
    for await (const entry of kv.list({ prefix: [] })) assert.fail(String(entry.key));
  })(), forbidden('list'));
  await assert.rejects(kv.atomic().set(['users', 'di'], {}).set(['usersx'], 1).commit(),
    forbidden('write'));
  assert.equal((await kv.get(['users', 'di'])).value, null);
});

kv.close();
const wrongToken = `${operator.token.slice(0, -4)}AAAA`;
process.env.DENO_KV_ACCESS_TOKEN = wrongToken;

await test('a wrong token does not open the store', async () => {
  await assert.rejects(async () => {
    const wrong = await openKv(url, { accessToken: wrongToken });
    await wrong.get(['users', 'ada']);
  });
});

finish();

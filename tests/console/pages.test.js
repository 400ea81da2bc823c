// The other pages: their journeys by keyboard, with the keys counted; and what
// axe says of each.
'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');
const { after, test } = require('node:test');
const { HALF_TYPED, PHONE, SIGN_IN, accessible, clientOf, finish, fits, launch, openPage, picture, server, withConsole, runs } = require('./lib.js');

after(finish);

const json = { 'Content-Type': 'application/json' };
const ready = (page) => page.locator('.tree > li').first().waitFor();

test('journey 6: an index is declared, and its cost is known before', () => withConsole(async ({ client, open }) => {
  const page = await open('', [HALF_TYPED]);
  await ready(page);
  page.countFromHere();
  await page.key('g');
  await page.key('i');
  await page.getByText('Choose an index').waitFor();
  await page.key('n');
  assert.equal(await page.locator('input[name=line]').inputValue(), '');
  await page.type('users /citty');
  await page.getByText('did you mean /city?').waitFor();
  await page.key('Control+a');
  await page.keyboard.type('users /city');
  await page.locator('.estimate dd').filter({ hasText: '301' }).first().waitFor();
  assert.equal(await page.locator('input[name=indexName]').inputValue(), 'users_by_city');
  await accessible(page, page.context());
  await page.key('Enter');
  await page.locator('.split .list').getByText('users_by_city').waitFor();
  await page.locator('.split .list .state.ready').first().waitFor();
  assert.ok(page.keys <= 6, `${page.keys} keys`); // with one more for the mistake
  await page.getByRole('tab', { name: 'Values' }).waitFor();
  await page.locator('.detail').getByText('Oslo').waitFor();
  assert.deepEqual((await (await client('GET', '/indexes/users_by_city')).json()).prefix, ['users']);
  await page.fine();
}));

test('an index is declared in descending order, and with entries that have no value', () => withConsole(async ({ client, open }) => {
  const page = await open('', [HALF_TYPED]);
  await ready(page);
  await page.key('g');
  await page.key('i');
  await page.getByText('Choose an index').waitFor();
  await page.key('n');
  await page.locator('input[name=line]:focus').waitFor();
  await page.keyboard.type('users /city:desc /name');
  assert.equal(await page.locator('input[name=indexName]').inputValue(), 'users_by_city_name');
  await page.locator('input[name=nulls]').check();
  await page.key('Enter');
  await page.locator('.split .list').getByText('/city desc, /name').waitFor();
  const { fields, missing } = await (await client('GET', '/indexes/users_by_city_name')).json();
  assert.deepEqual([fields, missing], [[{ path: '/city', order: 'desc' }, { path: '/name' }], 'null']);
  await page.fine();
}));

test('totals are declared, read with counts and sums, and changed', () => withConsole(async ({ client, open }) => {
  for (let i = 0; i < 130; i++) {
    const country = i < 30 ? 'de' : i < 70 ? 'fr' : `x${i}`;
    await client('PUT', `/kv/bills/${i}`, `{"country":"${country}","total":${i === 0 ? '9007199254740993.25' : '0.10'},"n":1}`, json);
  }
  const store = async (name) => (await (await client('GET', `/indexes/${name}`)).json()).store;
  const page = await open('#/indexes', [HALF_TYPED]);
  await page.getByText('Choose an index').waitFor();
  const press = (name) => page.getByRole('button', { name, exact: true }).click();
  const declare = async (line, sums) => {
    await page.key('n');
    await page.locator('input[name=line]:focus').waitFor();
    await page.keyboard.type(line);
    await page.locator('select[name=store]').selectOption('aggregate');
    await page.locator('input[name=sums]').fill(sums);
  };
  await declare('bills /country', '/total:2 /number');
  await page.getByText('the summed number /number was found in none').waitFor(); // tried while it is typed
  assert.ok(await page.locator('input[name=unique]').isDisabled());
  await page.locator('input[name=sums]').fill('/total:2 /n');
  await accessible(page, page.context());
  await fits(page);
  await press('Declare');
  const row = (text) => page.locator('#panel tr').filter({ hasText: text });
  const cells = (text) => row(text).locator('td, th').allInnerTexts();
  await row('de').waitFor();
  await page.locator('.split .list tr').filter({ hasText: 'bills_by_country' }).getByText('totals').waitFor();
  assert.deepEqual(await store('bills_by_country'), { aggregate: { count: true, sum: [{ path: '/total', scale: 2 }, { path: '/n', scale: 0 }] } });
  assert.deepEqual(await cells('Group'), ['Group', 'Entries', 'Sum of /total', 'Sum of /n']);
  assert.deepEqual([await cells('de'), await cells('fr'), await cells('All')], [['de', '30', '9007199254740996.15', '30'],
    ['fr', '40', '4.00', '40'], ['All 62', '130', '9007199254741006.15', '130']]);
  assert.equal(await page.locator('#panel tbody tr').count(), 50);
  await press('More');
  await row('x99').waitFor();
  assert.equal(await page.locator('#panel tbody tr').count(), 62);
  assert.ok(await page.getByRole('button', { name: 'More', exact: true }).isHidden());
  await accessible(page, page.context());
  await fits(page);
  await picture(page, 'totals');

  // One total of all, without fields.
  await declare('bills', '');
  await press('Declare');
  await page.locator('#panel th').filter({ hasText: /^All$/ }).waitFor();
  assert.deepEqual(await cells('All'), ['All', '130']);
  assert.deepEqual(await store('bills_total'), { aggregate: { count: true } });

  // Other sums, no sums, and no totals: each is the declaration afterwards.
  await page.locator('.split .list a').filter({ hasText: 'bills_by_country' }).click();
  await row('de').waitFor();
  for (const [kind, name, value, after_] of [['aggregate', 'sums', '/n:1', { aggregate: { count: true, sum: [{ path: '/n', scale: 1 }] } }],
    ['fields', 'fields', '/total', { fields: ['/total'] }], ['aggregate', 'sums', '', { aggregate: { count: true } }], ['pointer', null, null, 'pointer']]) {
    await page.getByRole('tab', { name: 'Change' }).click();
    await page.locator('select[name=store]').selectOption(kind);
    if (name) await page.locator(`#panel input[name=${name}]`).fill(value);
    await page.locator('.estimate dd').first().waitFor();
    await press('Change');
    await page.getByText('bills_by_country is being changed').first().waitFor();
    while (!isDeepStrictEqual(await store('bills_by_country'), after_)) await new Promise((resolve) => { setTimeout(resolve, 20); });
    await page.reload();
  }
  await page.getByRole('tab', { name: 'Values' }).click();
  await row('fr').waitFor();
  assert.match((await cells('fr')).join(), /^fr,(≈ \d+|40)$/); // an estimate says that it is one
  await page.fine();
}));

test('journey 8: a conflict is resolved in one commit', () => withConsole(async ({ client, open }) => {
  for (const name of ['a', 'b', 'c']) await client('PUT', `/kv/people/${name}`, JSON.stringify({ mail: 'same' }), json);
  await client('POST', '/indexes', JSON.stringify({ name: 'people_by_mail', prefix: ['people'], fields: ['/mail'], unique: true }),
    { ...json, Prefer: 'wait=30' });
  const page = await open();
  await ready(page);
  page.countFromHere();
  await page.key('g');
  await page.key('i');
  await page.waitForFunction(() => document.activeElement.textContent === 'people_by_mail');
  await page.key('Enter');
  await page.getByText('All have').waitFor();
  await page.waitForFunction(() => document.activeElement.type === 'radio');
  await accessible(page, page.context());
  await page.key('Space');
  await page.locator('.danger:enabled').filter({ hasText: 'Delete the others' }).waitFor(); // it shows all values first
  await page.key('Enter');
  await page.locator('#confirm').getByText('people/b').waitFor();
  await client('GET', '/kv/people/b');
  await page.key('Tab');
  await page.key('Enter');
  await page.getByText('Kept people/a, deleted 2').first().waitFor();
  assert.ok(page.keys <= 7, `${page.keys} keys`);
  await client('GET', '/kv/people/a');
  await client('GET', '/kv/people/b', undefined, {}, [404]);
  await page.locator('.split .list .state.ready').first().waitFor();
  await page.getByRole('tab', { name: 'Verify' }).click();
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText('Nothing is wrong.').waitFor();
  await page.getByRole('button', { name: 'Drop' }).click();
  await page.type('people_by_mail');
  await page.key('Enter');
  await page.getByText('was dropped').waitFor();
  await client('GET', '/indexes/people_by_mail', undefined, {}, [404]);
  await page.fine();
}, { options: ['--scan-max', '9999'] }));

test('a conflict shows both values, asks, and keeps what was deleted within reach', () => withConsole(async ({ client, open }) => {
  const first = '{ "mail":"same", "id":12345678901234567891, "sum":1.10 }';
  await client('PUT', '/kv/twice/a?ttl=1h', first, json);
  await client('PUT', '/kv/twice/b', '{"mail":"same","id":2}', json);
  for (let i = 0; i < 22; i++) await client('PUT', `/kv/twice/many/${i}`, '{"mail":"many"}', json);
  await client('POST', '/indexes', JSON.stringify({ name: 'twice_by_mail', prefix: ['twice'], fields: ['/mail'], unique: true }), { ...json, Prefer: 'wait=30' });
  const read = async (key) => { const reply = await client('GET', `/kv/${key}`, undefined, {}, [200, 404]); return reply.status === 404 ? null : reply.text(); };
  const expiresAt = async () => (await client('GET', '/kv/twice/a')).headers.get('kindex-expires-at');
  const expires = await expiresAt();
  const page = await open('#/indexes/twice_by_mail', ['409 /atomic', '404 /kv']);
  const group = page.locator('#panel form').filter({ hasText: 'All have same' });
  const remove = group.getByRole('button', { name: 'Delete the other', exact: true });
  const confirmed = async () => {
    await page.locator('#confirm').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.locator('#confirm').waitFor({ state: 'detached' });
  };
  await group.getByRole('region', { name: 'Value of twice/a' }).getByText('12345678901234567891').waitFor();
  assert.equal(await group.getByRole('region', { name: 'Value of twice/a' }).innerText(), `${first}\n`);
  assert.ok(await group.locator('mark').count() > 0, 'what differs is marked');
  await accessible(page, page.context());
  await fits(page);
  await picture(page, 'duplicates');

  // Without a choice, and without an answer, nothing is deleted.
  await remove.click();
  await group.getByText('Choose the entry that stays.').waitFor();
  await group.locator('input[type=radio]').nth(1).check();
  await remove.click();
  await page.locator('#confirm').getByText('twice/a').waitFor();
  await accessible(page, page.context());
  await page.key('Escape');
  await page.locator('#confirm').waitFor({ state: 'detached' });
  assert.equal(await read('twice/a'), first);

  // Nor is an entry that is other than it was shown; then its new value is shown.
  await client('PUT', '/kv/twice/b', '{"mail":"same","id":3}', json);
  await remove.click();
  await confirmed();
  await group.locator('.bad').filter({ hasText: /./ }).waitFor();
  await group.getByRole('region', { name: 'Value of twice/b' }).getByText('3').waitFor();
  assert.equal(await read('twice/a'), first);
  await remove.click();
  await confirmed();
  await page.getByText('Kept twice/b, deleted 1').first().waitFor();
  assert.deepEqual([await read('twice/a'), await read('twice/b')], [null, '{"mail":"same","id":3}']);

  // What was deleted is shown, and is kept instead with its bytes and its time to live.
  const gone = (key) => page.locator('#panel details').filter({ has: page.locator('summary', { hasText: key }) });
  await gone('twice/a').locator('summary').click();
  await gone('twice/a').getByText('12345678901234567891').waitFor();
  await accessible(page, page.context());
  await fits(page);
  await picture(page, 'duplicates-deleted');
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as a file' }).click()]);
  assert.equal(saved.suggestedFilename(), 'twice-a');
  await page.getByRole('button', { name: 'Keep it instead of twice/b' }).click();
  await page.getByText('Kept twice/a, deleted twice/b').first().waitFor();
  assert.deepEqual([await read('twice/a'), await read('twice/b'), await expiresAt()], [first, null, expires]);
  await gone('twice/b').locator('summary').click();
  await page.getByRole('button', { name: 'Keep it instead of twice/a' }).click();
  await page.getByText('Kept twice/b, deleted twice/a').first().waitFor();
  assert.deepEqual([await read('twice/a'), await read('twice/b')], [null, '{"mail":"same","id":3}']);
  // Not in place of an entry that was changed meanwhile.
  await client('PUT', '/kv/twice/b', '{"mail":"same","id":4}', json);
  await gone('twice/a').locator('summary').click();
  await page.getByRole('button', { name: 'Keep it instead of twice/b' }).click();
  await page.locator('.toast.bad').waitFor();
  assert.deepEqual([await read('twice/a'), await read('twice/b')], [null, '{"mail":"same","id":4}']);

  // Of many entries only those that are shown are deleted.
  const many = page.locator('#panel form').filter({ hasText: 'All have many' });
  await many.getByText('2 more have it').waitFor();
  await many.locator('input[type=radio]').first().check();
  await many.getByRole('button', { name: 'Delete the others' }).click();
  await confirmed();
  await page.getByText(/^Kept twice\/many\/0, deleted 19$/).first().waitFor();
  assert.equal((await (await client('GET', '/count?prefix=twice/many')).json()).count, 3);
  await many.locator('input[type=radio]').nth(2).waitFor();
  await page.fine();
}, { options: ['--scan-max', '9996'] }));

test('journey 7: from a slow request to an index', () => withConsole(async ({ client, open }) => {
  for (let i = 0; i < 20; i++) await client('PUT', `/kv/users/${i}`, JSON.stringify({ city: i % 2 ? 'Oslo' : 'Rome' }), json);
  await client('GET', '/list?prefix=users');
  const page = await open('', [HALF_TYPED]);
  await ready(page);
  await client('GET', '/list?prefix=users');
  page.countFromHere();
  await page.key('g');
  await page.key('s');
  const row = page.locator('main tr a').filter({ hasText: 'GET /list?prefix=users' }).first();
  await row.waitFor();
  await row.focus(); // another request may have come first
  await page.key('Enter');
  await page.waitForFunction(() => document.activeElement.getAttribute('aria-label')?.startsWith('Field'));
  assert.equal(await page.locator('input[name=prefix]').inputValue(), 'users');
  await page.type('/city');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Oslo');
  await page.key('Enter');
  await page.getByRole('button', { name: 'Declare this' }).waitFor();
  await accessible(page, page.context());
  await page.key('Enter');
  await page.getByText('✓').waitFor();
  assert.ok(page.keys <= 6, `${page.keys} keys`);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('10 found').waitFor();
  await page.fine();
}, { options: ['--slow-ms', '0'] }));

test('a slow request leads to its question, index or entry, and a question runs from its address', () => withConsole(async ({ base, client, open }) => {
  const big = '12345678901234567891';
  for (let i = 0; i < 6; i++) await client('PUT', `/kv/asked/${i}`, `{"age":${10 * i},"id":"x${i}","name":"Nå"}`, json);
  await client('PUT', `/kv/asked/${encodeURIComponent('a/b')}/=7`, `{"age":99,"n":${big}}`, json);
  await client('POST', '/indexes', JSON.stringify({ name: 'asked_by_id', prefix: ['asked'], fields: ['/id'] }), { ...json, Prefer: 'wait=30' });
  const where = (condition) => `where=${encodeURIComponent(condition)}`;
  const two = `/list?prefix=asked&${where('{"path":"/age","ge":20,"lt":40}')}`;
  const targets = [two, `/list?prefix=asked&${where(`[{"path":"/n","eq":${big}},{"path":"/name","in":["Nå"]}]`)}`,
    '/count?prefix=asked', '/list?index=asked_by_id', '/kv/asked/a%2Fb/=7', '/kv?key=["asked","1"]', '/metrics', '/tree?prefix=asked',
    `/list?prefix=asked&${where(JSON.stringify({ path: '/name', eq: 'x'.repeat(300) }))}`];
  const page = await open('', [HALF_TYPED]);
  await ready(page);
  for (const target of targets) await client('GET', target);
  await client('POST', '/atomic', '{"mutations":[{"type":"delete","key":["asked","5"]}]}', json);
  await page.key('g');
  await page.key('s');
  const rows = page.locator('tbody tr').filter({ has: page.locator('td.num') });
  await rows.filter({ hasText: 'POST /atomic' }).waitFor();
  const links = [];
  for (const target of targets) {
    const row = rows.filter({ has: page.locator('code', { hasText: `GET ${target.slice(0, 240).replaceAll('"', '%22')}` }) }).last();
    const href = await row.locator('a').getAttribute('href', { timeout: 1000 }).catch(() => null);
    links.push(href && decodeURIComponent(href));
  }
  assert.deepEqual(links, ['#/query/{"prefix":["asked"],"where":{"path":"/age","ge":20,"lt":40}}',
    `#/query/{"prefix":["asked"],"where":[{"path":"/n","eq":${big}},{"path":"/name","in":["Nå"]}]}`,
    '#/query/{"prefix":["asked"]}', '#/indexes/asked_by_id', '#/data/asked/="a/b"/=7', '#/data/asked/1', null, null, null]);
  assert.equal(await rows.filter({ hasText: '/atomic' }).locator('a').count(), 0);

  // The conditions are all there, and the question has run.
  await rows.locator('a', { hasText: two }).last().click();
  await page.getByRole('button', { name: 'Run it, testing all entries' }).waitFor();
  const values = () => page.locator('.condition').evaluateAll((all) => all.map((row) => [...row.children].map((field) => field.value).join(' ')));
  assert.deepEqual(await values(), ['/age ge 20', '/age lt 40']);
  await page.getByRole('button', { name: 'Run it, testing all entries' }).click();
  await page.getByText('2 found').waitFor();
  await page.reload();
  await page.getByText('2 found').waitFor();
  assert.deepEqual(await values(), ['/age ge 20', '/age lt 40']);
  await page.goto(`${base}/console#/data`);
  await page.goto(`${base}/console${links[1]}`);
  await page.getByRole('button', { name: /^Run/ }).waitFor();
  assert.deepEqual(await values(), [`/n eq ${big}`, '/name in ["Nå"]']);
  assert.match(decodeURIComponent(page.url()), new RegExp(`"eq":${big}`));
  await page.fine();
}, { options: ['--slow-ms', '0'] }));

test('the page Server opens at its top, also on a phone', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/users/top', '1', json);
  const page = await open();
  await ready(page); // its own requests are among the slow ones, too
  for (let i = 0; i < 3; i++) await client('GET', '/list?prefix=users');
  await page.goto(page.url().replace(/#.*|$/, '#/server'));
  await page.locator('main tbody a').first().waitFor();
  await page.waitForFunction(() => document.querySelector('main').contains(document.activeElement));
  assert.equal(await page.locator('main > .scroll').evaluate((node) => node.scrollTop), 0);
  await page.fine();
}, { options: ['--slow-ms', '0'], size: PHONE }));

test('journey 9: what changes now, with one key', () => withConsole(async ({ client, open }) => {
  const page = await open('#/data/users');
  await page.locator('.row').nth(3).waitFor();
  page.countFromHere();
  await page.key('w');
  await page.getByText('from here on every change').waitFor();
  assert.equal(page.keys, 1);
  await client('PUT', '/kv/users/watched', '{"n":1}', json);
  await page.locator('.tail li').filter({ hasText: 'set' }).filter({ hasText: 'watched' }).waitFor();
  await client('DELETE', '/kv/users/watched');
  await page.locator('.tail li').filter({ hasText: 'gone' }).waitFor();
  const numbers = '{"id":12345678901234567891,"balance":1.10}';
  await client('PUT', '/kv/users/watched', numbers, json);
  await page.locator('.tail li').filter({ hasText: 'balance' }).waitFor();
  assert.equal(await page.locator('.tail .value').first().innerText(), numbers);
  await accessible(page, page.context());
  await fits(page);
  await page.fine();
}));

test('making the first token signs in with it, and closing asks before its text is gone', async () => {
  const { base } = await server('first-token');
  const context = await (await launch()).newContext();
  const page = await openPage(context, `${base}/console#/access`, SIGN_IN);
  await page.getByText('This server needs no token').waitFor();
  await page.key('n');
  await page.locator('#new-token').waitFor();
  await page.type('me');
  await page.key('Enter');
  await page.locator('#secret').waitFor();
  const secret = (await page.locator('#secret pre').innerText()).split(/[=\n]/)[1];
  for (let i = 0; i < 3; i++) { // a browser would close a dialog at the second Escape
    await page.key('Escape');
    await page.locator('#confirm').waitFor();
    await accessible(page, context);
    await page.key('Escape');
    await page.locator('#confirm').waitFor({ state: 'detached' });
    assert.ok(await page.locator('#secret').isVisible());
  }
  await page.getByRole('button', { name: 'Close' }).click();
  await page.locator('#confirm').getByRole('button', { name: 'Close' }).click();
  await page.getByText('You use me').waitFor();
  await page.locator('th[scope=row]').filter({ hasText: 'me' }).waitFor();
  assert.equal(await page.locator('dialog').count(), 0);
  assert.equal(await page.locator('.warn').count(), 0);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await clientOf(base, secret)('GET', '/tokens');
  // The sign-in box names the way back, and Escape does not close it.
  await page.reload();
  await page.locator('#sign-in').getByText('--token-file').waitFor();
  for (let i = 0; i < 3; i++) await page.key('Escape');
  await page.type(secret);
  await page.key('Enter');
  await page.getByText('You use me').waitFor();
  // What was copied closes without a question.
  await page.key('n');
  await page.locator('#new-token').waitFor();
  await page.type('other');
  await page.key('Enter');
  await page.locator('#secret pre').selectText();
  await page.key('Control+c');
  await page.key('Escape');
  await page.locator('#secret').waitFor({ state: 'detached' });
  await page.locator('th[scope=row]').filter({ hasText: 'other' }).waitFor();
  await page.fine();
  await context.close();
});

test('journey 10: a token for an app', async () => {
  const { base, client } = await server('tokens');
  const { token } = await (await client('POST', '/tokens', JSON.stringify({ name: 'all',
    grants: [{ scopes: ['read', 'write', 'list', 'watch', 'index', 'admin', 'monitor'], prefix: [] }] }), json)).json();
  const all = clientOf(base, token);
  await all('PUT', '/kv/users/ada', '{"name":"Ada"}', json);
  await all('PUT', '/kv/secret/x', '{"name":"x"}', json);
  const context = await (await launch()).newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await openPage(context, `${base}/console#/data`, SIGN_IN);
  await page.getByRole('dialog').waitFor();
  await page.type(token);
  await page.key('Enter');
  await ready(page);
  page.countFromHere();
  await page.key('g');
  await page.key('a');
  await page.getByText('You use all').waitFor();
  await page.key('n');
  await page.getByRole('dialog').waitFor();
  await accessible(page, context);
  await page.type('app');
  await page.keyboard.press('Tab');
  await page.type('users');
  await page.key('Enter');
  await page.getByText('The token is shown only now').waitFor();
  await accessible(page, context);
  await fits(page);
  await page.getByRole('button', { name: 'Copy' }).press('Enter');
  await page.getByText('Copied').first().waitFor();
  assert.ok(page.keys <= 7, `${page.keys} keys`);
  const made = await page.evaluate(() => navigator.clipboard.readText());
  await page.locator('th').filter({ hasText: 'app' }).waitFor();
  await fits(page);
  await page.fine();
  await context.close();

  // What that token may not do is not shown.
  const other = await (await launch()).newContext();
  const limited = await openPage(other, `${base}/console`, SIGN_IN);
  await limited.getByRole('dialog').waitFor();
  await limited.type(made);
  await limited.key('Enter');
  await ready(limited);
  assert.deepEqual(await limited.locator('.tree > li').allInnerTexts().then((all) => all.map((text) => text.split(/\s/)[0])), ['users']);
  assert.deepEqual(await limited.locator('nav[aria-label=Pages] a:visible').allInnerTexts(), ['Data', 'Indexes', 'Rules', 'Queues', 'Query', 'Access']);
  for (const id of ['indexes', 'rules', 'queues', 'query', 'access', 'data']) {
    await limited.goto(`${base}/console#/${id}`);
    await limited.locator(`#nav-${id}[aria-current]`).waitFor();
  }
  await limited.fine();
  await other.close();
});

test('an address of no page, key or index shows a page and throws nothing', () => withConsole(async ({ base, context }) => {
  for (const hash of ['constructor', 'toString/x', 'hasOwnProperty', 'data/%', 'data/=abc', 'indexes/%', 'watch/%', 'watch/=abc', 'query/%', 'query/1', 'query/[1]', 'query/{"where":7}']) {
    const page = await openPage(context, `${base}/console#/${hash}`, ['404 /indexes/%25']);
    await page.locator('nav a[aria-current]').waitFor();
    await page.locator('main :is(.tree > li, .question, .tail, .split td)').first().waitFor();
    await page.fine();
    await page.close();
  }
}));

test('help closes with Escape, and / goes to a key from every page', () => withConsole(async ({ open }) => {
  const page = await open();
  await ready(page);
  for (const id of ['data', 'indexes', 'rules', 'queues', 'query', 'watch', 'server', 'access']) {
    await page.goto(page.url().replace(/#.*|$/, `#/${id}`));
    await page.locator(`#nav-${id}[aria-current]`).waitFor();
    await page.locator('main h2').first().waitFor();
    await page.locator('body').evaluate(() => document.activeElement.blur());
    await page.key('?');
    await page.locator('#keys').waitFor();
    await page.key('Escape');
    await page.locator('#keys').waitFor({ state: 'detached' });
    await page.key('/');
    await page.waitForFunction(() => document.activeElement.id === 'goto');
    await page.type('users/ada');
    await page.key('Enter');
    await page.locator('.detail .text').filter({ hasText: 'London' }).waitFor();
  }
  await page.getByRole('button', { name: 'Indexes' }).click();
  await page.locator('#indexed').waitFor();
  await page.key('Escape');
  await page.locator('#indexed').waitFor({ state: 'detached' });
  await page.fine();
}));

test('a token sees why it sees nothing, and what it may read it opens by its key', async () => {
  const { base, client } = await server('rights');
  const { token } = await (await client('POST', '/tokens', JSON.stringify({ name: 'all',
    grants: [{ scopes: ['read', 'write', 'list', 'watch', 'index', 'admin', 'monitor'], prefix: [] }] }), json)).json();
  const all = clientOf(base, token);
  for (const key of ['users/ada', 'secret/x', 'notes/a']) await all('PUT', `/kv/${key}`, `{"at":"${key}"}`, json);
  const grants = [{ scopes: ['read'], prefix: ['notes'] }, { scopes: ['list'], prefix: ['users'] }];
  const limited = await (await all('POST', '/tokens', JSON.stringify({ name: 'limited', grants }), json)).json();
  const reader = await (await all('POST', '/tokens', JSON.stringify({ name: 'reader', grants: grants.slice(0, 1) }), json)).json();
  const denied = /does not have the scope read/;
  for (const [own, cases] of [[limited, [['secret/x', denied], ['notes/a', 'notes/a'], ['notes/b', /There is no entry at notes\/b\. This token may not list/],
    ['users/ada', denied], ['users/b', 'There is no entry at users/b, and none below it.']]],
  [reader, [['', 'press / and type a key'], ['users/ada', denied], ['notes/a', 'notes/a']]]]) {
    const context = await (await launch()).newContext();
    const page = await openPage(context, `${base}/console#/data`, [...SIGN_IN, '403 /get', '403 /kv']);
    await page.getByRole('dialog').waitFor();
    await page.type(own.token);
    await page.key('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    for (const [key, text] of cases) {
      await page.goto(`${base}/console#/data/${key}`);
      await page.locator(key === '' ? '.overview' : '.detail').getByText(text).first().waitFor();
    }
    assert.equal(await page.locator('.toast.bad').count(), 0);
    await page.fine();
    await context.close();
  }
});

for (const scheme of ['light', 'dark']) {
  for (const [name, size] of [['wide', { width: 1280, height: 800 }], ['a phone', { width: 390, height: 844 }]]) {
    test(`each page: axe, and nothing too wide: ${scheme}, ${name}`, () => withConsole(async ({ client, open }) => {
      await client('POST', '/indexes', JSON.stringify({ name: 'users_by_age', prefix: ['users'], fields: ['/age'] }), json);
      const page = await open();
      await ready(page);
      for (const [id, sign] of [['indexes/users_by_age', '[role=tab]'], ['query', 'input[name=prefix]'], ['watch/users', '.tail'],
        ['server', '.chart .line[points]'], ['access', '.warn']]) {
        await page.goto(page.url().replace(/#.*|$/, `#/${id}`));
        await page.locator(sign).first().waitFor({ state: 'attached' });
        await accessible(page, page.context());
        await fits(page);
        await picture(page, `${id.split('/')[0]}-${scheme}-${size.width}`);
      }
      await page.goto(page.url().replace(/#.*/, '#/server'));
      await page.locator('.chart .line[points]').first().waitFor({ state: 'attached' });
      await page.locator('.tile').filter({ hasText: /Entries ?\d/ }).waitFor(); // a point comes every 10 s
      const strokes = await page.locator('.line').evaluateAll((lines) => lines.map((line) => getComputedStyle(line).stroke));
      assert.equal(new Set(strokes).size, 2, 'the lines have two colours');
      assert.match(await page.locator('.line').first().getAttribute('points'), /^\d/);
      assert.ok(strokes.every((stroke) => stroke !== 'none' && stroke !== 'rgb(0, 0, 0)'), strokes.join());
      await page.fine();
    }, { scheme, size }));
  }
}

test('an index is changed while it is used, at a pace, and verified', () => withConsole(async ({ client, open }) => {
  for (const [name, city] of [['a', 'Oslo'], ['b', 'Oslo'], ['c', 'Rome']]) await client('PUT', `/kv/team/${name}`, JSON.stringify({ city, name }), json);
  await client('POST', '/indexes', JSON.stringify({ name: 'team_by_city', prefix: ['team'], fields: ['/city'] }), { ...json, Prefer: 'wait=30' });
  const index = async () => (await client('GET', '/indexes/team_by_city')).json();
  const page = await open('#/indexes/team_by_city', [HALF_TYPED, '400 /indexes/team_by_city/throttle']);
  const tab = (name) => page.getByRole('tab', { name }).click();
  const press = (name) => page.getByRole('button', { name, exact: true }).click();
  const estimate = page.locator('.estimate');

  // What it would cost is shown before, and what would stop it.
  await tab('Change');
  const unique = page.locator('#panel input[name=unique]');
  await unique.check();
  await estimate.getByText('the change would stop at them').waitFor();
  await accessible(page, page.context());
  await fits(page);
  await unique.uncheck();
  await page.locator('select[name=store]').selectOption('fields');
  await page.locator('input[name=fields]').fill('/name');
  await estimate.locator('dd').filter({ hasText: /^3$/ }).first().waitFor();
  assert.equal((await index()).store, 'pointer');
  await press('Change');
  await page.getByText('team_by_city is being changed').first().waitFor();
  await page.waitForFunction(() => document.querySelector('select[name=store]')?.value === 'fields');
  assert.deepEqual((await index()).store, { fields: ['/name'] });

  // Slower, and not at all: a change waits, and is undone.
  await tab('Pace');
  await page.locator('input[name=perSecond]').fill('0');
  await press('Set');
  await page.locator('#panel .bad').filter({ hasText: /./ }).waitFor();
  await page.locator('input[name=perSecond]').fill('100');
  await press('Set');
  await page.waitForFunction(() => document.querySelector('#panel .bad')?.textContent === '');
  assert.deepEqual((await index()).pace, { paused: false, perSecond: 100 });
  await press('Pause');
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  assert.equal((await index()).pace.paused, true);
  await accessible(page, page.context());
  await tab('Change');
  await page.locator('select[name=store]').selectOption('value');
  await estimate.locator('dd').first().waitFor();
  await press('Change');
  await page.getByText('Changing to store value').waitFor();
  await press('Undo the change');
  await page.getByText('team_by_city stays unchanged').first().waitFor();
  await page.waitForFunction(() => document.querySelector('select[name=store]')?.value === 'fields');
  await tab('Pace');
  await press('Resume');
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  assert.equal((await index()).pace.paused, false);
  await tab('Verify');
  await press('Verify and repair');
  await page.getByText('6 entries compared. Nothing is wrong.').waitFor();
  await page.fine();
}));

test('readiness, the last backup and one more, also with a token', async () => {
  const started = await server('backups');
  const { token } = await (await started.client('POST', '/tokens', JSON.stringify({ name: 'all',
    grants: [{ scopes: ['read', 'write', 'list', 'watch', 'index', 'admin', 'monitor'], prefix: [] }] }), json)).json();
  const context = await (await launch()).newContext();
  const page = await openPage(context, `${started.base}/console#/server`, SIGN_IN);
  await page.locator('input[name=token]').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('storage: ok').waitFor();
  await page.getByText('Last backup: none since the server started. Log: not archived.').waitFor();
  assert.equal(await page.locator('.nodes').count(), 0); // a data directory has one node
  await accessible(page, context);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download a backup' }).click()]);
  assert.ok(!download.url().includes(token));
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).readUInt32LE(0), 0xFD2FB528); // zstd
  assert.equal((await fetch(download.url())).status, 404, 'the address was good once');
  await page.goto(`${started.base}/console#/data`);
  await page.goto(`${started.base}/console#/server`);
  await page.getByText(/Last backup: \d/).waitFor();
  await page.fine();
  await context.close();
});

test('indexes that were kept by hand are found in the data, and adopted', () => withConsole(async ({ client, open }) => {
  const lines = [];
  for (let i = 10; i < 40; i++) {
    lines.push({ key: ['members', `m${i}`], value: { email: `member${i}@x.org` } });
    if (i !== 12) lines.push({ key: ['members_by_email', `member${i}@x.org`], value: `m${i}` });
  }
  await client('POST', '/bulk', lines.map((line) => JSON.stringify(line)).join('\n'), { 'Content-Type': 'application/x-ndjson' });
  const page = await open('#/indexes');
  await page.getByText('Choose an index').waitFor();
  await page.getByRole('button', { name: 'Found in your data' }).press('Enter');
  const found = page.locator('.detail fieldset').filter({ hasText: 'members_by_email' });
  await found.getByText('29 of 29 are right').waitFor();
  await found.getByText(': 1 missing').waitFor();
  await found.locator('li').filter({ hasText: 'member12@x.org' }).waitFor();
  await accessible(page, page.context());
  await fits(page);
  await picture(page, 'discover');
  await page.getByRole('button', { name: 'Adopt members_by_email' }).press('Enter');
  await page.locator('.split .list tr').filter({ hasText: 'members_by_email' }).getByText('ready').waitFor();
  await client('GET', '/kv/members_by_email/member12@x.org'); // what was missing is there
  await page.fine();
}));

test('a standby says how far it has read its archive', async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-'));
  const nodes = [];
  try {
    nodes.push(await runs(['--data', `${directory}/first`, '--archive', `${directory}/archive`, '--followed'], `${directory}/one`));
    await clientOf(nodes[0].base)('PUT', '/kv/a', '1', json);
    nodes.push(await runs(['--data', `${directory}/second`, '--follow', `${directory}/archive`, '--primary', nodes[0].base], `${directory}/two`));
    const context = await (await launch()).newContext();
    const page = await openPage(context, `${nodes[1].base}/console#/server`);
    await page.getByText(/A standby: it read its archive to the end \d+ (ms|s) ago/).waitFor();
    await accessible(page, context);
    await fits(page);
    await page.fine();
    await context.close();
  } finally {
    for (const node of nodes.reverse()) await node.end('SIGTERM');
    fs.rmSync(directory, { recursive: true });
  }
});

test('Access names the subject and issuer of a JSON Web Token', async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-'));
  let own;
  try {
    const { publicKey, privateKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
    fs.writeFileSync(`${directory}/keys`, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'ours', alg: 'ES256', use: 'sig' }] }));
    fs.writeFileSync(`${directory}/grants`, '[{"scopes":["read","list"],"prefix":["users","{sub}"]}]');
    own = await runs(['--data', `${directory}/data`, '--jwt-keys', `${directory}/keys`, '--jwt-issuer', 'https://id.example.org', '--jwt-audience', 'kindex', '--grants', `${directory}/grants`], `${directory}/server`);
    const part = (document) => Buffer.from(JSON.stringify(document)).toString('base64url');
    const signed = `${part({ alg: 'ES256', kid: 'ours' })}.${part({ iss: 'https://id.example.org', aud: 'kindex', sub: 'ada', exp: Math.floor(Date.now() / 1000) + 600 })}`;
    const signature = crypto.sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
    const context = await (await launch()).newContext();
    const page = await openPage(context, `${own.base}/console#/access`, SIGN_IN);
    await page.getByRole('dialog').waitFor();
    await page.locator('input[name=token]').fill(`${signed}.${signature}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('You use ada, the subject ada of https://id.example.org: read, list under users/ada').waitFor();
    await accessible(page, context);
    await page.fine();
    await context.close();
  } finally {
    await own?.end('SIGTERM');
    fs.rmSync(directory, { recursive: true });
  }
});

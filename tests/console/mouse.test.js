// The ten journeys by mouse only: no key is pressed, and texts are put into fields as
// a mouse pastes them.
'use strict';

const assert = require('node:assert');
const { after, before, test } = require('node:test');
const { EVENTS, HALF_TYPED, SIGN_IN, clientOf, finish, launch, openPage, server, withConsole } = require('./lib.js');

before(() => launch({ ignoreDefaultArgs: ['--hide-scrollbars'] }));
after(finish);

const json = { 'Content-Type': 'application/json' };

// A page on which every key fails the test.
async function keyless(page) {
  await page.evaluate(() => {
    globalThis.keysPressed = 0;
    addEventListener('keydown', () => { globalThis.keysPressed++; }, true);
  });
  return Object.assign(page, {
    press: (name) => page.getByRole('button', { name, exact: true }).click(),
    prefix: (name) => page.locator('.tree .label').filter({ hasText: name }).click(),
    row: (text) => page.locator('.row').filter({ hasText: text }).click(),
    to: (name) => page.locator('nav[aria-label=Pages]').getByText(name, { exact: true }).click(),
    async done() {
      assert.equal(await page.evaluate(() => globalThis.keysPressed), 0);
      await page.fine();
    },
  });
}
const byMouse = (use, { options, prepare } = {}) => withConsole(async ({ client, open }) => {
  await prepare?.(client);
  const page = await keyless(await open('', ['412 /kv', HALF_TYPED]));
  await page.locator('.tree > li').first().waitFor();
  await use({ client, page });
  await page.done();
}, { options });
const value = (page, text) => page.locator('.detail .text').filter({ hasText: text }).waitFor();

test('journeys 1, 2 and 4: what is there, one entry, and the next ones', () => byMouse(async ({ page }) => {
  await page.prefix('users');
  await page.row('ada');
  await value(page, 'London');
  for (const i of [0, 1, 2]) {
    await page.row(`u0000${i}`);
    await value(page, `User ${i}`);
  }
}));

test('journey 3: the last of many, by the wheel and by the scroll bar', () => byMouse(async ({ page }) => {
  await page.prefix('events');
  await page.row('#5');
  await page.locator('.row').first().hover();
  await page.mouse.wheel(0, 1e7);
  await page.row(`#${EVENTS - 1}`);
  await value(page, String(EVENTS - 1));
  // The bar is dragged from its end to its beginning.
  const box = await page.locator('.rows').boundingBox();
  const x = box.x + box.width - 6;
  await page.mouse.move(x, box.y + box.height - 26);
  await page.mouse.down();
  await page.mouse.move(x, box.y - 40, { steps: 8 });
  await page.mouse.up();
  await page.locator('.row .key').filter({ hasText: /^#0$/ }).click();
  await value(page, '"at": 0');
}));

test('journey 5: both changes of an entry are merged', () => byMouse(async ({ client, page }) => {
  await client('PUT', '/kv/other/merged', '{"name":"Ada","city":"Oslo"}', json);
  await page.prefix('other');
  await page.row('merged');
  await value(page, 'Oslo');
  await client('PUT', '/kv/other/merged', '{"name":"Ada","city":"Rome"}', json);
  await page.locator('.detail .text').fill('{"name":"Eve","city":"Oslo"}');
  await page.getByRole('button', { name: /^Save/ }).click();
  await page.getByRole('button', { name: 'Merge both: name' }).click();
  await page.getByText(/^Saved other\/merged/).first().waitFor();
  assert.deepEqual(await (await client('GET', '/kv/other/merged')).json(), { name: 'Eve', city: 'Rome' });
}));

test('journey 6: an index is declared', () => byMouse(async ({ client, page }) => {
  await page.to('Indexes');
  await page.locator('.split').getByRole('button', { name: /^New/ }).click(); // the page before has one as well
  await page.locator('input[name=line]').fill('users /name');
  await page.locator('.estimate dd').filter({ hasText: '301' }).first().waitFor();
  await page.press('Declare');
  await page.locator('.split .list .state.ready').first().waitFor();
  await page.getByRole('tab', { name: 'Declaration' }).click();
  await page.getByText('"users_by_name"').waitFor();
  await client('GET', '/indexes/users_by_name');
}));

test('journey 7: from a slow request to an index', () => byMouse(async ({ client, page }) => {
  await client('GET', '/list?prefix=users');
  await page.to('Server');
  await page.locator('main tr a').filter({ hasText: 'GET /list?prefix=users' }).first().click();
  await page.getByLabel('Field, such as /city').fill('/city');
  await page.getByLabel('Value, as JSON or text').fill('Oslo');
  await page.press('Explain');
  await page.press('Declare this');
  await page.getByText('✓').waitFor();
  await page.press('Run');
  await page.getByText('10 found').waitFor();
}, { options: ['--slow-ms', '0'], prepare: async (client) => {
  for (let i = 0; i < 20; i++) await client('PUT', `/kv/users/${i}`, JSON.stringify({ city: i % 2 ? 'Oslo' : 'Rome' }), json);
} }));

test('journey 8: a conflict is resolved', () => byMouse(async ({ client, page }) => {
  await page.to('Indexes');
  await page.locator('.split .list').getByText('people_by_mail').click();
  await page.locator('#panel input[type=radio]').nth(1).click();
  await page.press('Delete the other');
  await page.locator('#confirm').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Kept people/b, deleted 1').first().waitFor();
  await client('GET', '/kv/people/a', undefined, {}, [404]);
}, { options: ['--scan-max', '9998'], prepare: async (client) => {
  for (const name of ['a', 'b']) await client('PUT', `/kv/people/${name}`, '{"mail":"same"}', json);
  await client('POST', '/indexes', '{"name":"people_by_mail","prefix":["people"],"fields":["/mail"],"unique":true}', { ...json, Prefer: 'wait=30' });
} }));

test('journey 9: what changes now', () => byMouse(async ({ client, page }) => {
  await page.prefix('users');
  await page.locator('.row').nth(3).waitFor();
  await page.getByRole('button', { name: /^Watch/ }).click();
  await page.getByText('from here on every change').waitFor();
  await client('PUT', '/kv/users/seen', '{"n":1}', json);
  await page.locator('.tail li').filter({ hasText: 'seen' }).waitFor();
  await page.locator('.tail li a').first().click();
  await value(page, '"n": 1');
}));

test('journey 10: a token for an app', async () => {
  const { base, client } = await server('tokens');
  const grants = [{ scopes: ['read', 'write', 'list', 'watch', 'index', 'admin', 'monitor'], prefix: [] }];
  const { token } = await (await client('POST', '/tokens', JSON.stringify({ name: 'all', grants }), json)).json();
  await clientOf(base, token)('PUT', '/kv/users/ada', '{"name":"Ada"}', json);
  const context = await (await launch()).newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await keyless(await openPage(context, `${base}/console#/data`, SIGN_IN));
  await page.locator('input[name=token]').fill(token);
  await page.press('Sign in');
  await page.locator('.tree > li').first().waitFor();
  await page.to('Access');
  await page.getByRole('button', { name: /^New/ }).click();
  await page.locator('dialog input[name=name]').fill('app');
  await page.locator('dialog input[name=prefix]').fill('users');
  await page.locator('dialog button[type=submit]').click();
  await page.getByText('The token is shown only now').waitFor();
  const lines = await page.locator('#secret pre').innerText();
  await page.getByRole('button', { name: 'Copy' }).first().click();
  const made = await page.evaluate(() => navigator.clipboard.readText());
  await clientOf(base, made)('GET', '/kv/users/ada');
  assert.equal(lines, ['KINDEX_TOKEN', 'DENO_KV_ACCESS_TOKEN'].map((name) => `export ${name}=${made}`).join('\n'));
  await page.done();
  await context.close();
});

// All journeys on a phone, by touch: one pane at a time, and a way back from each.
'use strict';

const assert = require('node:assert');
const { after, test } = require('node:test');
const { EVENTS, HALF_TYPED, PHONE, SIGN_IN, accessible, finish, fits, picture, withConsole } = require('./lib.js');

after(finish);

const json = { 'Content-Type': 'application/json' };
const phone = { size: PHONE, touch: true };
const item = (page, name) => page.locator('.tree .label').filter({ has: page.locator('.part', { hasText: new RegExp(`^${name}$`) }) });
const row = (page, text) => page.locator('.row').filter({ hasText: text });
const text = (page) => page.locator('.detail .text');
const button = (page, name) => page.getByRole('button', { name });
const to = (page, name) => page.locator('nav[aria-label=Pages] a').filter({ hasText: name }).tap();
const field = (page, name) => page.locator(`input[name=${name}]`);

// Only this pane can be seen, it fills the width, and nothing is cut off.
async function alone(page, pane) {
  await page.locator(`.panes[data-pane="${pane}"]`).waitFor();
  const seen = await page.locator('.panes > *').evaluateAll((panes) => panes.map((node) =>
    getComputedStyle(node).visibility === 'visible' && node.clientWidth === innerWidth));
  assert.deepEqual(seen, seen.map((_, i) => i === pane));
  await fits(page);
}

test('journeys 1 to 4: keys, list, entry, and back', () => withConsole(async ({ open }) => {
  const page = await open();
  await item(page, 'events').waitFor();
  await alone(page, 0);

  await page.locator('#goto').tap();
  await page.keyboard.type('users/ada');
  await page.keyboard.press('Enter');
  await text(page).filter({ hasText: 'London' }).waitFor();
  await alone(page, 2);
  await accessible(page, page.context());
  await button(page, '‹ Entries').tap();
  await alone(page, 1);
  await page.locator('.row[aria-selected=true]').filter({ hasText: 'ada' }).waitFor();
  await accessible(page, page.context());
  await picture(page, 'phone-list');
  await button(page, '‹ Keys').tap();
  await alone(page, 0);

  await item(page, 'events').tap();
  await row(page, '#5').first().waitFor();
  await alone(page, 1);
  await page.locator('.rows').evaluate((node) => { node.scrollTop = node.scrollHeight; });
  for (const number of [EVENTS - 1, EVENTS - 2]) {
    await row(page, `#${number}`).tap();
    await text(page).filter({ hasText: `"at": ${number}` }).waitFor();
    await alone(page, 2);
    if (number === EVENTS - 1) await button(page, '‹ Entries').tap();
    else await page.goBack();
    await alone(page, 1);
    await row(page, `#${number}`).waitFor(); // the list is where it was
  }
  // A twist opens a branch, and leaves the tree where it is.
  await button(page, '‹ Keys').tap();
  await item(page, 'config').locator('.twist').tap();
  await item(page, 'limits').waitFor();
  await alone(page, 0);
  await item(page, 'limits').tap();
  await row(page, 'rate').tap();
  await text(page).filter({ hasText: '100' }).waitFor();
  await alone(page, 2);
  await page.fine();
}, phone));

test('journeys 5 and 9: an entry that another client changes; what changes now', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/phone/user', '{"name":"User 42","city":"Paris"}', json);
  const page = await open('', ['412 /kv']);
  await item(page, 'phone').tap();
  await row(page, 'user').tap();
  await text(page).filter({ hasText: 'Paris' }).waitFor();
  await text(page).tap();
  await text(page).fill('{"name":"Ada","city":"Paris"}');
  await client('PUT', '/kv/phone/user', '{"name":"User 42","city":"Elsewhere"}', json);
  await button(page, /^Save/).tap();
  await button(page, 'Merge both: name').waitFor();
  await alone(page, 2);
  await picture(page, 'phone-conflict');
  await button(page, 'Merge both: name').tap();
  await page.getByText('Saved phone/user').first().waitFor();
  assert.equal(await (await client('GET', '/kv/phone/user')).text(), '{"name":"Ada","city":"Elsewhere"}');

  await button(page, '‹ Entries').tap();
  await button(page, /^New/).tap();
  await field(page, 'key').fill('phone/other');
  await page.locator('textarea[name=value]').fill('1');
  await button(page, 'Create').tap();
  await text(page).filter({ hasText: '1' }).waitFor();
  await alone(page, 2);
  await button(page, 'Delete').tap();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).tap();
  await page.getByText('Deleted phone/other').first().waitFor();
  await alone(page, 1);

  await button(page, /^Watch/).tap();
  await page.getByText('from here on every change').waitFor();
  await client('PUT', '/kv/phone/watched', '1', json);
  await page.locator('.tail li').filter({ hasText: 'watched' }).waitFor();
  await fits(page);
  await page.fine();
}, phone));

test('journeys 6, 7 and 8: an index, a slow request, a conflict', () => withConsole(async ({ client, open }) => {
  for (const name of ['a', 'b']) await client('PUT', `/kv/people/${name}`, JSON.stringify({ mail: 'same', city: 'Oslo' }), json);
  await client('POST', '/indexes', JSON.stringify({ name: 'people_by_mail', prefix: ['people'], fields: ['/mail'], unique: true }),
    { ...json, Prefer: 'wait=30' });
  const page = await open('', [HALF_TYPED]);
  await item(page, 'people').waitFor();
  await to(page, 'Indexes');
  await page.locator('.list a').filter({ hasText: 'people_by_mail' }).waitFor(); // the page before has panes as well
  await alone(page, 0);
  await page.locator('.list a').filter({ hasText: 'people_by_mail' }).tap();
  await page.getByText('All have').waitFor();
  await alone(page, 1);
  await page.getByRole('radio').first().tap();
  await page.locator('#panel pre').nth(1).waitFor(); // both values
  await fits(page);
  await button(page, 'Delete the other').tap();
  await page.locator('#confirm').getByRole('button', { name: 'Delete', exact: true }).tap();
  await page.getByText('Kept people/a').first().waitFor();
  await button(page, '‹ Indexes').tap();
  await alone(page, 0);
  await button(page, /^New/).tap();
  await field(page, 'line').fill('people /city');
  await page.locator('.estimate dd').first().waitFor();
  await alone(page, 1);
  await button(page, 'Declare').tap();
  await page.getByRole('tab', { name: 'Values' }).waitFor();
  await page.locator('.detail .state.ready').waitFor();

  await client('GET', '/list?prefix=people');
  await to(page, 'Server');
  await page.locator('main tr a').filter({ hasText: 'GET /list?prefix=people' }).first().tap();
  await page.getByLabel('Field, such as').fill('/mail');
  await page.getByLabel('Value, as JSON').fill('same');
  await field(page, 'order').fill('/city');
  await button(page, 'Explain').tap();
  await button(page, 'Declare this').tap();
  await page.getByText('✓').waitFor();
  await fits(page);
  await page.fine();
}, { ...phone, options: ['--slow-ms', '0', '--scan-max', '9998'] }));

test('journey 10: a token', () => withConsole(async ({ context, open }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await open('#/access', SIGN_IN);
  await button(page, /^New/).tap();
  await field(page, 'name').fill('me');
  await button(page, 'Make it').tap();
  await page.getByText('The token is shown only now').waitFor();
  await fits(page);
  await button(page, 'Copy').tap();
  await page.getByText('You use me').waitFor();
  const token = await page.evaluate(() => navigator.clipboard.readText());
  await button(page, 'Sign out').tap();
  await page.locator('#sign-in').waitFor();
  await fits(page);
  await page.locator('input[name=token]').fill(token);
  await button(page, 'Sign in').tap();
  await page.getByText('You use me').waitFor();
  await page.fine();
}, { ...phone, options: ['--scan-max', '9997'] }));

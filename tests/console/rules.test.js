// The page Rules: what entries violate, how that ends, and the totals of quotas.
'use strict';

const assert = require('node:assert');
const { after, test } = require('node:test');
const { accessible, finish, fits, picture, withConsole, PHONE } = require('./lib.js');

after(finish);

const json = { 'Content-Type': 'application/json' };
const bad = ['400 /rules/ages_rule'];

test('a rule is declared by keyboard, shows what violates it, and is ready when that is corrected', () => withConsole(async ({ client, open }) => {
  for (const [name, age] of [['ada', 36], ['bob', -1], ['eve', 12]]) await client('PUT', `/kv/ages/${name}`, `{"age":${age}}`, json);
  const page = await open('#/data', bad);
  await page.locator('.tree > li').first().waitFor();
  page.countFromHere();
  await page.key('g');
  await page.key('r');
  await page.getByText('Choose a rule').waitFor();
  await page.key('n');
  await page.locator('input[name=prefix]:focus').waitFor();
  await page.type('ages');
  assert.equal(await page.locator('input[name=name]').inputValue(), 'ages_rule');
  await page.locator('textarea[name=schema]').focus();
  await page.type('{"properties":{"age":{"minimum":0,"maximum":12345678901234567890}}}');
  await page.getByText('Entries: 3. Violations: 1.').waitFor(); // tried while it is typed
  await page.locator('.estimate tr').filter({ hasText: 'bob' }).getByText('/age').waitFor();
  await accessible(page, page.context());
  await fits(page);
  await picture(page, 'rule-new');
  await page.locator('input[name=min]').focus();
  await page.getByRole('button', { name: 'Declare' }).press('Enter');
  await page.locator('.split .list tr').filter({ hasText: 'ages_rule' }).getByText('conflicted').waitFor();
  const wrong = page.locator('#panel tr').filter({ hasText: 'bob' });
  await wrong.getByText('-1').waitFor();
  assert.match(await (await client('GET', '/rules/ages_rule')).text(), /12345678901234567890/);
  await accessible(page, page.context());
  await fits(page);
  await picture(page, 'rules');

  // The way out: the entry is opened from there, and its correction is refused while it is wrong.
  await wrong.getByRole('link').press('Enter');
  await page.locator('.detail .text').filter({ hasText: '-1' }).waitFor();
  await page.key('e');
  await page.key('Control+a');
  await page.type('{"age":1}');
  await page.key('Control+s');
  await page.getByText('Saved ages/bob').first().waitFor();
  await page.goBack();
  await page.goto(page.url().replace(/#.*/, '#/rules/ages_rule'));
  await page.getByText('All entries obey the rule.').waitFor();
  await page.locator('.split .list tr').filter({ hasText: 'ages_rule' }).getByText('ready').waitFor();

  // It is changed with what the form does not show left alone, and dropped.
  await page.getByRole('tab', { name: 'Change' }).click();
  await page.locator('input[name=default]').fill('30d');
  await page.getByText('All obey it.').waitFor();
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.locator('.split .list tr').filter({ hasText: 'lives 30d' }).waitFor();
  const { schema, ttl } = await (await client('GET', '/rules/ages_rule')).json();
  assert.deepEqual([schema.properties.age.minimum, ttl], [0, { default: '30d' }]);
  await page.getByRole('button', { name: 'Drop' }).press('Enter');
  await page.locator('#confirm').getByRole('button', { name: 'Drop' }).press('Enter');
  await page.getByText('ages_rule was dropped.').waitFor();
  await client('GET', '/rules/ages_rule', undefined, {}, [404]);
  await page.fine();
}));

for (const [name, scheme, size] of [['light', 'light', { width: 1280, height: 800 }], ['dark on a phone', 'dark', PHONE]]) {
  test(`the totals of a quota are shown by child: ${name}`, () => withConsole(async ({ client, open }) => {
    await client('PUT', '/rules/files_quota', '{"prefix":["files"],"quota":{"entries":4,"bytes":"1KiB","depth":1}}', json);
    for (const key of ['ada/1', 'ada/2', 'bob/1']) await client('PUT', `/kv/files/${key}`, '"text"', json);
    const page = await open('#/rules/files_quota', ['412 /kv']);
    await page.locator('#panel tr').filter({ hasText: 'ada' }).getByText('2 of 4').waitFor();
    await page.locator('#panel tr').filter({ hasText: 'bob' }).getByText('1 of 4').waitFor();
    assert.equal(await page.locator('#panel meter').count(), 4);
    await page.locator('#panel td').filter({ hasText: 'of 1.0 KiB' }).first().waitFor();
    await accessible(page, page.context());
    await fits(page);
    await picture(page, `usage-${scheme}`);
    await page.fine();
  }, { scheme, size }));
}

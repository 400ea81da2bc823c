// Entries of every kind: what is opened and saved is what was stored, no change of
// another client is lost, and a time to live is kept.
'use strict';

const assert = require('node:assert');
const { after, test } = require('node:test');
const { accessible, finish, fits, withConsole } = require('./lib.js');

after(finish);

const json = { 'Content-Type': 'application/json' };
const TYPED = 'application/vnd.kindex.typed+json';
const text = (page) => page.locator('.detail .text');
const saved = (page, key) => page.getByText(`Saved ${key}`).first().waitFor();
const stored = async (client, key) => {
  const response = await client('GET', `/kv/${key}`);
  return { type: response.headers.get('content-type'), etag: response.headers.get('etag'),
    expires: response.headers.get('kindex-expires-at'), bytes: Buffer.from(await response.arrayBuffer()) };
};

test('journey 5: a value that another client changes meanwhile is merged, with 3 keys', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/merge/user', '{"name":"User 42","city":"Paris","id":9007199254740993}', json);
  const page = await open('#/data/merge/user', ['412 /kv', '404 /kv']);
  await text(page).filter({ hasText: 'Paris' }).waitFor();
  await page.key('e');
  await page.key('Control+a');
  await client('PUT', '/kv/merge/user', '{"name":"User 42","city":"Elsewhere","id":9007199254740993}', json);
  page.countFromHere();
  await page.type('{"name":"Ada","city":"Paris","id":9007199254740993}');
  await page.key('Control+s');
  await page.getByRole('button', { name: 'Merge both: name' }).waitFor();
  await accessible(page, page.context());
  await fits(page);
  await page.key('Enter');
  await saved(page, 'merge/user');
  assert.equal(page.keys, 3);
  assert.equal((await stored(client, 'merge/user')).bytes.toString(), '{"name":"Ada","city":"Elsewhere","id":9007199254740993}');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'text');

  // The same member: no merge; theirs is taken.
  await page.key('Control+a');
  await page.type('{"name":"mine"}');
  await client('PUT', '/kv/merge/user', '{"name":"theirs"}', json);
  await page.key('Control+s');
  await page.getByRole('button', { name: 'Take theirs' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /Merge/ }).count(), 0);
  await page.key('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'text');
  await page.key('Control+s');
  await page.getByRole('button', { name: 'Take theirs' }).click();
  await text(page).filter({ hasText: 'theirs' }).waitFor();
  assert.equal((await stored(client, 'merge/user')).bytes.toString(), '{"name":"theirs"}');

  // Deleted meanwhile: it can be made again.
  await page.key('e');
  await page.key('Control+a');
  await page.type('{"name":"again"}');
  await client('DELETE', '/kv/merge/user');
  await page.key('Control+s');
  await page.getByText('It was deleted.').waitFor();
  await page.getByRole('button', { name: 'Keep mine' }).click();
  await text(page).filter({ hasText: 'again' }).waitFor();
  assert.equal((await stored(client, 'merge/user')).bytes.toString(), '{"name":"again"}');
  await page.fine();
}));

const VALUES = [['application/json', '{ "spaces" :  [1.50, 12345678901234567890],\n\t"u": "\\u00e9" }\n', 'spaces'],
  ['application/json', '{"compact":[1,{"a":-0.0}],"z":"x"}', 'compact'], ['application/json', '"ü€😀"', '😀'],
  [TYPED, '{"type":"KvU64","value":"41"}', 'KvU64'], [TYPED, '{"type":"Date","value":"2023-04-23T00:00:00.123Z"}', 'Date'],
  ['text/plain;charset=utf-8', 'one\n\n  two ü\n', 'two']];

test('edited and taken back by hand, the stored bytes are the same', () => withConsole(async ({ client, open }) => {
  for (const [i, [type, value, sign]] of VALUES.entries()) {
    await client('PUT', `/kv/truth/${i}`, value, { 'Content-Type': type });
    const before = await stored(client, `truth/${i}`);
    const page = await open(`#/data/truth/${i}`);
    await text(page).filter({ hasText: sign }).waitFor().catch(() => {}); // a textarea has no text content
    await page.key('e');
    // An edit and its reversal leave nothing to save; another edit is saved in full.
    await page.key('End');
    await page.keyboard.type(' ');
    await page.keyboard.press('Backspace');
    assert.ok(await page.getByRole('button', { name: /^Save/ }).isDisabled(), `${type} ${i}`);
    await page.key('Control+s');
    assert.deepEqual(await stored(client, `truth/${i}`), before);
    // Revert after a change, then force a save of the same text by a change of white space.
    if (type === 'application/json') {
      await page.key('Control+End');
      await page.keyboard.type(' ');
      await page.key('Control+s');
      await saved(page, `truth/${i}`);
      assert.equal((await stored(client, `truth/${i}`)).bytes.toString().trimEnd(), before.bytes.toString().trimEnd());
    }
    await page.fine();
    await page.close();
  }
}));

test('a text and a typed value are edited, a time to live is kept, set and taken away', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/kinds/text?ttl=1h', 'hello', { 'Content-Type': 'text/plain' });
  await client('PUT', '/kv/kinds/count', '{"type":"KvU64","value":"41"}', { 'Content-Type': TYPED });
  const page = await open('#/data/kinds/text');
  await page.locator('textarea.text').waitFor();
  await page.getByText(/expires in/).waitFor();
  const { expires } = await stored(client, 'kinds/text');
  await page.key('e');
  await page.key('Control+a');
  await page.type('hello\nworld');
  await page.key('Control+s');
  await saved(page, 'kinds/text');
  const after1 = await stored(client, 'kinds/text');
  assert.equal(after1.bytes.toString(), 'hello\nworld');
  assert.equal(after1.expires, expires);
  assert.match(after1.type, /^text\/plain/);
  await page.getByRole('button', { name: 'Expiry' }).click();
  await accessible(page, page.context());
  await page.type('none');
  await page.key('Enter');
  await page.getByText('expires never').waitFor();
  assert.equal((await stored(client, 'kinds/text')).expires, null);
  assert.equal((await stored(client, 'kinds/text')).bytes.toString(), 'hello\nworld');

  await page.goto(page.url().replace(/#.*/, '#/data/kinds/count'));
  await text(page).filter({ hasText: 'KvU64' }).waitFor();
  await page.key('e');
  await page.key('Control+a');
  await page.type('{"type":"KvU64","value":"42"}');
  await page.key('Control+s');
  await saved(page, 'kinds/count');
  assert.deepEqual(JSON.parse((await stored(client, 'kinds/count')).bytes), { type: 'KvU64', value: '42' });
  await page.fine();
}));

test('bytes are shown, downloaded and replaced', () => withConsole(async ({ client, open }) => {
  const bytes = Buffer.from([0, 1, 2, 255, 65, 66]);
  await client('PUT', '/kv/kinds/bytes', bytes, { 'Content-Type': 'image/x-test' });
  const page = await open('#/data/kinds/bytes');
  await text(page).filter({ hasText: '00 01 02 ff 41 42' }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  assert.deepEqual(Buffer.concat(chunks), bytes);
  await page.locator('input[type=file]').setInputFiles({ name: 'x', mimeType: 'x/y', buffer: Buffer.from([9, 8]) });
  await saved(page, 'kinds/bytes');
  const now = await stored(client, 'kinds/bytes');
  assert.deepEqual(now.bytes, Buffer.from([9, 8]));
  assert.equal(now.type, 'image/x-test');
  await page.fine();
}));

test('a new entry, an export, and all entries of a prefix deleted', () => withConsole(async ({ client, open }) => {
  for (let i = 0; i < 3; i++) await client('PUT', `/kv/batch/${i}`, String(i), json);
  const page = await open('#/data/batch', ['412 /kv']);
  await page.locator('.row').nth(2).waitFor();
  await page.key('n');
  await page.getByRole('dialog').waitFor();
  assert.equal(await page.locator('input[name=key]').inputValue(), 'batch/');
  await page.key('End');
  await page.keyboard.type('1');
  await page.keyboard.press('Tab');
  await page.keyboard.type('{"new":tru');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('The value: line 1').waitFor();
  await accessible(page, page.context());
  await page.locator('textarea[name=value]').fill('{"new":true}');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('There is an entry with this key already.').waitFor();
  await page.locator('input[name=key]').fill('batch/new');
  await page.getByRole('button', { name: 'Create' }).click();
  await text(page).filter({ hasText: 'true' }).waitFor();
  assert.equal((await stored(client, 'batch/new')).bytes.toString(), '{"new":true}');

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString().trim().split('\n').length, 5); // and the line with the count

  await page.getByRole('button', { name: 'Delete all' }).click();
  await page.getByRole('button', { name: 'Delete 4' }).waitFor();
  await page.type('wrong');
  await page.key('Enter');
  await page.getByText('The text is not batch.').waitFor();
  await page.locator('input[name=typed]').fill('batch');
  await page.key('Enter');
  await page.getByText('Deleted 4 entries').first().waitFor();
  assert.equal((await (await client('GET', '/count?prefix=batch')).json()).count, 0);
  await page.fine();
}));

test('a KvU64 is changed by mutations, so that no change of another client is lost', () => withConsole(async ({ client, open }) => {
  const typed = { 'Content-Type': TYPED };
  const sum = (value) => client('POST', '/atomic', JSON.stringify({ mutations: [{ type: 'sum', key: ['kinds', 'hits'], typed: { type: 'KvU64', value } }] }), json);
  await client('PUT', '/kv/kinds/hits?ttl=1h', '{"type":"KvU64","value":"9007199254740993"}', typed);
  const page = await open('#/data/kinds/hits');
  const now = page.locator('.counter output');
  const press = (name) => page.locator('.counter').getByRole('button', { name, exact: true });
  await now.filter({ hasText: '9,007,199,254,740,993' }).waitFor();
  await accessible(page, page.context());
  await fits(page);
  await sum('1000'); // which the page does not know of
  await page.locator('input[name=amount]').fill('5');
  await press('+').press('Enter');
  await now.filter({ hasText: '9,007,199,254,741,998' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), '+');
  await page.locator('input[name=amount]').fill('998');
  await press('−').click();
  await now.filter({ hasText: '9,007,199,254,741,000' }).waitFor();
  await page.locator('input[name=amount]').fill('40');
  await press('max').click();
  await page.getByText('Changed kinds/hits by max').first().waitFor();
  await press('min').waitFor();
  await page.locator('input[name=amount]').fill('40');
  await press('min').click();
  await now.filter({ hasText: /^40$/ }).waitFor();
  await page.locator('input[name=amount]').fill('41');
  await press('−').click();
  await page.getByText('would fall below 0').first().waitFor();
  await page.locator('input[name=amount]').fill('1.5');
  await press('+').click();
  await page.getByText('is a whole number').first().waitFor();
  const found = await stored(client, 'kinds/hits');
  assert.equal(found.bytes.toString(), '{"type":"KvU64","value":"40"}');
  assert.ok(found.expires, 'the time to live is kept');
  await page.fine();
}));

test('an entry expires at a date', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/kinds/dated', '1', json);
  const page = await open('#/data/kinds/dated');
  await page.getByText('expires never').waitFor();
  await page.getByRole('button', { name: 'Expiry' }).click();
  const at = page.locator('input[name=at]');
  await at.fill('2001-01-01T00:00');
  await page.getByRole('button', { name: 'Set' }).click();
  await page.getByText('choose a date in the future').waitFor();
  await accessible(page, page.context());
  await at.fill('2031-05-04T10:20');
  await page.getByRole('button', { name: 'Set' }).click();
  await page.getByText(/expires in \d+ d/).waitFor();
  const wanted = await page.evaluate(() => new Date('2031-05-04T10:20').getTime());
  const { expires, bytes } = await stored(client, 'kinds/dated');
  assert.ok(Math.abs(Number(expires) - wanted) < 600000, `${expires} is about ${wanted}`); // a time to live is sent
  assert.equal(bytes.toString(), '1');
  await page.fine();
}));

test('chosen members are columns, with all digits; the filter is a question', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/columns/a', '{"id":9007199254740993,"a/b":1.50,"name":"Ada","deep":{"x":12345678901234567890}}', json);
  await client('PUT', '/kv/columns/b', 'text', { 'Content-Type': 'text/plain' });
  await client('PUT', '/kv/columns/c', '{"name":"Bob"}', json);
  const page = await open('#/data/columns');
  await page.locator('.row').nth(2).waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('dialog').waitFor();
  assert.deepEqual(await page.locator('#columns code').allInnerTexts(), ['/id', '/a~1b', '/name', '/deep']);
  await accessible(page, page.context());
  // What most entries have is shown already.
  assert.deepEqual(await page.locator('#columns label').filter({ has: page.locator('input:checked') }).allInnerTexts(), ['/name']);
  for (const name of ['/id', '/a~1b', '/name', '/deep']) await page.locator('#columns label').filter({ hasText: name }).locator('input').check();
  await page.getByRole('button', { name: 'Show' }).click();
  await page.locator('.titles').getByText('a~1b').waitFor();
  const cells = (name) => page.locator('.rows .row').filter({ has: page.locator('.key', { hasText: new RegExp(`^${name}$`) }) }).locator('.value').allInnerTexts();
  await page.locator('.rows .row .value').filter({ hasText: 'Ada' }).waitFor();
  assert.deepEqual(await cells('a'), ['9007199254740993', '1.50', 'Ada', '{"x":12345678901234567890}']);
  assert.deepEqual(await cells('b'), ['', '', '', '']);
  assert.deepEqual(await cells('c'), ['', '', 'Bob', '']);
  await accessible(page, page.context());
  await fits(page);
  await page.locator('.rows .row').filter({ hasText: 'Bob' }).click();
  await text(page).filter({ hasText: 'Bob' }).waitFor();
  await page.getByRole('button', { name: 'Query' }).click();
  await page.waitForFunction(() => document.activeElement.getAttribute('aria-label')?.startsWith('Field'));
  assert.equal(await page.locator('input[name=prefix]').inputValue(), 'columns');
  await page.fine();
}));

test('an entry shows its index entries, and why an index leaves it out', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/indexed/a', '{"mail":"Ü@X.org","id":9007199254740993,"tags":["x"],"long":"' + 'y'.repeat(9000) + '"}', json);
  const declare = (name, fields, more = {}) => client('POST', '/indexes', JSON.stringify({ name, prefix: ['indexed'], fields, ...more }), { ...json, Prefer: 'wait=30' });
  await declare('i_mail', [{ path: '/mail', fold: 'lower' }], { unique: true });
  await declare('i_two', ['/id', '/mail']);
  await declare('i_none', ['/city']);
  await declare('i_tags', [{ path: '/tags', each: true }]);
  await declare('i_list', ['/tags']);
  await declare('i_long', ['/long']);
  const page = await open('#/data/indexed/a');
  await page.getByRole('button', { name: 'Indexes' }).click();
  const row = (name) => page.locator('#indexed tr').filter({ has: page.locator('th', { hasText: name }) }).locator('td');
  await row('i_mail').filter({ hasText: 'i_mail/ü@x.org' }).waitFor();
  await accessible(page, page.context());
  await fits(page);
  const held = (await (await client('GET', '/list?prefix=i_two&keys=true')).json()).entries[0].key;
  assert.equal(await row('i_two').innerText(), `i_two/#${held[1]}/Ü@X.org/a`);
  assert.match(await row('i_none').innerText(), /no value at \/city/);
  assert.match(await row('i_tags').innerText(), /not looked up here/);
  assert.match(await row('i_list').innerText(), /no text, number or boolean/);
  assert.match(await row('i_long').innerText(), /leaves it out/);
  await page.locator('#indexed a').filter({ hasText: 'i_none' }).click();
  await page.locator('.split h2').filter({ hasText: 'i_none' }).waitFor();
  assert.equal(await page.locator('dialog').count(), 0);
  await page.fine();
}));

test('a typed date has a calendar, and the text around it stays', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/kinds/day', '{ "type":"Date", "value":"2023-04-23T00:00:00.123Z" }', { 'Content-Type': TYPED });
  const before = (await stored(client, 'kinds/day')).bytes.toString();
  const page = await open('#/data/kinds/day');
  const field = page.locator('input[name=date]');
  await field.waitFor();
  await accessible(page, page.context());
  await fits(page);
  await field.fill('2031-05-04T10:20:30.456');
  await page.getByText('changed, not saved').waitFor();
  await page.getByRole('button', { name: /^Save/ }).click();
  await saved(page, 'kinds/day');
  const at = await page.evaluate(() => new Date('2031-05-04T10:20:30.456').toISOString());
  assert.equal((await stored(client, 'kinds/day')).bytes.toString(), before.replace('2023-04-23T00:00:00.123Z', at));
  await page.fine();
}));

test('a value folds with its digits, a diff marks each added line, and an index entry leads to its entry', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/view/a', '{"name":"Ada {","list":[1.50,{"id":12345678901234567890}]}', json);
  await client('POST', '/indexes', '{"name":"view_by_name","prefix":["view"],"fields":["/name"],"unique":true}', { ...json, Prefer: 'wait=30' });
  const page = await open('#/data/view/a', ['412 /kv']);
  await text(page).filter({ hasText: 'Ada' }).waitFor();
  const fold = page.getByRole('button', { name: 'Fold' });
  await fold.press('Enter');
  const outline = page.locator('.outline');
  await outline.getByText('12345678901234567890').waitFor();
  assert.equal((await outline.textContent()).replace(/\s/g, ''), '{"name":"Ada{","list":[1.50,{"id":12345678901234567890}]}');
  await accessible(page, page.context());
  await fits(page);
  await outline.locator('summary').filter({ hasText: '"list"' }).press('Enter');
  await outline.getByText('12345678901234567890').waitFor({ state: 'hidden' });
  assert.ok(await outline.getByText('Ada {').isVisible());
  await fold.press('Enter');
  assert.ok(await text(page).isVisible());

  // From the entry to its index entry, and back by what that stands for.
  await page.getByRole('button', { name: 'Indexes' }).click();
  await page.locator('#indexed td a').click();
  await page.getByRole('link', { name: 'Its entry' }).waitFor();
  assert.match(page.url(), /#\/data\/view_by_name\//);
  await page.getByRole('link', { name: 'Its entry' }).press('Enter');
  await text(page).filter({ hasText: '1.50' }).waitFor();
  assert.match(page.url(), /#\/data\/view\/a$/);

  // A line that the other version has, too, is marked where there is one more of it.
  await client('PUT', '/kv/view/b', '[1,2,3]', json);
  await page.goto(page.url().replace(/#.*/, '#/data/view/b'));
  await text(page).filter({ hasText: /^\[\s*1,\s*2,\s*3\s*\]$/ }).waitFor();
  await page.key('e');
  await page.key('Control+a');
  await page.type('[1,1,2,3]');
  await page.getByRole('button', { name: 'Format' }).click();
  await client('PUT', '/kv/view/b', '[1,2]', json);
  await page.key('Control+s');
  const yours = page.getByRole('region', { name: 'Yours' }).locator('mark');
  await yours.first().waitFor();
  assert.deepEqual(await yours.allInnerTexts().then((all) => all.map((one) => one.trim())), ['1,']);
  await accessible(page, page.context());
  await page.key('Escape');
  await page.getByRole('button', { name: 'Revert' }).click();
  await page.fine();
}));

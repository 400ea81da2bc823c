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
  const page = await open('#/data/merge/user', ['412', '404']);
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
  const page = await open('#/data/batch', ['412']);
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
  await page.getByText('This is not batch.').waitFor();
  await page.locator('input[name=typed]').fill('batch');
  await page.key('Enter');
  await page.getByText('Deleted 4 entries').first().waitFor();
  assert.equal((await (await client('GET', '/count?prefix=batch')).json()).count, 0);
  await page.fine();
}));

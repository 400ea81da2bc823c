// What people do most: find something from any page, look at a list as a table, take back.
'use strict';

const assert = require('node:assert');
const { after, test } = require('node:test');
const { accessible, finish, fits, picture, server, withConsole } = require('./lib.js');

after(finish);

const json = { 'Content-Type': 'application/json' };
const found = (page) => page.locator('#found li');
const value = (page) => page.locator('.detail .text');
const titles = (page) => page.locator('.title > :first-child');

// Shops with indexes, each test its own: {name: use}.
async function shop(client, name) {
  const lines = [];
  for (let i = 0; i < 60; i++) {
    lines.push({ key: [`${name}-users`, `u${String(i).padStart(2, '0')}`], value: { email: `User${i}@x.org`, city: ['Oslo', 'Paris', 'Rome'][i % 3], age: 20 + i } });
    lines.push({ key: [`${name}-orders`, i], value: { status: i % 2 ? 'paid' : 'open', date: `2026-${i % 2 ? '10' : '11'}-${String(1 + i % 28).padStart(2, '0')}`, total: i / 4 } });
  }
  await client('POST', '/bulk', lines.map((line) => JSON.stringify(line)).join('\n') + '\n', { 'Content-Type': 'application/x-ndjson' });
  const declare = (index) => client('POST', '/indexes', JSON.stringify(index), { ...json, Prefer: 'wait=30' });
  await declare({ name: `${name}_by_email`, prefix: [`${name}-users`], fields: [{ path: '/email', fold: 'lower' }], unique: true });
  await declare({ name: `${name}_by_city`, prefix: [`${name}-users`], fields: ['/city'] });
  await declare({ name: `${name}_by_status_date`, prefix: [`${name}-orders`], fields: ['/status', '/date'], missing: 'null' });
}

test('a user is found by the e-mail address with /, the address and Enter, from any page', () => withConsole(async ({ client, open }) => {
  await shop(client, 'find');
  const page = await open('#/server');
  await page.locator('main h2').first().waitFor();
  page.countFromHere();
  await page.key('/');
  await page.type('user7@x.org');
  await page.key('Enter');
  await value(page).filter({ hasText: 'User7@x.org' }).waitFor();
  assert.equal(page.keys, 3);
  assert.match(page.url(), /#\/data\/find-users\/u07$/);
  await page.fine();
}));

test('the box shows what a text may mean while it is typed', () => withConsole(async ({ client, open }) => {
  await shop(client, 'box');
  const page = await open();
  await page.locator('.tree > li').first().waitFor();
  const shows = async (text, best, ...wanted) => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type(text);
    for (const [first, note] of wanted) await found(page).filter({ hasText: first }).filter({ hasText: note }).first().waitFor();
    await found(page).first().filter({ hasText: best }).waitFor(); // before it, what the beginning of the text may mean
    await page.keyboard.press('Escape');
    await found(page).first().waitFor({ state: 'hidden' });
  };
  await shows('box-orders/42', /box-orders\s*\/\s*#42/, [/#42/, 'entry']); // the number is meant
  await shows('box-orders/none', /Go to.*none/, ['Go to', 'not there']);
  await shows('box-us', /box-users/, ['box-users', 'below']);
  await shows('user1', /u1\d/, [/u10/, 'email User10@x.org'], [/u13/, 'email User13@x.org']);
  await shows('Osl', /Oslo/, ['city = Oslo', 'entries']);
  await shows('box_by', /box_by/, ['box_by_city', 'index']);
  await shows('server', /^Server$/, [/^Server$/, '']);
  await shows('=abc', /=abc is no part of a key/);

  // The entries that have a value are a list; a command runs; the arrow keys choose.
  await page.keyboard.press('/');
  await page.keyboard.type('Oslo');
  await found(page).filter({ hasText: 'city = Oslo' }).first().waitFor();
  await accessible(page, page.context());
  await picture(page, 'find');
  await page.keyboard.press('Enter');
  await page.locator('.list .tag').filter({ hasText: /^20 entries$/ }).waitFor();
  await page.getByText('Answered by box_by_city: reads 20.').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('new');
  await page.waitForFunction(() => /^New entry/.test(document.querySelector('#found li')?.innerText));
  await page.keyboard.press('ArrowDown');
  assert.equal(await found(page).nth(1).getAttribute('aria-selected'), 'true');
  await page.keyboard.press('Enter');
  await page.getByText('Choose an index').waitFor({ state: 'detached' });
  await page.locator('#nav-indexes[aria-current]').waitFor();
  await page.fine();
}, { options: ['--slow-ms', '1000'] }));

// Answers that a test holds back: {asked, release()}; asked: resolves when one is asked for.
async function hold(page, pattern) {
  let release;
  const open = new Promise((resolve) => { release = resolve; });
  await page.route(pattern, async (route) => {
    await open;
    await route.fallback().catch(() => {}); // the page may have aborted it
  });
  return { asked: page.waitForRequest(pattern), release };
}

test('no late answer opens the list of the box after it was left', () => withConsole(async ({ client, open }) => {
  await shop(client, 'late');
  const page = await open('#/server');
  await page.locator('main h2').first().waitFor();
  // How often the list was opened. A timer of the page that was set before has run when this is known.
  const opened = () => page.evaluate(async () => {
    await new Promise((resolve) => { setTimeout(resolve, 100); });
    return globalThis.opened ?? 0;
  });
  const forget = () => page.evaluate(() => { globalThis.opened = 0; });
  const leave = async () => { await page.keyboard.press('Escape'); await page.waitForFunction(() => document.activeElement.id === 'main'); };

  // It is left before its module has come.
  const module = await hold(page, '**/search.js');
  await page.keyboard.press('/');
  await page.keyboard.type('late-us');
  await page.keyboard.press('Enter');
  await leave();
  module.release();
  await page.locator('#found').waitFor({ state: 'attached' });
  await page.evaluate(() => {
    const list = document.getElementById('found');
    globalThis.opened = list.hidden ? 0 : 1;
    new MutationObserver(() => { if (!list.hidden) globalThis.opened++; }).observe(list, { attributes: true, attributeFilter: ['hidden'] });
  });
  assert.equal(await opened(), 0);

  // It is left in the moment in which a key was typed.
  await page.keyboard.press('/');
  await found(page).first().waitFor();
  await page.evaluate(() => {
    const box = document.getElementById('goto');
    box.value = 'late-us';
    box.dispatchEvent(new InputEvent('input', { bubbles: true }));
    box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }));
  });
  await forget();
  assert.equal(await opened(), 0);
  assert.ok(await page.locator('#found').isHidden());

  // It is left while the server is asked, and the same is asked again: the first answer is not the second one's.
  const first = await hold(page, '**/indexes');
  await page.keyboard.press('/');
  await page.keyboard.type('late-users');
  await page.keyboard.press('Enter');
  await first.asked;
  await leave();
  await page.unroute('**/indexes');
  const second = await hold(page, '**/indexes');
  await page.keyboard.press('/');
  await found(page).first().waitFor(); // commands
  await page.keyboard.type('late-users');
  await page.keyboard.press('Enter');
  await second.asked;
  await forget();
  first.release();
  assert.equal(await opened(), 0);
  assert.match(page.url(), /#\/server$/);
  assert.ok(!(await found(page).allInnerTexts()).some((text) => text.includes('late-users')));
  second.release();
  await page.waitForURL(/#\/data\/late-users$/);
  assert.equal(await page.locator('#goto').inputValue(), '');
  assert.ok(await page.locator('#found').isHidden());
  await page.fine();
}));

test('a page that finishes loading takes no focus from a field', () => withConsole(async ({ client, open }) => {
  await shop(client, 'focus');
  const box = (page) => page.waitForFunction(() => document.activeElement.id === 'goto');
  for (const [hash, pattern, complete] of [['server', '**/slow?*', 'tbody td'], ['access', '**/tokens', 'tbody td'],
    ['data/focus-users', '**/tree?*', '.row .key'], ['data', '**/tree?*', '.tree > li'], ['indexes/focus_by_city', '**/indexes/focus_by_city', '[role=tab]']]) {
    const page = await open('#/query');
    await page.locator('.condition').waitFor();
    const held = await hold(page, pattern);
    await page.evaluate((to) => { location.hash = `#/${to}`; }, hash);
    await held.asked;
    await page.keyboard.press('/');
    await box(page);
    held.release();
    await page.locator(`main ${complete}`).first().waitFor();
    await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 100); }));
    assert.equal(await page.evaluate(() => document.activeElement.id), 'goto', hash);
    await page.fine();
    await page.close();
  }

  // Of two addresses that follow one another, the last is shown.
  const quick = await open('#/query');
  await quick.locator('.condition').waitFor();
  await quick.evaluate(() => { location.hash = '#/watch'; location.hash = '#/indexes/focus_by_city'; });
  await quick.getByRole('tab', { name: 'Values' }).waitFor();
  await quick.fine();

  // A declaration that is typed before the list of indexes has come stays.
  const page = await open();
  await page.locator('.tree > li').first().waitFor();
  const held = await hold(page, '**/indexes');
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.getByText('Choose an index').waitFor();
  await page.keyboard.press('n');
  await page.locator('input[name=line]:focus').waitFor();
  held.release();
  await page.locator('.list tbody').getByText('focus_by_city').waitFor();
  await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 100); }));
  assert.equal(await page.evaluate(() => document.activeElement.name), 'line');
  await page.fine();
}));

test('the box begins a form with what is typed after its name', () => withConsole(async ({ client, open }) => {
  await shop(client, 'begun');
  const page = await open('#/server', ['400 /rules/begun-users_rule']);
  await page.locator('main h2').first().waitFor();
  page.countFromHere();
  await page.key('/');
  await page.type('new index begun-users /age');
  await page.key('Enter');
  await page.locator('.estimate dd').filter({ hasText: '60' }).first().waitFor(); // its cost is shown before
  assert.equal(await page.evaluate(() => document.activeElement.name), 'line');
  await page.key('Enter');
  await page.locator('.split .list tr').filter({ hasText: 'begun-users_by_age' }).getByText('ready').waitFor();
  assert.ok(page.keys <= 6 * 0.75, `${page.keys} keys, of 6 with g i, n, and a line`);
  for (const [text, form, values] of [['new rule begun-users', 'New rule', { prefix: 'begun-users', name: 'begun-users_rule' }],
    ['New queue begun-jobs', 'New queue', { prefix: 'begun-jobs' }], ['new index', 'New index', { line: '' }]]) {
    await page.key('Control+k');
    await page.type(text);
    await page.key('Enter');
    await page.getByRole('form', { name: form }).waitFor();
    for (const [name, value] of Object.entries(values)) assert.equal(await page.locator(`form.pane input[name=${name}]`).inputValue(), value);
  }
  await page.key('Control+k');
  await page.type('new access token app begun-users');
  await page.key('Enter');
  await page.locator('#new-token').waitFor();
  assert.deepEqual([await page.locator('input[name=name]').inputValue(), await page.locator('#new-token input[name=prefix]').inputValue()], ['app', 'begun-users']);
  await page.key('Escape');
  await page.fine();
}));

test('a list is a table of what most values have, in the order of an index at choice', () => withConsole(async ({ client, open }) => {
  await shop(client, 'table');
  const page = await open('#/data/table-users');
  await titles(page).nth(3).waitFor();
  assert.deepEqual(await titles(page).allInnerTexts(), ['Key', 'email', 'city', 'age']);
  assert.equal(await titles(page).nth(3).getAttribute('title'), 'No index has this order.');
  const first = (cell) => page.locator('.row').filter({ hasText: /./ }).first().locator('.value').nth(cell);
  await first(1).filter({ hasText: 'Oslo' }).waitFor();
  await titles(page).nth(2).click();
  await page.getByText(/In the order of table_by_city/).waitFor();
  await page.locator('.titles').getByText('city ↑').click();
  await page.locator('.titles').getByText('city ↓').waitFor();
  await page.locator('.row[data-index="0"] .value').filter({ hasText: 'Rome' }).waitFor();
  await accessible(page, page.context());
  await fits(page);
  await page.locator('.titles').getByText('city ↓').click();
  await page.locator('.row[data-index="0"] .value').filter({ hasText: 'User0@x.org' }).waitFor();

  // The width of a column, by keyboard, is there after the page is loaded again.
  const width = () => titles(page).nth(1).evaluate((node) => Math.round(node.parentNode.getBoundingClientRect().width));
  const before = await width();
  const edge = page.getByRole('separator', { name: 'Width of email' });
  await edge.focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight');
  const wide = await width();
  assert.ok(wide > before, `${wide} > ${before}`);
  await page.reload();
  await titles(page).nth(3).waitFor();
  await page.waitForFunction((pixels) => Math.abs(document.querySelectorAll('.title')[1].getBoundingClientRect().width - pixels) <= 1, wide);
  await page.fine();
}));

test('a filter above a list says what answers it, and declares what is missing', () => withConsole(async ({ client, open }) => {
  await shop(client, 'filter');
  const page = await open('#/data/filter-orders');
  const filter = page.locator('input[name=filter]');
  const ask = async (text) => { await filter.fill(text); await filter.press('Enter'); };
  const total = (text) => page.locator('.list .tag').filter({ hasText: text }).waitFor();
  await total(/60 entries/);
  await ask('status = open, date in 2026-11');
  await total(/^30 entries$/);
  await page.getByText('Answered by filter_by_status_date: reads 30.').waitFor();
  assert.match(decodeURIComponent(page.url()), /#\/data\/filter-orders\?status = open, date in 2026-11$/);
  await accessible(page, page.context());
  await fits(page);
  await ask('total >= 10');
  await total(/^20 entries$/);
  await page.getByText(/^No index answers this: all .*60 entries are tested\./).waitFor();
  await page.getByRole('button', { name: 'Declare the index' }).click();
  await page.getByText(/Answered by filter_orders_by_total/i).or(page.getByText(/Answered by .*total/)).first().waitFor();
  await total(/^20 entries$/);
  await ask('status');
  await page.getByText(/is no condition: write status = open/).waitFor();
  await ask('');
  await total(/60 entries/);
  await page.goBack();
  await page.fine();
}));

test('a deletion and a save are taken back within 30 seconds, unless others have written since', () => withConsole(async ({ client, open }) => {
  await client('PUT', '/kv/undo/a?ttl=2h', '{"n": 1.50}', json);
  await client('PUT', '/kv/undo/b', '{"n":1}', json);
  const page = await open('#/data/undo/a', ['412 /kv']);
  await value(page).filter({ hasText: '1.50' }).waitFor();
  const remove = async () => {
    await page.locator('.detail').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.locator('dialog').getByText('taken back for 30 seconds').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  };
  const undo = page.getByRole('button', { name: 'Undo' });
  await remove();
  await page.getByText('Deleted undo/a').first().waitFor();
  await client('GET', '/kv/undo/a', undefined, {}, [404]);
  await undo.click();
  await page.getByText('Taken back: undo/a').first().waitFor();
  const back = await client('GET', '/kv/undo/a');
  assert.equal(await back.text(), '{"n": 1.50}');
  const left = Number(back.headers.get('Kindex-Expires-At')) - Date.now();
  assert.ok(left > 6000000 && left <= 7200000, `${left} ms are left of two hours`);

  // What was saved, and what another client has written since.
  await page.locator('.row').filter({ hasText: /^b/ }).click();
  await value(page).filter({ hasText: '"n": 1' }).waitFor();
  await page.keyboard.press('e');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('{"n":2}');
  await page.keyboard.press('Control+s');
  await page.getByText(/^Saved undo\/b/).first().waitFor();
  await undo.last().click();
  await page.getByText('Taken back: undo/b').first().waitFor();
  assert.equal(await (await client('GET', '/kv/undo/b')).text(), '{"n":1}');
  await remove();
  await page.getByText('Deleted undo/b').first().waitFor();
  await client('PUT', '/kv/undo/b', '"theirs"', json);
  await undo.last().click();
  await page.getByText('another client has written undo/b since').first().waitFor();
  assert.equal(await (await client('GET', '/kv/undo/b')).text(), '"theirs"');
  await page.fine();
}));

test('a file of entries is imported, and tells the lines that are refused', () => withConsole(async ({ client, open }) => {
  const page = await open('#/data/users', ['400 /bulk']);
  await page.locator('.row').nth(2).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('import');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await accessible(page, page.context());
  await page.locator('input[name=file]').setInputFiles({ name: 'kv.sqlite3', mimeType: '', buffer: Buffer.from('SQLite format 3\0\x10\0\xff', 'latin1') });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('This is a SQLite file').waitFor();
  const lines = ['{"key":[],"value":1}', '{"key":["imported",1],"value":{"id":12345678901234567890}}', 'not JSON', '', '{"key":["imported",2],"value":2}'];
  await page.locator('input[name=file]').setInputFiles({ name: 'entries.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(lines.join('\n')) });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('2 entries stored, 2 lines refused').waitFor();
  assert.deepEqual((await page.locator('.errors li').allInnerTexts()).map((text) => /^line \d/.exec(text)?.[0]), ['line 1', 'line 3']);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.locator('.tree').getByText('imported').waitFor();
  assert.equal(await (await client('GET', '/kv/imported/=1')).text(), '{"id":12345678901234567890}');
  await page.fine();
}));

test('colours can be switched, an image is shown, lines have numbers and brackets their partner', () => withConsole(async ({ client, open }) => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await client('PUT', '/kv/looks/image', Buffer.from(png, 'base64'), { 'Content-Type': 'image/png' });
  await client('PUT', '/kv/looks/text', '{"a":[1,{"b":2}]}', json);
  const page = await open('#/data/looks/image');
  await page.waitForFunction(() => document.querySelector('.picture img')?.naturalWidth === 1);
  await accessible(page, page.context());
  await page.goto(page.url().replace(/image$/, 'text'));
  await value(page).filter({ hasText: '"b": 2' }).waitFor();
  assert.equal(await page.locator('.gutter').innerText(), '1\n2\n3\n4\n5\n6\n7\n8');
  await page.keyboard.press('e');
  await page.keyboard.press('Control+Home');
  const marked = () => page.evaluate(() => [...CSS.highlights.get('json-b')].map((range) => range.startOffset));
  assert.deepEqual(await marked(), [0, (await value(page).textContent()).length - 1]);
  await page.keyboard.press('ArrowDown');
  assert.deepEqual(await marked(), []);

  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  const theme = page.getByRole('button', { name: /^Colours/ });
  await theme.click();
  await theme.click();
  assert.equal(await theme.getAttribute('title'), 'Colours: dark');
  const dark = await background();
  assert.notEqual(dark, light);
  await page.reload();
  await value(page).waitFor();
  assert.equal(await background(), dark);
  await page.fine();
}));

test('plots have a scale, times, and one cross hair', async () => {
  const { client } = await server('usual');
  for (let i = 0; i < 3; i++) await client('GET', '/kv/users/ada');
  await withConsole(async ({ open }) => {
    const page = await open('#/server');
    await page.waitForFunction(() => document.querySelectorAll('.axis span').length === 30 && /\d/.test(document.querySelector('.scale.most').textContent));
    await page.locator('.chart svg').first().hover();
    await page.waitForFunction(() => [...document.querySelectorAll('.cross')].every((line) => line.getAttribute('visibility') === 'visible'));
    const [places, times] = await page.evaluate(() => [[...document.querySelectorAll('.cross')].map((line) => line.getAttribute('x1')), [...document.querySelectorAll('.legend')].map((node) => node.textContent.slice(0, 5))]);
    assert.equal(new Set(places).size, 1);
    assert.equal(new Set(times).size, 1);
    assert.match(times[0], /^\d\d:\d\d$/);
    await page.locator('h1').hover();
    await page.waitForFunction(() => [...document.querySelectorAll('.cross')].every((line) => line.getAttribute('visibility') === 'hidden'));
    await accessible(page, page.context());
    await page.fine();
  });
});

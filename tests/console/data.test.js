// The page Data: the journeys by keyboard, with their keys counted, and by mouse.
'use strict';

const assert = require('node:assert');
const { after, test } = require('node:test');
const { EVENTS, accessible, finish, fits, picture, withConsole } = require('./lib.js');

after(finish);

const value = (page) => page.locator('.detail .text');
const selected = (page) => page.locator('.row[aria-selected=true]');
const focused = (page) => page.evaluate(() => document.activeElement.className || document.activeElement.tagName);

test('journey 1: what is in here, with no key', () => withConsole(async ({ open }) => {
  const page = await open();
  const items = page.locator('.tree > li');
  await items.nth(2).waitFor();
  const texts = (await items.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  assert.equal(texts.length, 4);
  assert.match(texts[0], /^config 1$/);
  assert.match(texts[1], /^events (≈ )?\d(\.\d)?(k|,000)$/);
  assert.match(texts[3], /^users (≈ )?\d{2,3}$/);
  assert.equal(page.keys, 0);
  await page.fine();
}));

test('journey 2: show me users/ada, with 3 keys', () => withConsole(async ({ open }) => {
  const page = await open();
  await page.locator('.tree > li').first().waitFor();
  await page.key('/');
  await page.type('users/ada');
  await page.key('Enter');
  await value(page).filter({ hasText: 'London' }).waitFor();
  assert.ok(page.keys <= 3);
  assert.match(page.url(), /#\/data\/users\/ada$/);
  await selected(page).filter({ hasText: 'ada' }).waitFor();
  await page.fine();
}));

test('journey 3: the last of many events, with 4 keys', () => withConsole(async ({ open }) => {
  const page = await open();
  await page.locator('.tree > li').first().waitFor();
  await page.key('/');
  await page.type('events');
  await page.key('Enter');
  await page.locator('.row').nth(5).waitFor();
  await page.key('End');
  await page.locator('.detail').getByText(String(EVENTS - 1)).first().waitFor();
  await selected(page).filter({ hasText: `#${EVENTS - 1}` }).waitFor();
  assert.ok(page.keys <= 4);
  await page.fine();
}));

test('journey 4: one value after another, a key each', () => withConsole(async ({ open }) => {
  const page = await open('#/data/users');
  await page.locator('.row').nth(5).waitFor();
  page.countFromHere();
  for (let i = 0; i < 30; i++) {
    await page.key('ArrowDown');
    await page.locator('.detail h2').filter({ hasText: i === 0 ? 'ada' : `u${String(i - 1).padStart(5, '0')}` }).waitFor();
  }
  assert.equal(page.keys, 30);
  await page.fine();
}));

test('any place of a long list, and every entry on the way', () => withConsole(async ({ open }) => {
  const page = await open('#/data/events');
  await page.locator('.row').nth(5).waitFor();
  // The middle, by the scroll bar; then up and down through the seams.
  await page.locator('.rows').evaluate((node) => { node.scrollTop = node.scrollHeight / 2; });
  await page.waitForFunction((least) => {
    const rows = [...document.querySelectorAll('.row')];
    return rows.length > 5 && rows.every((row) => row.dataset.index > least && row.querySelector('.key'));
  }, EVENTS / 5);
  const numbers = () => page.locator('.row .key').allInnerTexts().then((all) => all.map((t) => Number(t.replace('#', ''))).sort((a, b) => a - b));
  const middle = await numbers();
  assert.ok(middle[0] > EVENTS / 5 && middle[0] < EVENTS * 4 / 5, `about the middle: ${middle[0]}`);
  // Scrolls by ten rows at a time; numbers may change on the way, so only what
  // is added is told.
  const steps = (start, by, most) => page.locator('.rows').evaluate(async (node, [from, each, limit]) => {
    const seen = new Set();
    if (from !== null) node.scrollTop = from;
    for (let i = 0; i < limit; i++) {
      for (;;) {
        await new Promise(requestAnimationFrame);
        const box = node.getBoundingClientRect();
        const rows = [...node.querySelectorAll('.row')].filter((row) => {
          const { top } = row.getBoundingClientRect();
          return top >= box.top - 28 && top <= box.bottom;
        });
        if (!rows.every((row) => row.querySelector('.key'))) continue;
        for (const row of rows) seen.add(Number(row.querySelector('.key').textContent.replace('#', '')));
        break;
      }
      const before = node.scrollTop;
      node.scrollTop += each;
      if (node.scrollTop === before) break;
    }
    return [...seen].sort((x, y) => x - y);
  }, [start, by, most]);
  const height = await page.locator('.rows').evaluate((node) => node.scrollHeight);
  const all = [await steps(height / 2, -280, 100), await steps(height / 2, 280, 100),
    await steps(30000, -280, Infinity), await steps(height - 30000, 280, Infinity)];
  for (const seen of all) {
    assert.ok(seen.length > 500, `${seen.length} entries seen`);
    for (let i = 1; i < seen.length; i++) assert.equal(seen[i], seen[i - 1] + 1, `no entry is left out on way ${all.indexOf(seen)}`);
  }
  assert.equal(all[2][0], 0);
  assert.equal(all[3].at(-1), EVENTS - 1);
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(elements <= 500, `${elements} elements`);
  await page.fine();
}));

test('an entry is edited and saved, and other clients\' changes are not lost', () => withConsole(async ({ client, open }) => {
  const page = await open('#/data/other/edited', ['412 /kv']);
  await value(page).filter({ hasText: 'London' }).waitFor();
  await page.key('e');
  assert.equal(await focused(page), 'text');
  await page.key('Control+a');
  await page.type('{"name":"Ada","born":18');
  await page.locator('.note.bad').filter({ hasText: 'line 1' }).waitFor();
  assert.ok(await page.getByRole('button', { name: /Save/ }).isDisabled());
  await page.type('15}');
  await page.key('Control+s');
  await page.getByText(/^Saved other\/edited/).first().waitFor();
  assert.equal(await (await client('GET', '/kv/other/edited')).text(), '{"name":"Ada","born":1815}');

  await value(page).filter({ hasText: '1815' }).waitFor();
  await client('PUT', '/kv/other/edited', '{"name":"Augusta"}', { 'Content-Type': 'application/json' });
  await page.key('Control+a');
  await page.type('{"name":"mine"}');
  await page.key('Control+s');
  await page.getByText('changed by another client').waitFor();
  assert.equal(await (await client('GET', '/kv/other/edited')).text(), '{"name":"Augusta"}');
  await accessible(page, page.context());
  await page.getByRole('button', { name: 'Keep mine' }).press('Enter');
  await page.getByText(/^Saved other\/edited/).first().waitFor();
  assert.equal(await (await client('GET', '/kv/other/edited')).text(), '{"name":"mine"}');
  await page.fine();
}));

test('text that is not saved is there when its entry is opened again', () => withConsole(async ({ open }) => {
  const page = await open('#/data/other/kept');
  await value(page).filter({ hasText: 'London' }).waitFor();
  await page.key('e');
  await page.key('Control+a');
  await page.type('{"unsaved":true}');
  await page.key('Escape');
  await page.key('ArrowDown');
  await page.locator('.detail h2').filter({ hasText: 'removed' }).waitFor();
  await page.key('ArrowUp');
  await value(page).filter({ hasText: 'unsaved' }).waitFor();
  await page.getByText('changed, not saved').waitFor();
  await page.getByRole('button', { name: 'Revert' }).click();
  await value(page).filter({ hasText: 'London' }).waitFor();
  await page.fine();
}));

test('by mouse: a prefix, an entry, its deletion', () => withConsole(async ({ client, open }) => {
  const page = await open();
  await page.locator('.tree .label').filter({ hasText: 'other' }).click();
  await page.locator('.row').filter({ hasText: 'removed' }).click();
  await value(page).filter({ hasText: 'London' }).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await accessible(page, page.context());
  await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Deleted other/removed').first().waitFor();
  await client('GET', '/kv/other/removed', undefined, {}, [404]);
  await page.locator('.row').filter({ hasText: 'edited' }).waitFor();
  await page.fine();
}));

test('Back, Esc, the tree by arrows, an empty store', async () => {
  await withConsole(async ({ open }) => {
    const page = await open();
    await page.locator('.tree > li').nth(3).waitFor();
    await page.key('ArrowDown');
    await page.locator('.list h2').filter({ hasText: 'events' }).waitFor();
    await page.key('Home');
    await page.key('ArrowRight');
    await page.locator('.tree ul li').filter({ hasText: 'limits' }).waitFor();
    await page.key('Enter');
    await page.locator('.rows:focus').waitFor();
    await page.key('Home');
    await value(page).filter({ hasText: '100' }).waitFor();
    await page.key('Enter');
    assert.equal(await focused(page), 'text');
    await page.key('Escape');
    assert.equal(await focused(page), 'rows');
    await page.key('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'treeitem');
    await page.goBack();
    await page.fine();
  });
  await withConsole(async ({ base, open }) => {
    const page = await open();
    await page.getByText('There are no entries yet').waitFor();
    await page.getByText(`curl -X PUT ${base}/kv/users/ada`).waitFor();
    await page.fine();
  }, { empty: true });
});

test('axe has nothing to say with forced colours and without motion', () => withConsole(async ({ open }) => {
  const page = await open('#/data/users/ada');
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
  await value(page).filter({ hasText: 'London' }).waitFor();
  await accessible(page, page.context());
  await fits(page);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  // What is selected can be told from the rest: its colour is that of the system.
  const [selected_, other] = await page.locator('.row').evaluateAll((rows) => [true, false].map((is) =>
    getComputedStyle(rows.find((row) => (row.getAttribute('aria-selected') === 'true') === is)).backgroundColor));
  assert.notEqual(selected_, other);
  await page.fine();
}));

for (const scheme of ['light', 'dark']) {
  for (const [name, size] of [['wide', { width: 1280, height: 800 }], ['a phone', { width: 390, height: 844 }], ['at 200 %', { width: 640, height: 400 }]]) {
    test(`axe has nothing to say, and nothing is too wide: ${scheme}, ${name}`, () => withConsole(async ({ open }) => {
      const page = await open('#/data/users/ada');
      await value(page).filter({ hasText: 'London' }).waitFor();
      await accessible(page, page.context());
      await fits(page);
      await picture(page, `data-${scheme}-${size.width}`);
      await page.key('?');
      await page.getByRole('dialog').waitFor();
      await accessible(page, page.context());
      await page.key('Escape');
      await page.fine();
    }, { scheme, size }));
  }
}

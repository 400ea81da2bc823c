// What an operator does about damage and for backups: an index that is damaged on disk is
// repaired in the browser, and the archive in use is shown.
'use strict';

const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, test } = require('node:test');
const { clientOf, finish, launch, openPage, runs } = require('./lib.js');

after(finish);

// use({directory, start}) where start(options, hash) answers a page on a server with the
// data in `directory`.
async function withDirectory(use) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-'));
  let own;
  const context = await (await launch()).newContext();
  try {
    await use({ directory, start: async (options, hash) => {
      own = await runs(['--data', `${directory}/data`, ...options], `${directory}/server`);
      return { client: clientOf(own.base), page: await openPage(context, `${own.base}/console${hash}`) };
    } });
  } finally {
    await context.close();
    await own?.end('SIGTERM');
    fs.rmSync(directory, { recursive: true });
  }
}

test('the damage of an index is found and repaired', () => withDirectory(async ({ directory, start }) => {
  execFileSync('tar', ['-xzf', path.join(__dirname, '../data/damaged-index.tar.gz'), '-C', directory]);
  fs.renameSync(`${directory}/damaged-index`, `${directory}/data`);
  const { page, client } = await start([], '#/indexes');
  const name = 'by_email';
  await page.locator('.split .list').getByText(name).click();
  await page.getByRole('tab', { name: 'Verify' }).click();
  const press = (text) => page.getByRole('button', { name: text, exact: true }).click();
  const report = async () => (await client('GET', `/indexes/${name}/verify`)).json();
  await press('Verify');
  await page.locator('#panel').getByText(/missing|dangling|stale/).first().waitFor();
  const { missing, dangling, stale } = await report();
  assert.ok(missing + dangling + stale > 0);
  await press('Verify and repair');
  await page.locator('#panel').getByText(/, repaired/).first().waitFor();
  await press('Verify');
  await page.getByText('Nothing is wrong.').waitFor();
  const after_ = await report();
  assert.deepEqual([after_.repair, after_.missing, after_.dangling, after_.stale], [false, 0, 0, 0]);
  await page.fine();
}));

test('the archive in use is shown, with its time', () => withDirectory(async ({ directory, start }) => {
  const { page, client } = await start(['--archive', `${directory}/archive`, '--archive-interval', '1s'], '#/data');
  await client('PUT', '/kv/a', '1', { 'Content-Type': 'application/json' });
  // The time of the archive is among the figures when its first base is there.
  const archived = async () => /^kindex_archive_last_success_timestamp_seconds [1-9]/m.test(await (await client('GET', '/metrics')).text());
  while (!await archived()) await new Promise((resolve) => { setTimeout(resolve, 20); });
  await page.goto(page.url().replace(/#.*/, '#/server'));
  await page.getByText(/Log: archived \d\d\/\d\d\/\d{4}, /).waitFor();
  await page.fine();
}));

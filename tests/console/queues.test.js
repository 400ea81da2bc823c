// The page Queues: counts, jobs, and dead jobs that are tried again.
'use strict';

const assert = require('node:assert');
const { after, test } = require('node:test');
const { accessible, finish, fits, picture, withConsole, PHONE } = require('./lib.js');

after(finish);

const json = { 'Content-Type': 'application/json' };

// Claims jobs until each of them has failed for good.
async function kill(client, queue, limit) {
  const { jobs } = await (await client('POST', `/queues/${queue}/claim?limit=${limit}`)).json();
  await client('POST', `/queues/${queue}/fail`, JSON.stringify({ receipts: jobs.map(({ receipt }) => receipt), error: 'mailbox full' }), json);
  return jobs;
}

test('a queue is declared by keyboard, and its dead jobs are retried with the same bytes', () => withConsole(async ({ client, open }) => {
  const page = await open('#/data');
  await page.locator('.tree > li').first().waitFor();
  page.countFromHere();
  await page.key('g');
  await page.key('u');
  await page.getByText('Choose a queue').waitFor();
  await page.key('n');
  await page.locator('input[name=prefix]:focus').waitFor();
  await page.type('mail');
  await page.locator('input[name=retries]').fill('');
  await page.locator('input[name=dead]').fill('dead/mail');
  await accessible(page, page.context());
  await fits(page);
  await page.key('Enter');
  await page.locator('#panel').getByText('There are no jobs.').waitFor();
  const { queue } = await (await client('GET', '/indexes/mail_due')).json();
  assert.deepEqual([queue.lease, queue.retries, queue.dead], ['1m', [], ['dead', 'mail']]);

  // What each of them is: due, claimed, due later, dead.
  for (const name of ['a', 'b', 'c', 'd']) await client('PUT', `/kv/mail/${name}?ttl=2h`, '{"n": 1.50}', json);
  await client('PUT', '/kv/mail/later', '{"due":4102444800000}', json);
  await kill(client, 'mail_due', 2);
  await client('POST', '/queues/mail_due/claim');
  await page.reload();
  await page.locator('#panel tr').filter({ hasText: 'later' }).getByText('01/01/2100').waitFor();
  await page.locator('#panel tr').filter({ hasText: 'now' }).first().waitFor();
  const counts = () => page.locator('.facts dd').allInnerTexts().then((all) => all.slice(0, 4));
  assert.deepEqual(await counts(), ['1', '1', '1', '0']); // the dead ones have left the queue
  await accessible(page, page.context());
  await fits(page);
  await picture(page, 'queues');
  const tab = page.getByRole('tab', { name: 'Dead' });
  await page.getByRole('tab', { name: 'Jobs' }).press('ArrowRight');
  assert.equal(await tab.getAttribute('aria-selected'), 'true');
  const dead = page.locator('#panel tbody tr');
  await dead.nth(1).waitFor();
  assert.equal(await dead.count(), 2);
  await accessible(page, page.context());
  await page.getByRole('button', { name: /^Retry mail/ }).first().press('Enter');
  await page.getByText('One job is due again').first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll('#panel tbody tr').length === 1);
  await page.getByRole('button', { name: 'Retry all' }).press('Enter');
  await page.locator('#confirm').getByText('It is due at once').waitFor();
  await page.locator('#confirm').getByRole('button', { name: 'Retry' }).press('Enter');
  await page.getByText('No job is dead.').waitFor();
  for (const name of ['a', 'b', 'c', 'd']) {
    const entry = await client('GET', `/kv/mail/${name}`);
    assert.equal(await entry.text(), '{"n": 1.50}');
    assert.ok(Number(entry.headers.get('Kindex-Expires-At')) > Date.now() + 3600000, 'its expiry stays');
  }
  assert.deepEqual(await counts(), ['3', '1', '1', '0']);
  await page.fine();
}));

test('dead jobs that stayed in their queue are retried, unless they were written since', () => withConsole(async ({ client, open }) => {
  await client('POST', '/indexes', '{"name":"task_due","prefix":["task"],"fields":["/kind","/due"],"missing":"null","queue":{"retries":[]}}', { ...json, Prefer: 'wait=30' });
  for (const [name, kind] of [['x', 'a'], ['y', 'b'], ['z', 'b']]) await client('PUT', `/kv/task/${name}`, `{"kind":"${kind}"}`, json);
  await kill(client, 'task_due', 2);
  const page = await open('#/queues/task_due', ['409 /atomic']);
  await page.getByRole('tab', { name: 'Dead' }).click();
  const dead = page.locator('#panel tbody tr');
  await dead.nth(1).waitFor();
  assert.equal(await dead.count(), 2);
  await accessible(page, page.context());
  await fits(page);
  // One is written between its reading and its retry.
  await page.route('**/atomic', async (route) => {
    await client('PUT', '/kv/task/x', '{"kind":"a","again":true}', json);
    await route.continue();
  }, { times: 1 });
  await page.getByRole('button', { name: 'Retry task/x' }).click();
  await page.getByText('Not retried: 1. task/x').first().waitFor();
  assert.equal(await (await client('GET', '/kv/task/x')).text(), '{"kind":"a","again":true}');
  await page.getByRole('button', { name: 'Retry task/y' }).click();
  await page.getByText('No job is dead.').waitFor();
  const { due, dead: left } = await (await client('GET', '/queues/task_due')).json();
  assert.deepEqual([due, left], [3, 0]);
  await page.fine();
}, { scheme: 'dark', size: PHONE }));

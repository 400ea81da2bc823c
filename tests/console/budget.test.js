// What the console costs, as counts: files, requests, bytes, entries read. Times are
// shown, and decide nothing.
'use strict';

const assert = require('node:assert');
const { after, test } = require('node:test');
const { fill, finish, server, launch, openPage, withConsole } = require('./lib.js');

after(finish);

const FILES_MAX = 12; // of the first load
const BYTES_MAX = 61440;
const MANY = 1000000; // entries: more than a scroll bar has room for
const FILLED = 50000; // of them at a time
const SCREENS = 200; // scrolled through, for the figures of the end
const REQUESTS_MAX = 2; // of one jump: where it lands may touch two pages
const READ_MAX = 2 * 203; // entries: two pages, and those that show whether pages meet
const JUMP_BYTES_MAX = 131072;
const OFF_MAX = 0.15; // of all, between where a jump should land and where it did

test('the first load is small', (t) => withConsole(async ({ context, open, base }) => {
  const sizes = [];
  context.on('response', async (response) => {
    if (response.url().startsWith(`${base}/console`)) sizes.push(Number(response.headers()['content-length']));
  });
  const page = await open();
  await page.locator('.tree > li').first().waitFor();
  const sum = sizes.reduce((a, b) => a + b, 0);
  t.diagnostic(`${sizes.length} files, ${sum} bytes`);
  // The page, its style and the modules that the tree needs: the others come when they are used.
  assert.ok(sizes.length <= FILES_MAX && sum <= BYTES_MAX, `${sizes.length} files, ${sum} bytes`);
  await page.fine();
}));

// The server with many entries.
const many = () => server('many', async (filler) => {
  for (let from = 0; from < MANY; from += FILLED) {
    await fill(filler, Array.from({ length: FILLED }, (_, i) => ({ key: ['many', from + i], value: from + i })));
  }
}, ['--slow-ms', '0']);

test('a long list jumps anywhere by a few requests for a few entries', async (t) => {
  const { base, client } = await many();
  const context = await (await launch()).newContext();
  const page = await openPage(context, `${base}/console#/data/many`);
  await page.locator('.row .key').nth(5).waitFor();
  const sent = [];
  page.on('response', async (response) => {
    if (/\/(list|count|tree|kv|get)\b/.test(new URL(response.url()).pathname)) sent.push(Number(response.headers()['content-length'] ?? 0));
  });
  for (const share of [0.5, 0.9, 0.1, 1, 0.73]) {
    sent.length = 0;
    const began = performance.now();
    await page.locator('.rows').evaluate((node, at) => { node.scrollTop = (node.scrollHeight - node.clientHeight) * at; }, share);
    // Where it landed is drawn when the rows of that place have their entries.
    await page.waitForFunction((at) => {
      const rows = [...document.querySelectorAll('.row')];
      return rows.length > 5 && rows.every((row) => row.querySelector('.key') &&
        Math.abs(row.dataset.index / row.getAttribute('aria-setsize') - at) < 0.01);
    }, share);
    const took = performance.now() - began;
    const bytes = sent.reduce((a, b) => a + b, 0);
    const { requests } = await (await client('GET', '/slow?limit=128')).json();
    const lists = requests.filter(({ target }) => target?.startsWith('/list')).slice(0, sent.length);
    const read = lists.reduce((sum, request) => sum + request.entriesRead, 0);
    t.diagnostic(`to ${share}: ${sent.length} requests, ${read} entries, ${bytes} bytes, ${took.toFixed(0)} ms`);
    assert.ok(sent.length >= 1 && sent.length <= REQUESTS_MAX, `${sent.length} requests`);
    assert.ok(read > 0 && read <= READ_MAX, `${read} entries read`);
    assert.ok(bytes <= JUMP_BYTES_MAX, `${bytes} bytes`);
    const keys = await page.locator('.row .key').evaluateAll((all) => all.map((node) => Number(node.textContent.replace('#', ''))));
    // The server estimates where a share is.
    assert.ok(Math.abs(keys[0] / MANY - share) < OFF_MAX, `at ${keys[0]} of ${MANY}`);
    if (share === 1) assert.equal(Math.max(...keys), MANY - 1);
  }
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(elements <= 500, `${elements} elements`);
  t.diagnostic(await frames(page, context));
  await page.fine();
  await context.close();
});

test('a build is shown as it proceeds, by one stream', async () => {
  const { base, client } = await many();
  const context = await (await launch()).newContext();
  const page = await openPage(context, `${base}/console#/indexes`);
  const asked = [];
  page.on('request', (request) => { if (new URL(request.url()).pathname.startsWith('/indexes')) asked.push(request.url()); });
  await page.getByText('No index is declared.').waitFor();
  const json = { 'Content-Type': 'application/json' };
  await client('POST', '/indexes', '{"name":"many_by_key","prefix":["many"],"fields":[{"key":1}]}', json);
  await client('POST', '/indexes/many_by_key/pause'); // a million entries take longer than that
  const bar = page.locator('tr').filter({ hasText: 'many_by_key' }).locator('progress');
  await bar.waitFor();
  const { build } = await (await client('GET', '/indexes/many_by_key')).json();
  assert.ok(build.percent < 100, `${build.percent} %`);
  // As it is paused, both stay the same.
  await page.waitForFunction((percent) => Math.abs(document.querySelector('progress').value - percent) < 1, build.percent);
  await client('POST', '/indexes/many_by_key/resume');
  const grown = page.waitForFunction((percent) => document.querySelector('progress')?.value > percent, build.percent);
  await Promise.all([grown, page.locator('.state.ready').waitFor()]);
  assert.equal(await bar.count(), 0);
  assert.ok(asked.length <= 2, asked.join()); // the list, and the stream
  await page.fine();
  await context.close();
});

// Times of frames while screens are scrolled through, and the heap after them.
async function frames(page, context) {
  const times = await page.locator('.rows').evaluate(async (node, screens) => {
    node.scrollTop = 0;
    const took = [];
    let last = await new Promise(requestAnimationFrame);
    for (let i = 0; i < screens; i++) {
      node.scrollTop += node.clientHeight;
      const now = await new Promise(requestAnimationFrame);
      took.push(now - last);
      last = now;
    }
    return took.sort((a, b) => a - b);
  }, SCREENS);
  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const at = (share) => times[Math.floor(times.length * share)].toFixed(0);
  return `frames of ${SCREENS} screens: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; heap ${(usedSize / 1e6).toFixed(1)} MB`;
}

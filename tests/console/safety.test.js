// What is stored cannot do anything in the console, and the token stays where
// it belongs.
'use strict';

const assert = require('node:assert');
const http = require('node:http');
const { after, test } = require('node:test');
const { accessible, clientOf, finish, fits, launch, openPage, server, withConsole } = require('./lib.js');

after(finish);

const MARKUP = '<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script><b>bold</b>';

test('keys and values full of markup are text', () => withConsole(async ({ client, open }) => {
  const json = { 'Content-Type': 'application/json' };
  const key = [MARKUP, '"><svg onload=globalThis.ran=1>', "javascript:globalThis.ran=1"];
  const at = `/kv?key=${encodeURIComponent(JSON.stringify(key))}`;
  await client('PUT', at, JSON.stringify({ [MARKUP]: MARKUP, link: 'javascript:globalThis.ran=1' }), json);
  const page = await open();
  await page.locator('.tree .label').filter({ hasText: 'onerror' }).click();
  await page.locator('.row').first().click();
  await page.locator('.detail .text').filter({ hasText: 'bold' }).waitFor();
  assert.equal(await page.evaluate(() => globalThis.ran), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll('main img, main script, main b, main svg').length), 0);
  await fits(page);
  await page.fine();
}, { options: ['--slow-ms', '0'] }));

test('a stored script or page is no part of the console\'s', () => withConsole(async ({ base, client, context, open }) => {
  await client('PUT', '/kv/other/script', 'globalThis.ran = 1; document.title = "ran"', { 'Content-Type': 'text/javascript' });
  await client('PUT', '/kv/other/page', '<title>t</title><script>document.title = "ran"</script>', { 'Content-Type': 'text/html' });
  const page = await open('', ['Trusted', 'Content Security Policy', 'Content-Security-Policy']);
  await page.locator('.tree > li').first().waitFor();
  const said = await page.evaluate(async () => {
    const seen = [];
    const attempt = async (name, act) => {
      try { await act(); seen.push(`${name} worked`); } catch (error) { seen.push(`${name} ${error.name}`); }
    };
    await attempt('src', () => { const s = document.createElement('script'); s.src = '/kv/other/script'; });
    await attempt('markup', () => { document.createElement('p').innerHTML = '<b>x</b>'; });
    await attempt('eval', () => new Promise((resolve, reject) => {
      setTimeout(() => { try { resolve((0, eval)('1')); } catch (error) { reject(error); } });
    }));
    await attempt('import', () => import('/kv/other/script'));
    await attempt('worker', () => navigator.serviceWorker.register('/kv/other/script'));
    await attempt('policy', () => globalThis.trustedTypes.createPolicy('x', { createHTML: (text) => text }));
    return seen;
  });
  assert.ok(said.every((line) => !line.endsWith('worked')), said.join('; '));
  const stored = await context.newPage();
  await stored.goto(`${base}/kv/other/page`);
  assert.notEqual(await stored.title(), 'ran');
}));

test('no other site frames it, reads it or writes through it', () => withConsole(async ({ base, client, context }) => {
  await client('PUT', '/kv/other/target', '1', { 'Content-Type': 'application/json' });
  const evil = http.createServer((request, reply) => {
    reply.setHeader('Content-Type', 'text/html');
    reply.end(`<title>evil</title><iframe src="${base}/console"></iframe>`);
  });
  await new Promise((resolve) => { evil.listen(0, '127.0.0.1', resolve); });
  try {
    const page = await context.newPage();
    await page.goto(`http://localhost:${evil.address().port}/`);
    const seen = await page.evaluate(async (address) => {
      const outcome = (promise) => promise.then(() => 'worked', () => 'refused');
      return [await outcome(fetch(`${address}/kv/other/target`)),
        await outcome(fetch(`${address}/kv/other/target`, { method: 'PUT', body: '2' }))];
    }, base);
    assert.deepEqual(seen, ['refused', 'refused']);
    for (const frame of page.frames().slice(1)) {
      assert.equal(await frame.evaluate(() => document.querySelectorAll('nav').length).catch(() => 0), 0);
    }
  } finally {
    evil.close();
  }
  assert.equal(await (await client('GET', '/kv/other/target')).text(), '1');
  const rebound = await new Promise((resolve, reject) => {
    http.get(`${base}/console`, { headers: { Host: 'evil.example' } }, (reply) => { reply.resume(); resolve(reply.statusCode); }).on('error', reject);
  });
  assert.equal(rebound, 421);
}));

// ---- Signing in -------------------------------------------------------------

async function tokens() {
  const started = await server('tokens');
  if (!started.token) {
    const response = await started.client('POST', '/tokens', JSON.stringify({ name: 'all',
      grants: [{ scopes: ['read', 'write', 'list', 'watch', 'index', 'admin', 'monitor'], prefix: [] }] }), { 'Content-Type': 'application/json' });
    started.token = (await response.json()).token;
    started.client = clientOf(started.base, started.token);
    await started.client('PUT', '/kv/users/ada', '{"name":"Ada"}', { 'Content-Type': 'application/json' });
  }
  return started;
}

test('the token is asked for, kept in memory only, and forgotten', async () => {
  const { base, token } = await tokens();
  for (const colorScheme of ['light', 'dark']) {
    const context = await (await launch()).newContext({ colorScheme });
    const page = await openPage(context, `${base}/console#/data/users/ada`, ['401']);
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await accessible(page, context);
    await page.type('wrong');
    await page.key('Enter');
    await dialog.getByText(/token/).last().waitFor();
    await page.locator('dialog .bad').filter({ hasText: /./ }).waitFor();
    await page.key('Control+a');
    await page.type(token);
    await page.key('Enter');
    await page.locator('.detail .text').filter({ hasText: 'Ada' }).waitFor();
    const places = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
    assert.ok(!places.includes(token), places);
    assert.deepEqual(await context.cookies(), []);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await dialog.waitFor();
    assert.ok(!(await page.locator('main').innerText()).includes('Ada'));
    await page.fine();
    await context.close();
  }
});

test('text that is not saved outlives a token that has ended', async () => {
  const { base, client } = await tokens();
  const make = async () => (await client('POST', '/tokens', JSON.stringify({ name: 'short',
    grants: [{ scopes: ['read', 'write', 'list'], prefix: [] }] }), { 'Content-Type': 'application/json' })).json();
  const first = await make();
  const context = await (await launch()).newContext();
  const page = await openPage(context, `${base}/console#/data/users/ada`, ['401']);
  await page.getByRole('dialog').waitFor();
  await page.type(first.token);
  await page.key('Enter');
  await page.locator('.detail .text').filter({ hasText: 'Ada' }).waitFor();
  await page.key('e');
  await page.key('Control+a');
  await page.type('{"name":"unsaved"}');
  await client('DELETE', `/tokens/${first.id}`);
  await page.key('Control+s');
  await page.getByRole('dialog').waitFor();
  await page.type((await make()).token);
  await page.key('Enter');
  await page.locator('.detail .text').filter({ hasText: 'unsaved' }).waitFor();
  await page.key('Control+s');
  await page.getByText(/^Saved users\/ada/).first().waitFor();
  assert.equal(await (await client('GET', '/kv/users/ada')).text(), '{"name":"unsaved"}');
  await context.close();
});

test('the first load is small', () => withConsole(async ({ context, open, base }) => {
  const sizes = [];
  context.on('response', async (response) => {
    if (response.url().startsWith(`${base}/console`)) sizes.push(Number(response.headers()['content-length']));
  });
  const page = await open();
  await page.locator('.tree > li').first().waitFor();
  const sum = sizes.reduce((a, b) => a + b, 0);
  // The page, its style, and the modules of all pages, which the shell names.
  assert.ok(sizes.length <= 24 && sum <= 61440, `${sizes.length} files, ${sum} bytes`);
  await page.fine();
}));

// What is stored cannot do anything in the console, and the token stays where
// it belongs.
'use strict';

const assert = require('node:assert');
const http = require('node:http');
const { after, test } = require('node:test');
const { chromium } = require('playwright-core');
const { SIGN_IN, accessible, clientOf, finish, fits, launch, openPage, server, withConsole, withMortal } = require('./lib.js');

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
  assert.equal(await page.evaluate(() => document.querySelectorAll('main img, main script, main b, main svg:not(.icon)').length), 0);
  await fits(page);
  await page.fine();
}, { options: ['--slow-ms', '0'] }));

test('a stored script or page is no part of the console\'s', () => withConsole(async ({ base, client, context, open }) => {
  await client('PUT', '/kv/other/script', 'globalThis.ran = 1; document.title = "ran"', { 'Content-Type': 'text/javascript' });
  await client('PUT', '/kv/other/page', '<title>t</title><script>document.title = "ran"</script>', { 'Content-Type': 'text/html' });
  const page = await open();
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

// A site of another origin, with this page; `use` gets its address.
async function otherSite(markup, use) {
  const site = http.createServer((request, reply) => {
    reply.setHeader('Content-Type', 'text/html');
    reply.end(`<title>evil</title>${markup}`);
  });
  await new Promise((resolve) => { site.listen(0, '127.0.0.1', resolve); });
  try {
    await use(`http://localhost:${site.address().port}/`);
  } finally {
    site.close();
    site.closeAllConnections();
  }
}

test('no other site frames it, reads it, writes through it or runs what is stored', () => withConsole(async ({ base, client, context, open }) => {
  await client('PUT', '/kv/other/target', '1', { 'Content-Type': 'application/json' });
  await client('PUT', '/kv/other/script', 'document.title = "ran"', { 'Content-Type': 'text/javascript' });
  const own = await open(); // what a frame would show
  await own.locator('nav[aria-label=Pages]').waitFor();
  const script = `<script>addEventListener('error', (event) => { if (event.target.src) event.target.dataset.refused = 1; }, true);</script>`;
  await otherSite(`${script}<script src="${base}/kv/other/script"></script><iframe src="${base}/console"></iframe>`, async (address) => {
    const page = await context.newPage();
    const said = [];
    page.on('console', (message) => said.push(message.text()));
    await page.goto(address); // until the frame and the script have ended
    assert.equal(await page.title(), 'evil');
    assert.equal(await page.locator('script[data-refused]').count(), 1);
    assert.ok(said.some((text) => /frame-ancestors/.test(text)), said.join());
    assert.equal(await page.frames()[1].locator('nav').count(), 0);
    const seen = await page.evaluate(async (target) => {
      const outcome = (promise) => promise.then(() => 'worked', () => 'refused');
      return [await outcome(fetch(target)), await outcome(fetch(target, { method: 'PUT', body: '2' })),
        await outcome(fetch(target, { method: 'POST', mode: 'no-cors', body: '2' }).then((reply) => { if (reply.type !== 'opaque') throw reply; }))];
    }, `${base}/kv/other/target`);
    assert.deepEqual(seen.slice(0, 2), ['refused', 'refused']);
  });
  assert.equal(await (await client('GET', '/kv/other/target')).text(), '1');
}));

test('another name for this address gets nothing', () => withConsole(async ({ base }) => {
  const bound = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--no-proxy-server', '--host-resolver-rules=MAP evil.example 127.0.0.1'] });
  try {
    const page = await bound.newPage();
    for (const path of ['/', '/console', '/kv/users/ada', '/list']) {
      const reply = await page.goto(base.replace('127.0.0.1', 'evil.example') + path);
      assert.equal(reply.status(), 421, path);
      assert.equal(await page.locator('nav').count(), 0);
    }
  } finally {
    await bound.close();
  }
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
    const sent = []; // the address of each request, and the one it came from
    context.on('request', async (request) => sent.push(request.url(), (await request.allHeaders()).referer ?? ''));
    const page = await openPage(context, `${base}/console#/data/users/ada`, SIGN_IN);
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
    assert.ok(sent.length > 0 && sent.every((text) => !text.includes(token) && !text.includes('#')), sent.join(' '));
    assert.ok(sent.every((text, i) => i % 2 === 0 || text === ''), 'no address is told');
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
  const page = await openPage(context, `${base}/console#/data/users/ada`, SIGN_IN);
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
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.locator('.detail .text').filter({ hasText: 'unsaved' }).waitFor();
  await page.key('Control+s');
  await page.getByText(/^Saved users\/ada/).first().waitFor();
  assert.equal(await (await client('GET', '/kv/users/ada')).text(), '{"name":"unsaved"}');
  await context.close();
});

// Signs in with a token made for it; to an entry that is being edited.
async function editing(use) {
  const { base, token, client } = await tokens();
  await client('PUT', '/kv/users/ada', '{"name":"Ada"}', { 'Content-Type': 'application/json' });
  const context = await (await launch()).newContext();
  await context.clock.install();
  const page = await openPage(context, `${base}/console#/data/users/ada`, SIGN_IN);
  const signIn = async () => {
    await page.locator('#sign-in').waitFor();
    await page.locator('input[name=token]').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('#sign-in').waitFor({ state: 'detached' });
  };
  await signIn();
  const text = page.locator('.detail .text');
  await text.filter({ hasText: 'Ada' }).waitFor();
  await text.fill('{"name":"unsaved"}');
  await use({ page, context, signIn });
  await text.filter({ hasText: 'unsaved' }).waitFor();
  await page.getByRole('button', { name: /^Save/ }).click();
  await page.getByText(/^Saved users\/ada/).first().waitFor();
  assert.equal(await (await client('GET', '/kv/users/ada')).text(), '{"name":"unsaved"}');
  await page.fine();
  await context.close();
}

const emptied = async (page) => assert.equal(await page.locator('main').innerText(), '');

test('text that is not saved outlives signing out', () => editing(async ({ page, signIn }) => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.locator('#sign-in').waitFor();
  await emptied(page);
  await signIn();
}));

test('text of a new entry outlives signing out; what was cancelled is gone', () => editing(async ({ page, signIn }) => {
  const create = () => page.locator('.list').getByRole('button', { name: /^New/ }).click();
  const key = page.locator('#new-entry input[name=key]');
  const value = page.locator('#new-entry textarea');
  await create();
  await key.fill('users/begun');
  await value.fill('{"begun":true}');
  // The bar lies under the dialog; its button is pressed as a timer would.
  await page.getByRole('button', { name: 'Sign out', includeHidden: true }).dispatchEvent('click');
  await page.locator('#sign-in').waitFor();
  await emptied(page);
  assert.equal(await page.locator('#new-entry').count(), 0);
  await signIn();
  await create();
  assert.deepEqual([await key.inputValue(), await value.inputValue()], ['users/begun', '{"begun":true}']);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await create();
  assert.deepEqual([await key.inputValue(), await value.inputValue()], ['users/', '']);
  await page.getByRole('button', { name: 'Cancel' }).click();
}));

test('after 30 minutes without a key or a click nothing is shown; unsaved text is kept', () => editing(async ({ page, context, signIn }) => {
  await context.clock.fastForward('29:00');
  await page.keyboard.press('Shift');
  await context.clock.fastForward('29:59');
  await page.locator('.detail .text').filter({ hasText: 'unsaved' }).waitFor();
  assert.equal(await page.locator('#sign-in').count(), 0);
  await context.clock.fastForward('00:02');
  await page.getByText('You were signed out after 30 minutes').waitFor();
  await emptied(page);
  assert.equal(await page.evaluate(() => Object.keys(sessionStorage).length), 0);
  await signIn();
  // Signing in is itself no key: the time begins there.
  await context.clock.fastForward('30:01');
  await page.getByText('You were signed out after 30 minutes').waitFor();
  await signIn();
}));

test('text that is not saved outlives a server that is killed and started again', () => withMortal(async ({ base, client, kill, start }) => {
  await client('PUT', '/kv/users/ada', '{"name":"Ada"}', { 'Content-Type': 'application/json' });
  const context = await (await launch()).newContext();
  const page = await openPage(context, `${base}/console#/data/users/ada`, ['net::ERR_CONNECTION_REFUSED /', 'net::ERR_CONNECTION_RESET /', 'net::ERR_EMPTY_RESPONSE /']);
  const text = page.locator('.detail .text');
  await text.filter({ hasText: 'Ada' }).waitFor();
  await text.fill('{"name":"unsaved"}');
  await kill();
  await page.keyboard.press('Control+s');
  await page.getByText('The server does not answer.').first().waitFor();
  await page.locator('.health').filter({ hasText: 'no answer' }).waitFor();
  await text.filter({ hasText: 'unsaved' }).waitFor();
  await start();
  await page.locator('.health').filter({ hasText: 'ready' }).waitFor();
  await page.keyboard.press('Control+s');
  await page.getByText(/^Saved users\/ada/).first().waitFor();
  assert.equal(await (await client('GET', '/kv/users/ada')).text(), '{"name":"unsaved"}');
  await page.fine();
  await context.close();
}));

// The reference at /docs: its operations, its search, requests from it, and its commands.
'use strict';

const assert = require('node:assert');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { after, test } = require('node:test');
const { accessible, finish, fits, launch, openPage, picture, PHONE, server, withConsole } = require('./lib.js');

after(finish);

const BYTES_MAX = 61440; // of the page and its files, without /openapi.json
const run = promisify(execFile);

// use({base, client, context, open}): `open` resolves when the operations are there.
const withDocs = (use, options) => withConsole((given) => use({ ...given,
  open: async (hash = '', expected) => {
    const page = await openPage(given.context, `${given.base}/docs${hash}`, expected);
    await page.locator('details.operation').first().waitFor({ state: 'attached' });
    return page;
  } }), { empty: true, ...options });

const operation = (page, id) => page.locator(`details.operation#${id}`);
const unfold = async (page, id) => {
  const node = operation(page, id);
  await node.locator('> summary').click();
  await node.getByRole('button', { name: 'Send' }).waitFor();
  return node;
};
const answerOf = (node) => node.locator('p[role=status]');

test('the reference has every operation of openapi.json, and each can be opened', () => withDocs(async ({ client, open, context, base }) => {
  const bodies = [];
  context.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith('/docs') || pathname.startsWith('/console')) bodies.push(response.body());
  });
  const { paths } = await (await client('GET', '/openapi.json')).json();
  const wanted = Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId)).filter(Boolean);
  const page = await open();
  const shown = await page.locator('details.operation').evaluateAll((nodes) => nodes.map(({ id }) => id));
  assert.deepEqual([...shown].sort(), [...wanted].sort());
  const bytes = (await Promise.all(bodies)).reduce((sum, { length }) => sum + length, 0);
  assert.ok(bytes > 10000 && bytes <= BYTES_MAX, `${bytes} bytes of ${base}/docs`);
  await page.evaluate(() => { for (const node of document.querySelectorAll('details.operation')) node.open = true; });
  await page.waitForFunction((count) => [...document.querySelectorAll('details.operation button.primary')].length === count, wanted.length);
  const schemas = operation(page, 'commitAtomic').locator('details').first();
  await schemas.locator('> summary').click();
  await schemas.getByText('mutations', { exact: true }).waitFor();
  await page.fine();
}));

test('an operation is found by any words of it', () => withDocs(async ({ open }) => {
  const page = await open();
  await page.keyboard.press('/');
  await page.keyboard.type('queues lease claim');
  await operation(page, 'commitAtomic').waitFor({ state: 'hidden' });
  await operation(page, 'claimJobs').waitFor();
  const shown = await page.locator('details.operation:visible').count();
  assert.ok(shown < 8, `${shown} operations have these words`);
  await page.getByLabel('Find an operation').fill('no such words');
  await page.getByText('No operation has all of these words.').waitFor();
  await page.fine();
}));

test('a request is sent to this server, with its answer or its problem', () => withDocs(async ({ client, open }) => {
  const page = await open('#putEntry', ['404 /kv/docs/none']);
  const put = operation(page, 'putEntry');
  await put.getByLabel('key', { exact: true }).fill('docs/ada');
  await put.getByLabel('Body', { exact: true }).fill('{"name":"Ada","n":12345678901234567890}');
  await put.getByRole('button', { name: 'Send' }).click();
  await answerOf(put).filter({ hasText: '201' }).or(answerOf(put).filter({ hasText: '200' })).waitFor();
  assert.equal(await (await client('GET', '/kv/docs/ada')).text(), '{"name":"Ada","n":12345678901234567890}');

  const get = await unfold(page, 'getEntry');
  await get.getByLabel('key', { exact: true }).fill('docs/ada');
  await get.getByRole('button', { name: 'Send' }).click();
  await get.locator('pre').filter({ hasText: '"n": 12345678901234567890' }).waitFor();
  await get.getByLabel('key', { exact: true }).fill('docs/none');
  await get.getByRole('button', { name: 'Send' }).click();
  await answerOf(get).filter({ hasText: '404 key-not-found' }).waitFor();

  // A watch does not end by itself.
  const watch = await unfold(page, 'watchEntries');
  await watch.getByLabel('prefix', { exact: true }).fill('docs');
  await watch.getByRole('button', { name: 'Send' }).click();
  await watch.locator('pre').filter({ hasText: 'event: reset' }).waitFor();
  await client('PUT', '/kv/docs/bo', '1');
  await watch.locator('pre').filter({ hasText: '["docs","bo"]' }).waitFor();
  await watch.getByRole('button', { name: 'Stop' }).click();
  await watch.getByText('Stopped.').waitFor();
  await page.fine();
}));

test('the commands of every language send the request of the form', () => withDocs(async ({ client, open }) => {
  const page = await open('#putEntry');
  const put = operation(page, 'putEntry');
  await put.getByLabel('ttl', { exact: true }).fill('1h');
  const how = { curl: ['bash', '-c'], TypeScript: ['node', '--input-type=module', '-e'], Python: ['python3', '-c'] };
  for (const [name, [program, ...options]] of Object.entries(how)) {
    const body = JSON.stringify({ from: name, text: `it's "quoted" \\ and € 😀\n$HOME` });
    await put.getByLabel('key', { exact: true }).fill(`docs/${name}`);
    await put.getByLabel('Body', { exact: true }).fill(body);
    await put.getByRole('tab', { name }).click();
    const command = await put.locator('[role=tablist] + pre').textContent();
    const { stdout } = await run(program, [...options, command]).catch((error) => error);
    const stored = await client('GET', `/kv/docs/${name}`, undefined, {}, [200, 404]);
    assert.equal(await stored.text(), body, `${name}: ${command} printed ${stdout}`);
    assert.ok(stored.headers.get('Kindex-Expires-At'), name);
  }
  await page.fine();
}));

test('requests have the token of the console', async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-'));
  try {
    const file = path.join(directory, 'token');
    const { base } = await server('docs-token', undefined, ['--token-file', file]);
    const context = await (await launch()).newContext();
    const page = await openPage(context, `${base}/docs#listTokens`, ['401 /tokens']);
    const list = operation(page, 'listTokens');
    await list.getByRole('button', { name: 'Send' }).click();
    await answerOf(list).filter({ hasText: '401' }).waitFor();
    await page.getByLabel('Access token').fill('no token has spaces');
    await page.getByRole('button', { name: 'Use' }).click();
    await page.getByText('A token is printable ASCII').waitFor();

    await page.goto(`${base}/console`);
    await page.locator('#sign-in [name=token]').fill(fs.readFileSync(file, 'utf8').trim());
    await page.locator('#sign-in [name=keep]').check();
    await page.locator('#sign-in').getByRole('button', { name: 'Sign in' }).click();
    await page.locator('#sign-in').waitFor({ state: 'detached' });
    await page.goto(`${base}/docs#listTokens`);
    await list.getByRole('button', { name: 'Send' }).click();
    await answerOf(list).filter({ hasText: '200' }).waitFor();
    assert.match(await list.locator('[role=tablist] + pre').textContent(), /-H "Authorization: Bearer \$KINDEX_TOKEN"/);
    await context.close();
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});

for (const [name, options] of [['light, wide', {}], ['dark, wide', { scheme: 'dark' }], ['light, a phone', { size: PHONE, touch: true }]]) {
  test(`axe finds nothing: ${name}`, () => withDocs(async ({ context, open }) => {
    const page = await open('#commitAtomic');
    await operation(page, 'commitAtomic').getByRole('button', { name: 'Send' }).waitFor();
    await accessible(page, context);
    await fits(page);
    await picture(page, `docs-${name.replace(', ', '-')}`);
    await page.fine();
  }, options));
}

// What the tests of the console share: a server with entries, a browser, and
// pages in which nothing may go wrong unseen.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');
const os = require('node:os');
const { chromium } = require('playwright-core');
const { withServer } = require('../lib/serve.js');

const PROGRAM = process.env.KINDEX;
const WAIT_MS = Number(process.env.KX_WAIT_MS || 60000); // for what is sure to come; no test passes by time
const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

// ---- Requests ---------------------------------------------------------------

// A client of one server: answers the response, whose status must be as expected.
function clientOf(base, token) {
  return async (method, target, body, headers = {}, statuses = [200, 201, 202, 204]) => {
    const response = await fetch(base + target, { method, body,
      headers: { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...headers } });
    assert.ok(statuses.includes(response.status),
      `${method} ${target}: ${response.status} ${statuses.includes(response.status) ? '' : await response.clone().text()}`);
    return response;
  };
}

// Entries: a line each, as POST /bulk takes them.
async function fill(client, lines) {
  for (let at = 0; at < lines.length; at += 5000) {
    await client('POST', '/bulk', lines.slice(at, at + 5000).map((line) => JSON.stringify(line)).join('\n') + '\n',
      { 'Content-Type': 'application/x-ndjson' });
  }
}

const EVENTS = 6000;
const PEOPLE = 300;
function entries() {
  const lines = [];
  for (let i = 0; i < EVENTS; i++) lines.push({ key: ['events', i], value: { at: i, kind: i % 3 ? 'click' : 'buy' } });
  for (let i = 0; i < PEOPLE; i++) {
    lines.push({ key: ['users', `u${String(i).padStart(5, '0')}`],
      value: { name: `User ${i}`, city: ['Oslo', 'Paris', 'Rome'][i % 3], age: i % 90 } });
  }
  for (const name of ['edited', 'kept', 'removed']) lines.push({ key: ['other', name], value: { city: 'London' } });
  lines.push({ key: ['users', 'ada'], value: { name: 'Ada', city: 'London', age: 36 } });
  lines.push({ key: ['config', 'limits', 'rate'], value: 100 });
  return lines;
}

// ---- Pages ------------------------------------------------------------------

// A file of the console in which a flaw is planted: KX_PLANT is
// "FILE<tab>TEXT<tab>REPLACEMENT".
async function plant(page) {
  if (!process.env.KX_PLANT) return;
  const [file, from, to] = process.env.KX_PLANT.split('\t');
  await page.route(`**/console/~*/${file}`, async (route) => {
    const folder = path.join(__dirname, '../../api/console', file.startsWith('docs.') ? 'docs' : '');
    const text = fs.readFileSync(path.join(folder, file), 'utf8');
    assert.ok(text.includes(from), `the flaw can be planted in ${file}`);
    await route.fulfill({ body: text.replace(from, () => to),
      contentType: file.endsWith('.css') ? 'text/css' : 'text/javascript' });
  });
}

// Is this console error the expected one?
function isThat(message, which) {
  const [what, target] = which.split(' ');
  const text = message.text();
  const { url } = message.location();
  const at = url ? new URL(url).pathname : '';
  if (/^\d/.test(what)) return text.includes(`a status of ${what} (`) && at === target;
  return text.includes(what) && at.startsWith(target);
}

// A page whose every error fails the test: of scripts, of the console, of the
// policy. `expected`: the errors that belong to the test, each an answer, as '412 /kv',
// or the beginning of an address that does not answer, as 'net::ERR_CONNECTION_REFUSED /'.
async function openPage(context, address, expected = []) {
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(`page: ${error.stack ?? error}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.some((which) => isThat(message, which))) {
      wrong.push(`console: ${message.text()} ${message.location().url}`);
    }
  });
  await page.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener('securitypolicyviolation', (event) =>
      globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  await plant(page);
  let keys = 0;
  Object.assign(page, {
    wrong,
    // A key counts as one, and so does the typing of a text.
    async key(name) { keys++; await page.keyboard.press(name); },
    async type(text) { keys++; await page.keyboard.type(text); },
    countFromHere() { keys = 0; },
    async fine() {
      const violations = await page.evaluate(() => globalThis.violations);
      assert.deepEqual([...wrong, ...violations], []);
    },
  });
  Object.defineProperty(page, 'keys', { get: () => keys });
  await page.goto(address);
  return page;
}

// axe runs in an isolated world, so that neither the policy nor Trusted Types
// have to give way.
async function accessible(page, context, options = {}) {
  const session = await context.newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld',
    { frameId: frameTree.frame.id, worldName: 'axe', grantUniveralAccess: true });
  await session.send('Runtime.evaluate', { contextId: executionContextId, expression: AXE });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', { contextId: executionContextId,
    awaitPromise: true, returnByValue: true, expression: `axe.run(document, { runOnly: ${JSON.stringify(TAGS)},
      rules: ${JSON.stringify(options.rules ?? {})} }).then((r) => r.violations.map((v) => v.id + ': ' +
      v.nodes.map((n) => n.html.slice(0, 160) + ' ' + n.any.map((a) => a.message).join(' ')).join(' | ')))` });
  assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
  assert.deepEqual(result.value, []);
  await session.detach();
}

// A picture of the page in the folder KX_SCREENSHOTS, if that is set.
async function picture(page, name) {
  const folder = process.env.KX_SCREENSHOTS;
  if (folder) await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

// No element is wider than its pane, the page does not scroll sideways, and the head of
// each table is above the columns that it names.
async function fits(page) {
  const wide = await page.evaluate(() => {
    const found = [];
    if (document.documentElement.scrollWidth > innerWidth) found.push('the page');
    for (const node of document.querySelectorAll('.bar, header, footer, aside, section, dialog')) {
      if (node.clientWidth > 0 && node.scrollWidth > node.clientWidth + 1) found.push(`${node.tagName}.${node.className} ${node.scrollWidth} > ${node.clientWidth}`);
    }
    for (const table of document.querySelectorAll('table:has(thead)')) {
      const edges = (row) => [...row.cells].map((cell) => Math.round(cell.getBoundingClientRect().left));
      const head = table.querySelector('thead tr');
      const bodies = [...table.querySelectorAll('tbody tr')].filter((row) => row.cells.length === head.cells.length);
      for (const row of bodies) if (edges(row).join() !== edges(head).join()) found.push(`a table's head: ${head.innerText}`);
    }
    return found;
  });
  assert.deepEqual(wide, []);
}

// ---- One browser and few servers for all tests of a file --------------------

let browser;
// The browser; `more`: options of the first call, which starts it.
async function launch(more) {
  browser ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--no-proxy-server'], ...more });
  return browser;
}

const servers = new Map(); // by name: {base, end, ended}

// A server that runs until the file's tests have ended: {base, client}.
function server(name, prepare, options) {
  if (!servers.has(name)) {
    const running = {};
    running.started = new Promise((resolve, reject) => {
      running.ended = withServer(PROGRAM, async (base) => {
        const client = clientOf(base);
        await prepare?.(client);
        resolve({ base, client });
        await new Promise((end) => { running.end = end; });
      }, options).catch(reject);
    });
    servers.set(name, running);
  }
  return servers.get(name).started;
}

async function finish() {
  await (await browser)?.close();
  for (const running of servers.values()) {
    running.end?.();
    await running.ended;
  }
}

// A server that a test starts and ends itself: {base, port, end(signal)}.
async function runs(options, directory, port = 0) {
  const portFile = `${directory}.port`;
  fs.rmSync(portFile, { force: true });
  const child = spawn(PROGRAM, ['serve', ...options, '--listen', `127.0.0.1:${port}`, '--port-file', portFile],
    { stdio: 'ignore' });
  const read = () => (fs.existsSync(portFile) ? Number(fs.readFileSync(portFile, 'utf8')) : 0);
  while (read() === 0) {
    assert.equal(child.exitCode, null, 'the server runs');
    await new Promise((resolve) => { setTimeout(resolve, 10); });
  }
  return { base: `http://127.0.0.1:${read()}`, port: read(),
    end: (signal) => new Promise((resolve) => { child.on('exit', resolve); child.kill(signal); }) };
}

// use({base, client, kill, start}) with a server that can be killed, and started
// again with its data at its address.
async function withMortal(use) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-'));
  let own;
  const start = async () => {
    own = await runs(['--data', `${directory}/data`], `${directory}/server`, own?.port);
  };
  await start();
  try {
    await use({ base: own.base, client: clientOf(own.base), start, kill: () => own.end('SIGKILL') });
  } finally {
    await own.end('SIGTERM');
    fs.rmSync(directory, { recursive: true });
  }
}

// The answer to a declaration of which the page asks the cost while it is being typed.
const HALF_TYPED = '400 /indexes';
// Answers without a token, with a wrong one, and with one that has expired.
const SIGN_IN = ['/tokens/self', '/readyz', '/kv', '/list', '/tree', '/count', '/indexes', '/get'].map((target) => `401 ${target}`);
const PHONE = { width: 390, height: 844 };

// use({base, client, context, open}) with the server that has the usual entries.
// Each test has keys that only it changes.
async function withConsole(use, { scheme = 'light', size = { width: 1280, height: 800 }, touch = false, empty, options } = {}) {
  const started = await (empty ? server('empty')
    : options ? server(options.join(' '), undefined, options)
      : server('usual', (client) => fill(client, entries())));
  const context = await (await launch()).newContext({ colorScheme: scheme, viewport: size, hasTouch: touch, isMobile: touch });
  const open = (hash = '', expected = []) =>
    openPage(context, `${started.base}/console${hash}`, expected);
  try {
    await use({ ...started, context, open });
  } catch (error) {
    // Why what was waited for did not come.
    const wrong = context.pages().flatMap((page) => page.wrong);
    if (error.name !== 'TimeoutError' || wrong.length === 0) throw error;
    throw new Error(`${error.message}\n${wrong.join('\n')}`, { cause: error });
  } finally {
    await context.close();
  }
}

module.exports = { AXE, EVENTS, HALF_TYPED, PEOPLE, PHONE, PROGRAM, SIGN_IN, accessible, clientOf, entries, fill, finish, fits,
  launch, openPage, picture, runs, server, withConsole, withMortal };

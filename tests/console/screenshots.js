// Pictures of the pages for the eye, by hand: node screenshots.js FOLDER [NAME]. At 1440, 1280 and 390
// pixels, light and dark. NAME: only these pages. The picture of the README is data-readme.png.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { PHONE, fill, finish, launch, openPage, server } = require('./lib.js');

const [folder, only] = process.argv.slice(2);
const SIZES = [[1440, 900], [1280, 800], [PHONE.width, PHONE.height]];
const CITIES = ['Oslo', 'Paris', 'Rome', 'Lima', 'Kyoto'];
const STATES = ['open', 'paid', 'sent', 'returned'];
const json = { 'Content-Type': 'application/json' };

// A shop.
async function prepare(client) {
  const two = (number) => String(number).padStart(2, '0');
  const lines = [{ key: ['users', 'ada'], value: { email: 'ada@example.org', name: 'Ada Lovelace', city: 'London', age: 36, tags: ['admin', 'math'] } },
    { key: ['config', 'limits', 'rate'], value: 100 }, { key: ['config', 'shop'], value: { title: 'Shop', open: true } }];
  for (let i = 0; i < 400; i++) lines.push({ key: ['users', `u${String(i).padStart(4, '0')}`], value: { email: `user${i}@example.org`, name: `User ${i}`, city: CITIES[i % 5], age: 18 + i % 60 } });
  for (let i = 0; i < 3000; i++) {
    lines.push({ key: ['orders', i], value: { user: `u${String(i % 400).padStart(4, '0')}`, status: STATES[i % 4], total: i * 37 % 9000 / 100, date: `2026-${two(1 + i % 11)}-${two(1 + i % 28)}` } });
  }
  for (let i = 0; i < 30; i++) lines.push({ key: ['mails', i], value: { to: `user${i}@example.org`, due: i < 20 ? undefined : 4102444800000 + i * 60000 } });
  for (let i = 0; i < 20; i++) lines.push({ key: ['stock', `a${i}`], value: i * 13 });
  await fill(client, lines);
  for (const index of [{ name: 'users_by_email', prefix: ['users'], fields: [{ path: '/email', fold: 'lower' }], unique: true },
    { name: 'users_by_city', prefix: ['users'], fields: ['/city', '/name'] },
    { name: 'orders_by_status', prefix: ['orders'], fields: ['/status', '/date'] },
    { name: 'mails_due', prefix: ['mails'], fields: ['/due'], queue: { retries: ['1s', '60s'], dead: ['dead', 'mails'] } }]) await client('POST', '/indexes', JSON.stringify(index), { ...json, Prefer: 'wait=30' });
  await client('POST', '/queues/mails_due/claim?limit=3');
  await client('PUT', '/rules/users_age', '{"prefix":["users"],"schema":{"properties":{"age":{"minimum":18,"maximum":75}}}}', json);
  await client('PUT', '/rules/orders_quota', '{"prefix":["orders"],"quota":{"entries":5000,"bytes":"1MiB"},"ttl":{"default":"365d"}}', json);
  await client('PUT', '/rules/stock_bounds', '{"prefix":["stock"],"bounds":{"min":0}}', json);
}

const PAGES = {
  start: ['#/data'],
  data: ['#/data/users/ada', '.detail .text'],
  filter: [`#/data/orders?${encodeURIComponent('status = open, date in 2026-11')}`, '.row .value'],
  indexes: ['#/indexes/users_by_email', '#panel tbody tr'],
  rules: ['#/rules/users_age', '#panel tbody tr'],
  queues: ['#/queues/mails_due', '#panel tbody tr'],
  query: [`#/query/${encodeURIComponent('{"prefix":["users"],"where":{"path":"/age","ge":65}}')}`, 'main td'],
  watch: ['#/watch/orders', '.tail'],
  server: ['#/server', '.tile b'],
  access: ['#/access', 'main tbody tr'],
};

async function main() {
  const { base } = await server('shop', prepare);
  const browser = await launch();
  const take = async (name, size, scheme, file) => {
    const touch = size[0] === PHONE.width;
    const context = await browser.newContext({ viewport: { width: size[0], height: size[1] }, colorScheme: scheme, hasTouch: touch, isMobile: touch });
    const [hash, wanted = '.tree > li'] = PAGES[name];
    const page = await openPage(context, `${base}/console${hash}`);
    await page.locator(wanted).first().waitFor({ state: 'attached' });
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: path.join(folder, file), animations: 'disabled' });
    await page.fine();
    await context.close();
  };
  fs.mkdirSync(folder, { recursive: true });
  for (const name of Object.keys(PAGES).filter((one) => !only || one === only)) {
    for (const size of SIZES) for (const scheme of ['light', 'dark']) await take(name, size, scheme, `${name}-${size[0]}-${scheme}.png`);
  }
  await take('data', [1200, 620], 'light', 'data-readme.png');
  console.log(`the pictures are in ${folder}`);
}

main().finally(finish);

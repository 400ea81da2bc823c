// Data of an earlier program, and what it answered.
//   upgrade_data.js make PROGRAM FILE [DATABASE]      as a .tar.gz: the data directory as
//                                         it is after SIGKILL, an archive and a backup if
//                                         the program has these, or a dump of the database;
//                                         and its answers, a line for each
//   upgrade_data.js make-zeros PROGRAM FILE           only the data directory, with -0 in
//                                         values and keys (91-zero)
//   upgrade_data.js compare URL ANSWERS [INDEX...]    asks a server the same, and prints
//                                         what differs; entries of an index that was rebuilt
//                                         since then have other versionstamps
// A release keeps what its program has made, in tests/data (deploy/CONTRIBUTING.md).
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');

const TYPED = { 'Content-Type': 'application/vnd.kindex.typed+json' };
const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };

// ---- What is stored -----------------------------------------------------------

const index = (name, prefix, fields, more) => ['POST', '/indexes', { name, prefix: [prefix], fields, ...more }];
const typed = (key, type, value) => ['PUT', `/kv/values/${key}`, { type, value }, TYPED];

const USERS = ['Ada', 'Bob', 'Cleo', 'Dán', 'Ευα', 'Fay'];

const WRITES = [
  // Declared before, so that each commit keeps them.
  index('by_email', 'users', [{ path: '/email', fold: 'lower' }], { unique: true }),
  index('by_name_value', 'users', ['/name'], { store: 'value' }),
  index('by_tag', 'users', [{ path: '/tags', each: true }]),
  index('by_city_age', 'users', ['/address/city', '/age'], { store: { fields: ['/name', '/age'] } }),
  index('grown_up', 'users', ['/age'], { where: [{ path: '/age', ge: 30 }] }),
  index('by_day', 'log', [{ key: 2 }, '/level']),
  index('latest', 'users', [{ versionstamp: true }]),
  index('totals', 'users', ['/address/city'], { store: { aggregate: { count: true, sum: [{ path: '/age', scale: 2 }] } } }),

  ...USERS.map((name, at) => ['PUT', `/kv/users/=${at + 1}`, { name, email: `${name}@Example.org`,
    age: 20 + 5 * at, tags: at % 2 ? ['odd', 'all'] : ['all'], address: { city: at < 3 ? 'Aarhus' : 'Zug' } }]),
  ...[1, 2, 3].map((day) => ['PUT', `/kv/log/web/=${day}`, { level: day === 2 ? 'warn' : 'info' }]),

  // Values of every kind; JSON is kept as it was written.
  ['PUT', '/kv/values/json', ' { "b" : 0.10 , "a" : [ 1e2, 12345678901234567890, null ] } '],
  ['PUT', '/kv/values/text', 'Grüße', TEXT],
  ['PUT', '/kv/values/bytes', '\u0000\u0001\u007f', { 'Content-Type': 'application/octet-stream' }],
  ['PUT', '/kv/values/image', 'an image', { 'Content-Type': 'image/x-test' }],
  ['PUT', '/kv/values/empty', '', TEXT],
  ['PUT', '/kv/values/long', `"${'long '.repeat(3000)}"`],
  typed('u64', 'KvU64', '18446744073709551615'),
  typed('bigint', 'bigint', '-340282366920938463463374607431768211456'),
  typed('date', 'Date', '1815-12-10T00:00:00.000Z'),
  typed('set', 'Set', [{ type: 'number', value: 1 }]),
  typed('map', 'Map', [[{ type: 'string', value: 'a' }, { type: 'null', value: null }]]),
  typed('deno', 'V8', '_xBvIgFhSQJ7AQ'),

  // Keys of every kind, in which their order shows.
  ...['a', 'a/b', '%22%2F', '=-1.5', '=7', '=12345678901234567890n', '=true', '=hex:00ff', '%C3%BC'].map(
    (key) => ['PUT', `/kv/keys/${key}`, `"${key}"`]),
  ['PUT', '/kv/lasting?ttl=36500d', '"a hundred years"'],
  ['PUT', '/kv/ended?ttl=1ms', '"gone"'],

  // Entries that were changed, deleted and stored together.
  ['PATCH', '/kv/users/=2', { age: null, nick: 'bo' }],
  ['DELETE', '/kv/users/=3'],
  ['POST', '/atomic', { checks: [{ key: ['counters', 'sum'], versionstamp: null }], mutations: [
    { type: 'sum', key: ['counters', 'sum'], value: 40 }, { type: 'sum', key: ['counters', 'sum'], value: 2 },
    { type: 'max', key: ['counters', 'max'], value: 9 }, { type: 'set', key: ['counters', 'name'], value: 'n' }] }],

  // Declared afterwards, so that they are built.
  index('built', 'users', ['/email'], { store: 'value' }),
  index('conflicting', 'log', ['/level'], { unique: true }),
  index('dropped', 'log', ['/level']),
  ['DELETE', '/indexes/dropped'],
];

// ---- What is asked ------------------------------------------------------------

const INDEXES = WRITES.filter(([, path]) => path === '/indexes').map(([, , body]) => body.name);

const READS = [
  ['GET', '/list?prefix=[]&limit=1000'],
  ['GET', '/list?prefix=users&reverse=true&limit=2'],
  ['GET', '/list?start=users/=2&end=users/=5'],
  ['GET', '/list?prefix=log', undefined, { Accept: 'application/x-ndjson' }],
  ['GET', '/count?prefix=keys'],
  ['POST', '/get', { keys: [['users', 1], ['users', 3], ['counters', 'sum'], ['values', 'map']] }],
  ...WRITES.filter(([method, path]) => method === 'PUT' && path.startsWith('/kv/'))
    .map(([, path]) => ['GET', path.split('?')[0]]),
  ...WRITES.filter(([, path]) => path.startsWith('/kv/values/')).map(([, path]) => ['GET', path, undefined, { Accept: TYPED['Content-Type'] }]),
  ['GET', '/kv/users/=3'],
  ['GET', '/kv/counters/sum'],
  ...INDEXES.flatMap((name) => [['GET', `/indexes/${name}`], ['GET', `/list?index=${name}`],
    ['GET', `/list?index=${name}&reverse=true&limit=2`], ['GET', `/count?index=${name}`],
    ['GET', `/indexes/${name}/conflicts`]]),
  ['GET', '/indexes/by_email/get/ADA@example.org'],
  ['GET', `/list?index=by_name_value&prefix=${encodeURIComponent('Ευα')}`],
  ['GET', '/list?index=by_city_age&prefix=Zug'],
  ['GET', '/list?index=grown_up&start==35'],
  // What is refused.
  ['PUT', '/kv/users/=9', { email: 'ADA@EXAMPLE.ORG' }],
  ['PUT', '/kv/users/=1', { email: 'other' }, { 'If-Match': '"00000000000000000001"' }],
  ['POST', '/atomic', { checks: [{ key: ['users', 1], versionstamp: null }], mutations: [] }],
];

// ---- Zeros --------------------------------------------------------------------

const JSON_TYPE = { 'Content-Type': 'application/json' };
const put = (key, json) => ['PUT', `/kv/${key}`, json, JSON_TYPE];

// The program of 0.1.0 takes -0 for another value than 0.
const ZEROS = [
  ...[['zero', '0'], ['minus', '-0.0'], ['one', '1'], ['less', '-1']].flatMap(([name, n]) => [
    put(`n/${name}`, `{"n":${n},"s":"${name}"}`), put(`twice/${name}`, `{"n":${n}}`)]),
  ['PUT', '/kv/n/deno', { type: 'object', value: { n: { type: 'number', value: '-0' }, d: { type: 'undefined' } } }, TYPED],
  put('single/minus', '{"n":-0.0}'), put('single/one', '{"n":1}'),
  put('free/zero', '{"n":0}'), put('free/one', '{"n":1}'),
  put('keys/=-0', '{"n":1}'), put('keys/=0', '{"n":1}'),
  put('by_hand/=-0/minus', '"minus"'), put('by_hand/=1/one', '"one"'),
  index('by_n', 'n', ['/n']),
  index('by_n_down', 'n', [{ path: '/n', order: 'desc' }], { store: 'value' }),
  index('by_s_n', 'n', ['/s', '/n'], { missing: 'null' }),
  index('totals', 'n', ['/n'], { store: { aggregate: { count: true, sum: [{ path: '/n', scale: 1 }] } } }),
  index('where_zero', 'n', ['/s'], { where: { path: '/n', eq: 0 } }),
  index('where_minus', 'n', ['/s'], { where: { path: '/n', ge: { type: 'number', value: '-0' } } }),
  index('unique_twice', 'twice', ['/n'], { unique: true }),
  index('unique_single', 'single', ['/n'], { unique: true }),
  index('unique_free', 'free', ['/n'], { unique: true }),
  index('by_free', 'free', ['/n', { key: 1 }]),
  index('by_key', 'keys', [{ key: 1 }]),
  index('conflicting', 'keys', ['/n'], { unique: true }),
  index('by_hand', 'single', ['/n'], { adopt: true }),
  [...index('moving', 'n', ['/n']), { Prefer: 'wait=30' }],
  [...index('storing', 'n', ['/n']), { Prefer: 'wait=30' }],
  ...['moving', 'storing'].map((name) => ['POST', `/indexes/${name}/pause`]),
  ['PATCH', '/indexes/moving', { fields: ['/s'] }],
  ['PATCH', '/indexes/storing', { store: 'value' }],
];

// Figures of one process; what an index weighs depends on how it was built.
const OF_A_PROCESS = new Set(['use', 'bytes', 'detail', 'hint', 'title', 'expiresAt', 'updatedAt']);

// ---- Exchanges ----------------------------------------------------------------

async function ask(base, [method, target, body, headers = {}]) {
  const json = body != null && !headers['Content-Type'];
  const response = await fetch(base + target, { method, headers: { ...(json ? { 'Content-Type': 'application/json' } : {}), ...headers },
    body: body == null || typeof body === 'string' ? body : JSON.stringify(body) });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get('content-type'), etag: response.headers.get('etag'),
    body: bytes.toString('base64') };
}

// What the body says; of JSON as a value, in which no number is rounded.
function said(answer) {
  const text = Buffer.from(answer.body, 'base64').toString();
  const exact = (line) => JSON.parse(line.replace(/("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)/g, (all, string) => string ?? `"number ${all}"`));
  if (/json-seq|x-ndjson/.test(answer.type)) return text.trim().split('\n').map(exact);
  return /json/.test(answer.type ?? '') && text ? exact(text) : text;
}

// Paths of what `before` has and `now` has not, or differently. Since a versionstamp of
// a rebuilt index is that of its rebuild, only its form is compared.
function* differences(before, now, rebuilt, at = '') {
  if (before === null || typeof before !== 'object' || now === null || typeof now !== 'object') {
    if (before !== now) yield `${at || 'the body'}: ${JSON.stringify(before)} is now ${JSON.stringify(now)}`;
    return;
  }
  if (Array.isArray(before) && before.length !== now.length) yield `${at}: ${before.length} are now ${now.length}`;
  for (const [name, value] of Object.entries(before)) {
    const restamped = name === 'versionstamp' && rebuilt.includes(before.key?.[0]) && /^[0-9a-f]{20}$/.test(now[name]);
    if (!OF_A_PROCESS.has(name) && !restamped) yield* differences(value, now[name], rebuilt, `${at}/${name}`);
  }
}

async function compare(base, file, ...rebuilt) {
  const lines = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  let differing = 0;
  for (const { request, answer } of lines) {
    const now = await ask(base, request);
    const found = [...differences({ status: answer.status, etag: answer.etag, type: answer.type },
      { status: now.status, etag: now.etag, type: now.type }, rebuilt), ...differences(said(answer), said(now), rebuilt)];
    if (found.length > 0) differing++;
    for (const difference of found) console.log(`${request[0]} ${request[1]} ${difference}`);
  }
  console.log(`${lines.length} asked, ${differing} differ`);
  process.exitCode = differing === 0 ? 0 : 1;
}

// ---- Making -------------------------------------------------------------------

async function until(condition) {
  for (let left = 600; !await condition(); left--) {
    if (left === 0) throw new Error(`${condition} never came`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

async function make(writes, reads, program, file, database) {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-upgrade.'));
  const at = (name) => path.join(work, name);
  const help = spawnSync(program, ['serve', '--help'], { encoding: 'utf8' }).stdout;
  const archive = reads.length > 0 && database === undefined && help.includes('--archive');
  const start = async () => {
    fs.rmSync(at('port'), { force: true });
    const server = spawn(program, ['serve', '--data', at('data'), '--listen', '127.0.0.1:0', '--cache', '16MiB',
      '--port-file', at('port'), ...(archive ? ['--archive', at('archive')] : []), ...(database ? ['--engine', database] : [])], { stdio: 'ignore' });
    await until(() => fs.existsSync(at('port')) && fs.readFileSync(at('port'), 'utf8').includes('\n'));
    return server;
  };
  const end = async (server, signal) => { server.kill(signal); await once(server, 'exit'); };

  const server = await start();
  const base = `http://127.0.0.1:${fs.readFileSync(at('port'), 'utf8').trim()}`;

  for (const write of writes) {
    const answer = await ask(base, write);
    if (answer.status >= 300) console.log(`left out: ${write[0]} ${write[1]} ${JSON.stringify(write[2])}: ${answer.status} ${said(answer).detail}`);
  }
  await until(async () => said(await ask(base, ['GET', '/indexes'])).indexes.every(({ state }) => state !== 'building' && state !== 'dropping'));
  const backup = await ask(base, ['GET', '/backup']);
  if (reads.length > 0 && backup.status === 200) fs.writeFileSync(at('backup.tar'), Buffer.from(backup.body, 'base64'));
  const lines = [];
  for (const read of reads) {
    const answer = await ask(base, read);
    if (answer.status < 300 || ['key-not-found', 'unique-violation', 'check-failed', 'precondition-failed'].includes(said(answer).code)) lines.push(JSON.stringify({ request: read, answer }));
    else console.log(`not asked: ${read[0]} ${read[1]}: ${answer.status} ${said(answer).code}`);
  }
  if (lines.length > 0) fs.writeFileSync(at('answers'), lines.join('\n') + '\n');
  await end(server, 'SIGKILL');
  if (database) {
    fs.rmSync(at('data'), { recursive: true, force: true });
    execFileSync('pg_dump', ['--schema=kindex', '--no-owner', `--file=${at('dump.sql')}`, database]);
  }
  if (archive) {
    // What was committed last is in the archive when a server has stopped.
    fs.cpSync(at('data'), at('killed'), { recursive: true, preserveTimestamps: true });
    await end(await start(), 'SIGTERM');
    fs.rmSync(at('data'), { recursive: true });
    fs.renameSync(at('killed'), at('data'));
  }
  for (const name of ['port', 'data/ballast']) fs.rmSync(at(name), { force: true }); // the ballast is no data
  execFileSync('tar', ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', '-C', work, '--use-compress-program=gzip -9n', '-cf', path.resolve(file), '.']);
  fs.rmSync(work, { recursive: true });
  console.log(`${file}: ${fs.statSync(file).size} bytes, ${lines.length} answers`);
}

const [mode, ...words] = process.argv.slice(2);
if (mode === 'make') make(WRITES, READS, ...words);
else if (mode === 'make-zeros') make(ZEROS, [], ...words);
else compare(...words);

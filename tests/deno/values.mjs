// Every kind of value: written here, it is read here, in the other world (Deno
// and Node in turns), and over REST where JSON can carry it.
import assert from 'node:assert/strict';
import process from 'node:process';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { args, finish, KvU64, openKv, rest, runtime, test, url } from './kv.mjs';

const bytes = new Uint8Array([9, 1, 2, 3, 4, 5, 6, 7, 8, 255]).buffer;
const circle = { name: 'circle', list: [] };
circle.self = circle;
circle.list.push(circle.list, circle);
const shared = { x: 1 };
const holes = [1, , 3]; // eslint-disable-line no-sparse-arrays
const named = Object.assign([1, 2], { name: 'with a property' });
const deep = Array.from({ length: 50 }).reduce((inner) => ({ inner }), 'core');
const text = (size, what) => what.repeat(size);

// What JSON carries as it is.
const PLAIN = {
  null: null, true: true, false: false, zero: 0, one: 1, minus: -1,
  'int 2^30': 2 ** 30, 'int 2^31 - 1': 2 ** 31 - 1, 'int -2^31': -(2 ** 31),
  'uint 2^32 - 1': 2 ** 32 - 1, 'safe': Number.MAX_SAFE_INTEGER,
  half: 0.5, tenth: 0.1, smallest: 5e-324, largest: Number.MAX_VALUE,
  big: 1e21, empty: '', ascii: 'hello', latin: 'café \xff', nul: 'a\0b',
  wide: '漢字', mixed: 'a漢', emoji: '😀', 127: text(127, 'x'),
  128: text(128, 'x'), 'long wide': text(300, '漢'), 'large text': text(65000, 'y'),
  array: [1, 'a', null, [2.5, []]], object: { a: 1, b: { c: [true, {}] } },
  'number names': { 1: 'one', 2: 'two', '-1': 3, 4294967295: 4, '1.5': 5 },
  'wide names': { 漢: 1, é: 2 }, 'many members': Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`k${i}`, i])),
  rows: Array.from({ length: 100 }, (_, id) => ({ id, price: id / 4 })),
  deep, 'shared object': [shared, shared],
};

// What only JavaScript has.
const RICH = {
  undefined, NaN, Infinity, '-Infinity': -Infinity, '-0': -0,
  bigint: -(10n ** 40n), '0n': 0n, '2^64': 2n ** 64n,
  'half a pair': '\ud800', 'undefined inside': { a: undefined, b: [undefined] },
  holes, 'array with a property': named,
  'only holes': Array(3), // eslint-disable-line
  circle,
  map: new Map([['a', 1], [2, new Map([[{}, new Set([1n])]])]]),
  set: new Set([1, 'a', null, undefined]), 'empty map': new Map(),
  date: new Date(1682208000123), 'date before 1970': new Date(-1),
  'no date': new Date(NaN), regexp: /a+[/]漢/dgimsuy,
  'Number object': Object(5), 'String object': Object('s'),
  'Boolean object': Object(true), 'BigInt object': Object(5n),
  buffer: bytes, 'empty buffer': new ArrayBuffer(0),
  'bytes inside': { b: new Uint8Array(bytes) },
  'part of a buffer': { b: new Uint8Array(bytes.slice(2, 5)) },
  'two views': [new Uint8Array(bytes), new DataView(bytes), shared, shared],
  'typed arrays': [new Int8Array([-1]), new Uint8ClampedArray([255]),
    new Int16Array([-2]), new Uint16Array([1, 2]), new Int32Array([-3]),
    new Uint32Array([4]), new Float32Array([1.5]), new Float64Array([2.5]),
    new BigInt64Array([-1n]), new BigUint64Array([1n])],
  error: new Error('plain'), 'without words': new Error(''),
  'every kind': [new TypeError('t'), new RangeError('r'), new SyntaxError('s'),
    new EvalError('e'), new ReferenceError('f'), new URIError('u')],
  cause: new RangeError('r', { cause: new TypeError('t', { cause: 1n }) }),
  bytes: new Uint8Array([1, 2, 255]), 'no bytes': new Uint8Array(0),
  KvU64: new KvU64(2n ** 64n - 1n),
};

const kv = await openKv();
const all = { ...PLAIN, ...RICH };

// What deepEqual does not look at, or (a date that is none) takes for another.
function causes(error) {
  return error instanceof Error
    ? [error.name, error.message, ...causes(error.cause)] : [String(error)];
}

function same(value, wanted) {
  if (!(wanted instanceof Date)) assert.deepEqual(value, wanted);
  if (wanted instanceof Error) assert.deepEqual(causes(value), causes(wanted));
  if (wanted instanceof Date) {
    assert.ok(value instanceof Date);
    assert.equal(value.getTime(), wanted.getTime());
  }
}

async function readAll(writer) {
  for (const [name, wanted] of Object.entries(all)) {
    await test(`${name}, written by ${writer}`, async () => {
      const entry = await kv.get(['values', name]);
      assert.notEqual(entry.versionstamp, null);
      same(entry.value, wanted);
    });
  }
}

if (args[0] === 'read') {
  await readAll(args[1]);
  finish();
}

for (const [name, value] of Object.entries(all)) {
  await kv.set(['values', name], value);
}
await readAll(runtime);

await test('the other world reads the same', () => {
  const me = fileURLToPath(import.meta.url);
  const [program, options] = runtime === 'Deno' ? ['node', []]
    : [process.env.DENO, ['run', '--quiet', '--no-config', '--unstable-kv',
      '--allow-all']];
  const run = spawnSync(program, [...options, me, url, 'read', runtime],
    { encoding: 'utf8', timeout: 60_000 });
  assert.equal(run.status, 0, run.stdout + run.stderr);
  assert.match(run.stdout, new RegExp(
    `^${Object.keys(all).length} passed, 0 failed$`, 'm'));
});

// Flag v is newer than Node 18, which cannot even read it as a literal.
function newest() {
  try {
    return new RegExp('[漢&&\\p{L}]', 'v');
  } catch {
    return /漢/u;
  }
}

await test('the newest flag of regular expressions that this world knows', async () => {
  const key = ['values', 'newest flag'];
  await kv.set(key, newest());
  assert.deepEqual((await kv.get(key)).value, newest());
  const { body } = await rest('POST', '/get', { keys: [key] });
  assert.equal(body.entries[0].typed.value, String(newest()));
});

await test('what JSON can carry is JSON over REST, and the other way round', async () => {
  for (const [name, value] of Object.entries(PLAIN)) {
    const path = `/kv/values/${encodeURIComponent(name)}`;
    const { status, body } = await rest('GET', path);
    assert.equal(status, 200, name);
    assert.deepEqual(body, value, name);
    assert.ok((await rest('PUT', path, value)).status < 300);
    assert.deepEqual((await kv.get(['values', name])).value, value);
  }
});

await test('the rest of it goes by way of its typed form, too', async () => {
  for (const [name, value] of Object.entries(RICH)) {
    const key = ['values', name];
    const { body } = await rest('POST', '/get', { keys: [key] });
    const [{ typed }] = body.entries;
    assert.ok(typed !== undefined, name);
    const put = await rest('POST', '/atomic',
      { mutations: [{ type: 'set', key: ['typed', name], typed }] });
    assert.equal(put.status, 200, `${name}: ${JSON.stringify(put.body)}`);
    same((await kv.get(['typed', name])).value, value);
  }
});

kv.close();
finish();

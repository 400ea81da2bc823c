// Values through the client: what is read and put again is stored unchanged, and what
// cannot be stored is a TypeError that names its path.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, db, fails, kindex, url } from './lib.mjs';

const { ExactNumber, KvU64, Media, parseJson, stringifyJson, Typed } = kindex;
const TYPED = 'application/vnd.kindex.typed+json';

async function ask(method, path, body, type = 'application/json') {
  const response = await fetch(url + path, {
    method, body, headers: body === undefined ? {} : { 'Content-Type': type },
  });
  const text = await response.text();
  assert.ok(response.ok, text);
  return text;
}
const store = (key, body, type) => ask('PUT', `/kv/${key.join('/')}`, body, type);
const stored = (key) => ask('GET', `/kv/${key.join('/')}`);

/** An entry's `value` or `typed` as the service writes it. */
async function formOf(key) {
  const text = await ask('POST', '/get', JSON.stringify({ keys: [key] }));
  return text.replace(/,"versionstamp".*/, '');
}

// ---- Numbers -----------------------------------------------------------------

const PLAIN = [
  '0', '-0', '1.10', '1e2', '100.00e-2', '9007199254740992', '12345678901234567000', '1e21',
  '5e-324', '1.7976931348623157e308', '0.1', '-1.50E+3', '0.000', '0e5',
];
const EXACT = [
  '12345678901234567891', '-12345678901234567891', '9007199254740993', '4.9e-324', '1e-400',
  '0.1000000000000000055511151231257827', '1.00000000000000000001', '12345678901234567891e-3',
];

test('a number is plain if its decimal value survives, and exact if not', async () => {
  for (const text of [...PLAIN, ...EXACT]) {
    const exact = EXACT.includes(text);
    await store(['number'], `{"a":[${text},"${text} \\" ${EXACT[0]}"],"${text}\\\\":${text}}`);
    const { value } = await db.get(['number']);
    const [number, string] = value.a;
    assert.equal(string, `${text} " ${EXACT[0]}`);
    assert.deepEqual(value[`${text}\\`], number);
    assert.deepEqual(number, exact ? new ExactNumber(text) : Number(text), text);
    await db.put(['number again'], value);
    const again = (await db.get(['number again'])).value;
    assert.deepEqual(again, value);
    const written = exact || Object.is(number, -0) ? text : String(number);
    assert.match(await stored(['number again']), new RegExp(`^{"a":\\[${
      written.replace(/[.+]/g, '\\$&')},`));
  }
});

// The rule by arithmetic with whole numbers, as [digits, power of ten].
function decimal(text) {
  const [, sign, whole, fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  return [BigInt(sign + whole + fraction), Number(power) - fraction.length];
}
function isSame(one, other) {
  const [[a, i], [b, k]] = [decimal(one), decimal(other)];
  return a * 10n ** BigInt(Math.max(i - k, 0)) === b * 10n ** BigInt(Math.max(k - i, 0));
}

test('numbers of any form are read by the rule', () => {
  let state = 43;
  const random = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
  const digits = (count) => Array.from({ length: count }, () => random(3) && random(10)).join('');
  const counts = { number: 0, object: 0 };
  for (let i = 0; i < 20_000; i++) {
    const whole = random(3) ? 1 + random(9) + digits(random(20)) : '0';
    const fraction = random(2) ? `.${digits(1 + random(20))}` : '';
    const power = random(3) ? '' : 'eE'[random(2)] + ['', '+', '-'][random(3)] + random(280);
    const text = (random(2) ? '-' : '') + whole + fraction + power;
    const [before, after] = [['', ''], ['["x\\\\", ', ']'], ['[\n', ']'], ['["\\"1,",', ']']][random(4)];
    const number = [parseJson(before + text + after)].flat().at(-1);
    const wanted = isSame(text, String(Number(text))) ? Number(text) : new ExactNumber(text);
    assert.deepEqual(number, wanted, text);
    counts[typeof number] += 1;
  }
  assert.ok(counts.number > 5000 && counts.object > 2000, JSON.stringify(counts));
});

const ID = '12345678901234567891';
const BODY = `{"id":${ID},"balance":1.10}`;
const VALUE = { id: new ExactNumber(ID), balance: 1.1 };

test('exact numbers come through every way to read', async () => {
  await db.declareIndex({
    name: 'exact_feed', prefix: ['exact'], fields: [{ versionstamp: true }], tombstones: '1h',
  });
  const key = ['exact', 'a'];
  await store(key, BODY);
  const has = (entry) => assert.deepEqual(entry.value, VALUE);
  has(await db.get(key));
  has((await db.getMany([key, key]))[1]);
  has((await all(db.list({ prefix: ['exact'] })))[0]);
  has((await all(db.list({ prefix: ['exact'], fields: ['/id', '/balance'] })))[0]);
  const first = async (events) => {
    for await (const event of events) {
      const entries = Array.isArray(event) ? event : event.entries;
      if (entries.length > 0) return entries[0];
    }
  };
  has(await first(db.watch([key])));
  has(await first(db.watchIndex('exact_feed')));
  const changes = db.watchPrefix(['exact']);
  await changes.next();
  await store(key, BODY);
  has((await changes.next()).value.entries[0]);
  await changes.return();
  for (const returned of ['new', 'old']) {
    const { results } = await db.atomic().patch(key, {}, { returns: returned }).commit();
    has(results[0]);
  }
  has(await db.delete(key));
  await db.dropIndex('exact_feed');
});

test('exact numbers are written by every way to write', async () => {
  const key = ['written'];
  const is = async (wanted) => assert.equal(await stored(key), wanted);
  await db.put(key, VALUE.id);
  await is(ID);
  await db.patch(key, { id: VALUE.id });
  await is(`{"id":${ID}}`);
  const ops = [{ op: 'add', path: '/ids', value: [VALUE.id] }];
  await db.atomic().operations(key, ops).commit();
  await is(`{"id":${ID},"ids":[${ID}]}`);
  const users = db.collection('written users', { prefix: ['written users'] });
  await users.put('a', VALUE);
  await users.update('a', (user) => ({ ...user, seen: 1 }));
  assert.equal(await stored(['written%20users', 'a']), `{"id":${ID},"balance":1.1,"seen":1}`);
  const { results } = await db.atomic()
    .sum(['written sum'], VALUE.id, { returns: 'new' }).commit();
  assert.deepEqual(results[0].value, VALUE.id);
  const holds = (eq) => db.atomic().check({ of: key, where: { path: '/id', eq } }).commit();
  assert.equal((await holds(VALUE.id)).ok, true);
  assert.equal((await holds(new ExactNumber('22345678901234567891'))).ok, false);
});

test('an entry is found by the number that its index has', async () => {
  const users = db.collection('doubles', { indexes: { byId: { fields: ['/id'], unique: true } } });
  await db.declareIndex(users.declarations[0]);
  await users.put('a', { id: VALUE.id });
  await users.byId.upsert('other', { id: VALUE.id, again: true });
  assert.equal((await users.get('a')).value.again, true);
  assert.equal(await users.count(), 1);
  await db.dropIndex('doubles_by_id');
});

test('an exact number is no operand', () => {
  const { id } = VALUE;
  assert.equal(String(id), ID);
  assert.equal(`${id}`, ID);
  assert.equal(BigInt(String(id)), 12345678901234567891n);
  assert.equal(id.toNumber(), 12345678901234567000);
  assert.throws(() => id + 1, /12345678901234567891 would lose digits/);
  assert.throws(() => id > 1, TypeError);
  assert.throws(() => Number(id), TypeError);
  assert.throws(() => new ExactNumber('1.'), /"1." is not the text of a JSON number/);
  assert.throws(() => new ExactNumber('1e400'), RangeError);
  if (JSON.rawJSON) assert.equal(JSON.stringify([id]), `[${ID}]`);
  else assert.throws(() => JSON.stringify([id]), /use stringifyJson/);
});

test('JSON is read and written with its digits', () => {
  const text = `{"__proto__":[${ID},-0],"a":"\\"${ID}","b":{"c":[1.5e300,true,null]}}`;
  const value = parseJson(text);
  assert.ok(Object.hasOwn(value, '__proto__'));
  assert.deepEqual(value.__proto__, [VALUE.id, -0]);
  assert.equal(stringifyJson(value), text.replace('1.5e300', '1.5e+300'));
  const odd = { date: new Date(0), none: undefined, call() {}, list: [undefined, NaN, , Symbol('s')],
    text: new String('x'), 'half \ud800': '\ud800' };
  assert.equal(stringifyJson(odd), JSON.stringify(odd));
  for (const wrong of ['', '{', '01', '1.', '-', '[1,]', `${ID}x`, '"', '"\\"', '{"a":1e}']) {
    assert.throws(() => parseJson(wrong), SyntaxError, wrong);
  }
  // In time that grows with the text, and not with its square.
  const zeros = `0.${'0'.repeat(500_000)}1${'0'.repeat(500_000)}`;
  assert.equal(parseJson(`[${zeros}]`)[0].text, zeros);
  const slashes = '\\\\'.repeat(500_000);
  assert.equal(parseJson(`["${slashes}",1]`)[0].length, 500_000);
});

// ---- Values that are read and put again --------------------------------------

const v8 = (value) => ({ type: 'V8', value });
const half = { type: 'string', value: 'a\ufffd', utf16: 'YQAA2A' };
const list = (...value) => ({ type: 'Array', value });
const one = { type: 'number', value: 1 };
// By the form in which the service shows it: what it is in JavaScript, or nothing if it
// is a Typed.
const VALUES = {
  'a value that contains itself': [v8('_w9vIgFhXgB7AQ')],
  'an array with another member': [v8('_w9BAUkCIgF4SQIkAQE')],
  'a very sparse array': [v8('_w9hoY0GScCaDEkCQAGhjQY')],
  'a boxed number': [v8('_w9uAAAAAAAA8D8')],
  'a name with half a surrogate pair': [v8('_w9vAGMCANhJAnsB')],
  'a sparse array': [list(one, { type: 'hole' }, one), [1, , 1]], // eslint-disable-line
  'undefined in an array': [list({ type: 'undefined' }), [undefined]],
  'undefined in an object': [
    { type: 'object', value: { a: { type: 'undefined' }, b: one } }, { a: undefined, b: 1 },
  ],
  'half a surrogate pair': [half, 'a\ud800'],
  'half a pair in a Map': [{ type: 'Map', value: [[half, half]] }, new Map([['a\ud800', 'a\ud800']])],
  'an Error': [
    { type: 'Error', value: { message: 'm', stack: 'at x' } }, new Error('m'),
  ],
  'an Error without anything': [{ type: 'RangeError', value: {} }, new RangeError()],
  'an Error with a cause': [
    { type: 'TypeError', value: { message: '', stack: '', cause: { type: 'bigint', value: '1' } } },
    new TypeError('', { cause: 1n }),
  ],
  'an Error that undefined has caused': [
    { type: 'URIError', value: { cause: { type: 'undefined' } } },
    new URIError(undefined, { cause: undefined }),
  ],
  'an invalid Date': [{ type: 'Date', value: 'Invalid Date' }, new Date(NaN)],
  'the last Date': [{ type: 'Date', value: '+275760-09-13T00:00:00.000Z' }, new Date(8.64e15)],
  'a Date before the year 0': [
    { type: 'Date', value: '-000033-04-24T22:13:20.000Z' }, new Date(-63198755200000),
  ],
  'a RegExp': [{ type: 'RegExp', value: '/a\\/b/dgi' }, /a\/b/dgi],
  'a RegExp with a flag of newer runtimes': [{ type: 'RegExp', value: '/[a&&b]/v' }, null],
  'a Set of an object': [
    { type: 'Set', value: [{ type: 'object', value: {} }, one, { type: 'bigint', value: '1' }] },
    new Set([{}, 1, 1n]),
  ],
  'a DataView': [{ type: 'DataView', value: 'AAAA' }, new DataView(new ArrayBuffer(3))],
  'a Float16Array': [{ type: 'Float16Array', value: 'AAEAAQ' }, null],
  'an ArrayBuffer': [{ type: 'ArrayBuffer', value: 'AAEAAQ' }, new Uint8Array([0, 1, 0, 1]).buffer],
  'an ArrayBuffer that can grow': [
    { type: 'ArrayBuffer', value: 'AAEAAQ', maxByteLength: 10 }, null,
  ],
  'bytes in an object': [
    { type: 'object', value: { a: { type: 'Uint8Array', value: 'AQI' } } },
    { a: new Uint8Array([1, 2]) },
  ],
  'bytes with a media type': [
    { type: 'Uint8Array', value: 'YWJj', mediaType: 'image/png' }, new Media([97, 98, 99], 'image/png'),
  ],
  'a KvU64': [{ type: 'KvU64', value: '18446744073709551615' }, new KvU64(2n ** 64n - 1n)],
  'a member __proto__': [
    { type: 'object', value: JSON.parse('{"__proto__":{"type":"bigint","value":"1"}}') },
    Object.fromEntries([['__proto__', 1n]]),
  ],
};

for (const [name, [form, wanted]] of Object.entries(VALUES)) {
  test(`${name} is put again as it was read`, async () => {
    const [from, to] = [['again', 'from'], ['again', 'to']];
    await store(from, stringifyJson(form), TYPED);
    const { value } = await db.get(from);
    if (wanted === undefined) {
      assert.ok(value instanceof Typed);
      assert.deepEqual([value.type, value.value], [form.type, form.value]);
    } else if (wanted !== null) {
      if (wanted instanceof Date) assert.deepEqual(Number(value), Number(wanted));
      else assert.deepEqual(value, wanted);
      assert.equal(Object.getPrototypeOf(value), Object.getPrototypeOf(wanted));
    }
    await db.put(to, value);
    const before = await formOf(from);
    assert.equal((await formOf(to)).replace('"to"', '"from"'), before);
    // Nested too, unless the service shows the whole as V8 then.
    if (form.type === 'V8' || form.type === 'KvU64' || form.mediaType) return;
    const inside = { type: 'object', value: { a: list(form) } };
    await store(from, stringifyJson(inside), TYPED);
    await db.put(to, (await db.get(from)).value);
    assert.equal((await formOf(to)).replace('"to"', '"from"'), await formOf(from));
  });
}

test('an Error comes back with all that it had', async () => {
  const error = new TypeError('m', { cause: new RangeError('n') });
  await db.put(['error'], { error });
  const { value } = await db.get(['error']);
  assert.ok(value.error instanceof TypeError);
  assert.deepEqual([value.error.message, value.error.stack], [error.message, error.stack]);
  assert.ok(value.error.cause instanceof RangeError);
  assert.equal(value.error.cause.stack, error.cause.stack);
});

test('no value ends a list', async () => {
  for (const [i, [form]] of Object.values(VALUES).entries()) {
    await store(['beside', `=${i}`], stringifyJson(form), TYPED);
  }
  const entries = await all(db.list({ prefix: ['beside'] }));
  assert.equal(entries.length, Object.keys(VALUES).length);
});

test('bytes with a media type are bytes', async () => {
  const media = new Media([1, 2, 3], 'image/png');
  await db.put(['media'], media);
  const response = await fetch(`${url}/kv/media`);
  assert.equal(response.headers.get('Content-Type'), 'image/png');
  assert.deepEqual(new Uint8Array(await response.arrayBuffer()), new Uint8Array([1, 2, 3]));
  const { value } = await db.get(['media']);
  assert.equal(value.mediaType, 'image/png');
  assert.deepEqual(value.slice(1), new Uint8Array([2, 3]));
});

test('JSON is nested as deeply as the service allows', async () => {
  const nested = (levels) => Array.from({ length: levels }).reduce((inner) => [inner], 1);
  await db.put(['deep'], nested(64));
  assert.deepEqual((await db.get(['deep'])).value, nested(64));
  await assert.rejects(db.put(['deep'], nested(65)), /more than 64 levels at (\/0){64} cannot/);
});

test('a commit has the values of the time when they were given', async () => {
  const value = { a: 1 };
  const atomic = db.atomic().set(['given'], value);
  value.a = new Promise(() => {});
  await atomic.commit();
  assert.deepEqual((await db.get(['given'])).value, { a: 1 });
});

// ---- Values that cannot be stored --------------------------------------------

class Point {
  x = 1;
}
const own = (object, members) => Object.assign(object, members);
const itself = {};
itself.a = [itself];
const REFUSED = {
  'a Promise': [Promise.resolve(1), /^a Promise cannot be stored$/],
  'a nested Promise': [{ a: [1, Promise.resolve(1)] }, /^a Promise at \/a\/1 cannot be stored$/],
  'a WeakMap': [{ a: new WeakMap() }, /a WeakMap at \/a /],
  'a URL': [{ a: new URL('http://x') }, /a URL at \/a /],
  'a Blob': [[new Blob(['x'])], /a Blob at \/0 /],
  'a boxed number': [{ a: new Number(1) }, /a Number at \/a /],
  'a boxed string': [{ a: new String('x') }, /a String at \/a /],
  'a class instance': [new Map([['k', new Point()]]), /a Point at \/0\/1 /],
  'a member that a class inherits': [Object.create({ x: 1 }), /an Object cannot be stored/],
  'a subclass of Map': [new (class Names extends Map {})(), /a Names cannot/],
  'a subclass of Array': [{ a: new (class Names extends Array {})() }, /a Names at \/a /],
  'a subclass of Error': [{ a: new (class Bad extends Error {})() }, /a Bad at \/a /],
  'a subclass of Float64Array': [{ a: new (class Vector extends Float64Array {})(2) }, /a Vector at \/a /],
  'a function': [{ a() {} }, /a function at \/a /],
  'a symbol': [[Symbol('s')], /a symbol at \/0 /],
  'a name that is a symbol': [{ a: { [Symbol('s')]: 1 } }, /a member of an Object at \/a\/Symbol\(s\) /],
  'an Error with a code': [{ a: own(new Error('m'), { code: 1 }) }, /a member of an Error at \/a\/code /],
  'an Error with a name': [own(new Error('m'), { name: 'Mine' }), /a member of an Error at \/name /],
  'a Map with a member': [own(new Map(), { x: 1 }), /a member of a Map at \/x /],
  'bytes with a member': [own(new Uint8Array(2), { x: 1 }), /a member of a Uint8Array at \/x /],
  'an array with a member': [{ a: own([1], { x: 1 }) }, /a member of an Array at \/a\/x /],
  'a match of a RegExp': [/b/.exec('abc'), /a member of an Array at \/index /],
  'a very sparse array': [{ a: own([], { length: 1e9 }) }, /an array with more than 4096 holes at \/a /],
  'a value that contains itself': [itself, /a value that contains itself at \/a\/0 /],
  'a Map that contains itself': [own(new Map()).set(1, null), null],
  'a KvU64 in an object': [{ n: new KvU64(1n) }, /the type KvU64 at \/n cannot be a part of a value/],
  'media in an object': [{ n: new Media([1], 'image/png') }, /a Media at \/n cannot be a part/],
  'V8 in an object': [{ n: new Typed({ type: 'V8', value: '_w8w' }) }, /the type V8 at \/n cannot/],
  'half a surrogate pair in a name': [{ a: { 'b\ud800': 1 } }, /half a surrogate pair at \/a\/b\ud800 /],
  'half a surrogate pair in a message': [new Error('\ud800'), /half a surrogate pair at \/message /],
  'an exact number beside a bigint': [
    { id: VALUE.id, n: 1n }, /the ExactNumber 12345678901234567891 at \/id cannot be stored beside/,
  ],
  'an exact number in a Set': [new Set([VALUE.id]), /the ExactNumber 12345678901234567891 at \/0 /],
};
const loop = REFUSED['a Map that contains itself'][0];
loop.set(1, loop);
REFUSED['a Map that contains itself'] = [loop, /a value that contains itself at \/0\/1 /];

for (const [name, [value, message]] of Object.entries(REFUSED)) {
  test(`${name} cannot be stored`, async () => {
    await store(['refused'], '1');
    for (const put of [
      () => db.put(['refused'], value),
      () => db.patch(['refused'], value),
      async () => db.atomic().set(['refused'], value),
      () => db.putByIndex('none', ['x'], value),
    ]) {
      await assert.rejects(put, (error) => error instanceof TypeError && message.test(error.message));
    }
    assert.equal(await stored(['refused']), '1');
  });
}

test('what has a place only for JSON refuses what JSON has no form for', async () => {
  const ops = (value) => () => db.atomic().operations(['o'], [{ op: 'add', path: '/a', value }]);
  assert.throws(ops({ at: new Date(0) }), /^TypeError: ops\/0\/value\/at is a Date, which JSON/);
  assert.throws(ops(1n), /ops\/0\/value is a bigint/);
  assert.throws(ops(NaN), /ops\/0\/value is a number/);
  await assert.rejects(db.declareIndex({
    name: 'd', prefix: ['d'], fields: ['/a'], where: { path: '/a', eq: new Date(0) },
  }), /declaration\/where\/eq is a Date/);
});

test('a part of a key is what the service shows', async () => {
  for (const part of [-0, NaN, -Infinity, 2n ** 70n, new Uint8Array([1]), 'a\u0000b', true]) {
    await db.put(['parts', part], 1);
    const [{ key }] = await all(db.list({ prefix: ['parts'] }));
    assert.deepEqual(key[1], part);
    assert.equal((await db.delete(key)).value, 1);
  }
  // Deno makes such a part of Infinity - Infinity: it is another key than that of NaN.
  await store(['parts', '=-NaN'], '1');
  assert.deepEqual((await db.get(['parts', NaN])).value, null);
  const [{ key }] = await all(db.list({ prefix: ['parts'] }));
  assert.deepEqual(key[1], new Typed({ type: 'number', value: '-NaN' }));
  assert.equal((await db.delete(key)).value, 1);
  await assert.rejects(db.put(['n', VALUE.id], 1), /key\[1\] is an ExactNumber; parts are/);
  await fails(db.get(['parts', 'a\ud800']), 'bad-key');
});

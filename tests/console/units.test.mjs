// The modules that need no browser. KX_CONSOLE is a folder with a copy of them,
// where Node takes them as modules.
import assert from 'node:assert';
import fs from 'node:fs';
import { test } from 'node:test';
import serve from '../lib/serve.js';

const { withServer } = serve;

const from = process.env.KX_CONSOLE;
const { ExactNumber, compact, format, isExact, memberOf, mistake, parse: read, place, stringify, tokens } = await import(`${from}/json.js`);
const { begins, fromFragment, parse, same, toFragment, write } = await import(`${from}/key.js`);
const { kindOf, layout } = await import(`${from}/value.js`);
const { merge } = await import(`${from}/merge.js`);
const { firstRow, scrollTo } = await import(`${from}/rows.js`);

const GOOD = ['null', ' 1.50e+3 ', '-0', '"\\u00e9\\ud83d\\ude00"', '[]', '{}', '[1,[2,{"a":[]}]]', '{"a":1,"b":2}',
  '12345678901234567890.123', '"\u2028"', '\n\t[\r\n1 ]'];
const BAD = ['', ' ', '01', '1.', '.5', '+1', 'nul', "'a'", '[1,]', '{"a":1,}', '{a:1}', '[1 2]', '{"a" 1}', '"\n"',
  '"\\x"', '"\\ud800"', '"\\udc00\\ud800"', '1 1', ']', '{"a":}', '[', '{"a":1', '"', '\ufeff1', 'NaN', '1e400', '{"a":1,"\\u0061":2}',
  '['.repeat(65) + ']'.repeat(65)];

test('JSON texts and others', () => {
  for (const text of GOOD) assert.equal(mistake(text), null, text);
  for (const text of BAD) assert.notEqual(mistake(text), null, text);
  assert.equal(mistake('['.repeat(64) + ']'.repeat(64)), null);
});

test('a mistake has its place', () => {
  const text = '{\n  "a": 1,\n  "b" 2\n}';
  assert.equal(place(text, mistake(text).at), 'line 3, column 7');
  assert.match(mistake(text).message, /":" is expected/);
  assert.match(mistake('[1').message, /"," or "\]" is missing at the end/);
});

test('format and compact change white space only', () => {
  for (const text of GOOD) {
    const parts = (t) => [...tokens(t)].map(([, a, b]) => t.slice(a, b)).join('\0');
    assert.equal(parts(format(text)), parts(text));
    assert.equal(parts(compact(text)), parts(text));
    assert.equal(compact(format(text)), compact(text));
  }
  assert.equal(format('{"a":[1,{}],"b":[]}'), '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}');
});

test('what is shown and stored unchanged has the same bytes', () => {
  for (const text of [...GOOD, '{ "a": 1 }', '{"a":1}\n', 'x'.repeat(10), '{"n":9007199254740993,"m":1.0}']) {
    const { shown, stored } = layout(text);
    assert.equal(stored(shown), text);
  }
});

const PLAIN = ['0', '-0', '1.10', '1.0', '1e5', '1E+2', '0.000', '0e999', '1e21', '100000000000000000000000', '9007199254740992', '5e-324', '1.7976931348623157e308', '-0.5', '123456.789e-9'];
const NOT_PLAIN = ['12345678901234567891', '9007199254740993', '0.1000000000000000055511151231257827', '1e400', '-1e400', '1e-400', '1.00000000000000000001'];

test('a number that a double does not hold keeps its text, in any document', () => {
  for (const text of PLAIN) {
    assert.equal(read(text), Number(text), text);
    assert.ok(isExact(text), text);
  }
  for (const text of NOT_PLAIN) {
    assert.ok(read(text) instanceof ExactNumber, text);
    assert.equal(stringify(read(`{"a":[${text}]}`)), `{"a":[${text}]}`);
    assert.ok(!isExact(text), text);
  }
  for (const text of ['1.10', '1.0', '-0', '1e5', '12345678901234567891']) assert.equal(String(read(text, true)), text);
  assert.equal(read('1.5', true), 1.5);
  // A number of many zeros takes no longer than its length.
  assert.ok(read(`${'10'.repeat(100000)}1`) instanceof ExactNumber);
});

test('a document is read and written as by JSON.parse and JSON.stringify', () => {
  for (const text of GOOD) {
    if (text.includes('12345678901234567890.123')) continue;
    assert.deepEqual(read(text), JSON.parse(text), text);
    assert.equal(stringify(read(text)), JSON.stringify(JSON.parse(text)), text);
  }
  for (const text of BAD) {
    if (mistake(text).message.match(/surrogate|already|beyond|levels/)) continue; // more than the grammar
    assert.throws(() => read(text), SyntaxError, text);
  }
  const members = read('{"__proto__":1,"constructor":2,"a":null}');
  assert.deepEqual(Object.entries(members), [['__proto__', 1], ['constructor', 2], ['a', null]]);
  assert.equal(stringify({ a: undefined, b: [undefined, 'x'], c: null }), '{"b":[null,"x"],"c":null}');
  for (const [value, name] of [[{}, 'constructor'], [[1], 'length'], ['text', 'length'], [null, 'x'], [undefined, 'x'], [new ExactNumber('1'), 'text']]) {
    assert.equal(memberOf(value, name), undefined, name);
  }
  assert.deepEqual([memberOf({ a: 1 }, 'a'), memberOf([7], '0')], [1, 7]);
});

test('a long text in one line is read in time', () => {
  const text = `{"a":"${'x'.repeat(1 << 20)}","b":[${'1,'.repeat(20000)}1]}`;
  assert.equal(mistake(text), null);
});

const KEYS = [['users', 'ada'], ['orders', 42], ['a/b', '=x', '', ' s '], ['[x'], [true, false], [0.5, -7, 1e21],
  [{ type: 'bigint', value: '-9007199254740993' }], [{ type: 'Uint8Array', value: 'AQID' }],
  [{ type: 'number', value: 'NaN' }, { type: 'number', value: '-NaN' }, { type: 'number', value: '-0' }], ['"', '\\', '\u0000', 'a"b/c'], ['100%', 'ü€😀'], ['a', '']];

test('a key is written and read again', () => {
  for (const key of KEYS) {
    assert.deepEqual(parse(write(key)), key, write(key));
    assert.deepEqual(fromFragment(toFragment(key)), key, toFragment(key));
    assert.deepEqual(parse(JSON.stringify(key)), key);
    assert.ok(!/[#?\s]/.test(toFragment(key)));
  }
});

test('what a person types', () => {
  assert.deepEqual(parse(''), []);
  assert.deepEqual(parse('users/'), ['users']);
  assert.deepEqual(parse('=42/=42n/=-0/x'), [42, { type: 'bigint', value: '42' }, { type: 'number', value: '-0' }, 'x']);
  for (const text of ['=abc', '=', '=b64:**', '=1.2.3', '["a"', '=9007199254740993', '[9007199254740993]', '=1e400']) assert.throws(() => parse(text), Error, text);
  assert.ok(begins(['a', 1, 'x'], ['a', 1]) && !begins(['a'], ['a', 1]) && !same(['1'], [1]));
});

test('rows: the first in view follows the scroll bar, to the last', () => {
  for (const total of [0, 1, 30, 1000, 285715, 1e6, 1e7]) {
    const shape = { view: 600, height: 28, total };
    const last = Math.max(0, total - 600 / 28);
    for (const first of [0, last / 3, last]) {
      const back = firstRow({ scroll: scrollTo({ first, ...shape }), ...shape });
      assert.ok(Math.abs(back - first) < 0.01, `${total}: ${first} became ${back}`);
    }
    const most = Math.max(0, Math.min(total * 28, 8000000) - 600);
    assert.ok(Math.abs(firstRow({ scroll: most, ...shape }) - last) < 0.01);
  }
});

// The server's verdict on each text of the corpus and on random ones.
test('the verdict on a text is the server\'s', async () => {
  const corpus = fs.readFileSync(new URL('../fuzz/corpus/json.txt', import.meta.url), 'latin1').split('\n');
  const letters = { n: '\n', r: '\r', t: '\t', '\\': '\\' };
  const texts = corpus.map((line) => Buffer.from(line.slice(line.indexOf(': ') + 2).replace(/\\(x(..)|.)/g,
    (_, letter, hex) => (hex ? String.fromCharCode(parseInt(hex, 16)) : letters[letter])), 'latin1').toString());
  let seed = 1;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const pieces = ['{', '}', '[', ']', ',', ':', '"a"', '"\\n"', '1', '-0.5e3', 'true', 'null', ' ', '"', '\\', '"\\ud83d\\ude00"'];
  for (let i = 0; i < 500; i++) {
    texts.push(Array.from({ length: 1 + random(7) }, () => pieces[random(pieces.length)]).join(''));
  }
  await withServer(process.env.KINDEX, async (base) => {
    for (const text of new Set([...texts, ...GOOD, ...BAD])) {
      if (text.includes('\ufffd')) continue; // it was not UTF-8
      const { status } = await fetch(`${base}/kv/verdict`, { method: 'PUT', body: text,
        headers: { 'Content-Type': 'application/json' } });
      assert.equal(mistake(text) === null, status < 300,
        `${JSON.stringify(text)}: ${status} ${JSON.stringify(mistake(text))}`);
    }
  });
});

// Else the list with members as columns would take a part of a key for an inexact number.
test('the server writes the numbers in keys as JavaScript does', async () => {
  const numbers = [0.1, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 2 ** 53, 1e22, 123456789012345680000];
  for (let seed = 7; numbers.length < 300;) {
    seed = (seed * 48271) % 2147483647;
    numbers.push((seed / 3) * 10 ** ((seed % 600) - 300));
  }
  await withServer(process.env.KINDEX, async (base) => {
    const lines = numbers.map((number) => JSON.stringify({ key: ['n', number], value: 1 })).join('\n');
    await fetch(`${base}/bulk`, { method: 'POST', body: lines + '\n', headers: { 'Content-Type': 'application/x-ndjson' } });
    const { entries } = read(await (await fetch(`${base}/list?prefix=n&limit=1000`)).text(), true);
    assert.deepEqual(entries.map(({ key }) => key[1]), [...new Set(numbers)].sort((a, b) => a - b));
  });
});

test('two changes of different members are merged, and nothing else moves', () => {
  const base = '{ "a": 1,  "b": [1, 2], "c": {"x": 1, "y": 2} }';
  const theirs = '{ "a": 1,  "b": [1, 2, 3], "c": {"x": 1, "y": 5}, "n": 12345678901234567890 }';
  const all = (mine) => merge(base, theirs, mine)?.text;
  assert.equal(all(base), theirs);
  assert.equal(all('{"a":7,"b":[1,2],"c":{"x":1,"y":2}}'), theirs.replace('"a": 1', '"a": 7'));
  assert.equal(all('{"a":1,"b":[1,2],"c":{"x":9,"y":2}}'), theirs.replace('"x": 1', '"x": 9'));
  assert.equal(all('{"b":[1,2],"c":{"x":1,"y":2}}'), theirs.replace('"a": 1,  ', ''));
  assert.equal(compact(all('{"a":1,"b":[1,2],"c":{"x":1,"y":2},"d":1.0}')), compact(theirs).replace(/}$/, ',"d":1.0}'));
  assert.equal(all('{"a":1,"b":[1],"c":{"x":1,"y":2}}'), undefined);
  assert.equal(all('{"a":1,"b":[1,2],"c":{"x":1,"y":3}}'), undefined);
  assert.equal(merge('[1]', '[2]', '[1,3]'), null);
  assert.deepEqual(merge('{"a":1}', '{"a":1,"b":2}', '{"a":2}').names, ['a']);
});

// Against values: a model of the same rule, on random objects.
test('a merge has what both have changed', () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const object = () => Object.fromEntries(['a', 'b', 'c', 'd'].filter(() => random(3)).map((name) => [name, random(3)]));
  const change = (from) => {
    const to = { ...from };
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      if (random(4) === 0) { if (random(2)) delete to[name]; else to[name] = random(9); }
    }
    return to;
  };
  let merged = 0;
  for (let i = 0; i < 3000; i++) {
    const base = object();
    const [theirs, mine] = [change(base), change(base)];
    const names = ['a', 'b', 'c', 'd', 'e'];
    const both = names.some((name) => mine[name] !== base[name] && theirs[name] !== base[name] && mine[name] !== theirs[name]);
    const found = merge(...[base, theirs, mine].map((value) => format(JSON.stringify(value))));
    if (both) { assert.equal(found, null, JSON.stringify([base, theirs, mine])); continue; }
    const expected = Object.fromEntries(names.map((name) => [name, mine[name] !== base[name] ? mine[name] : theirs[name]])
      .filter(([, value]) => value !== undefined));
    assert.notEqual(found, null, JSON.stringify([base, theirs, mine]));
    assert.equal(mistake(found.text), null, found.text);
    assert.deepEqual(JSON.parse(found.text), expected, JSON.stringify([base, theirs, mine]));
    merged++;
  }
  assert.ok(merged > 1000);
});

test('the kind of a value', () => {
  const of = (type, text) => kindOf(type, new TextEncoder().encode(text));
  assert.equal(of('application/json', '1'), 'JSON');
  assert.equal(of('application/vnd.kindex.typed+json', '{}'), 'typed');
  assert.equal(of('text/plain; charset=utf-8', 'ü'), 'text');
  assert.equal(of('text/plain', 'a\r\n'), 'bytes');
  assert.equal(kindOf('text/plain', new Uint8Array([0xff])), 'bytes');
  assert.equal(of('image/png', 'x'), 'bytes');
});

test('a filter in one line is conditions, and says what is wrong', async () => {
  const { readFilter, writeFilter } = await import(`${process.env.KX_CONSOLE}/filter.js`);
  for (const [text, where] of [
    ['status = open', [{ path: '/status', eq: 'open' }]],
    ['total>=10 and total < 20.50', [{ path: '/total', ge: 10 }, { path: '/total', lt: 20.5 }]],
    ['date in 2026-11', [{ path: '/date', ge: '2026-11', lt: '2026-12' }]],
    ['date in 2026-12', [{ path: '/date', ge: '2026-12', lt: '2027-01' }]],
    ['date in 2024-02-28', [{ path: '/date', ge: '2024-02-28', lt: '2024-02-29' }]],
    ['year in 2026', [{ path: '/year', ge: '2026', lt: '2027' }]],
    ['age in 18..65', [{ path: '/age', ge: 18, le: 65 }]],
    ['city in Oslo|Rome, name != "a, b"', [{ path: '/city', in: ['Oslo', 'Rome'] }, { path: '/name', ne: 'a, b' }]],
    ['address.city = Oslo', [{ path: '/address/city', eq: 'Oslo' }]],
    ['/a~1b = true', [{ path: '/a~1b', eq: true }]],
    ['tags has new, email exists, phone missing', [{ path: '/tags', each: true, eq: 'new' }, { path: '/email', exists: true }, { path: '/phone', exists: false }]],
    ['status in ["a","b"]', [{ path: '/status', in: ['a', 'b'] }]],
    ['', []],
  ]) {
    assert.deepEqual(readFilter(text), where, text);
    const single = ({ path, each, ...ops }) => Object.entries(ops).map(([op, value]) => ({ path, ...(each ? { each } : {}), [op]: value }));
    assert.deepEqual(readFilter(writeFilter(where)), where.flatMap(single), writeFilter(where));
  }
  for (const text of ['status', 'status =', '= open', 'status like x']) assert.throws(() => readFilter(text), /is no condition|is missing/, text);
});

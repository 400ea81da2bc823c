// Every kind of value, from each of Deno, Node and REST to the two others.
//
//   exchange.mjs URL          the story
//   exchange.mjs URL write    writes all values, for the story in the other
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { args, finish, openKv, runtime, test, url } from './kv.mjs';
import { isPlain, typedForm, values } from './lib/values.mjs';

const TYPED = 'application/vnd.kindex.typed+json';
const JSON_TYPE = 'application/json';
const other = runtime === 'Deno' ? 'Node' : 'Deno';
const kv = await openKv();

async function writeAll() {
  for (const [name, value] of Object.entries(values)) {
    await kv.set([runtime, name], value);
  }
}

// The same story in the other world, which writes.
async function letOtherWrite() {
  const file = fileURLToPath(import.meta.url);
  const [program, options] =
    other === 'Node'
      ? ['node', []]
      : [
          process.env.DENO_PROGRAM,
          ['run', '--quiet', '--no-config', '--unstable-kv', '--allow-all'],
        ];
  await promisify(execFile)(program, [...options, file, url, 'write']);
}

function address(...key) {
  return `${url}/kv/${key.map(encodeURIComponent).join('/')}`;
}

async function put(address, type, body) {
  const answer = await fetch(address, {
    method: 'PUT',
    headers: { 'content-type': type },
    body,
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${answer.status} ${text}`);
}

// What REST shows, as it is written.
async function get(address) {
  const answer = await fetch(address);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return { type: answer.headers.get('content-type'), text };
}

// Errors have properties of their own in each world, and invalid dates are not
// equal to each other.
function simple(value) {
  const special = value instanceof Error || value instanceof Date;
  return special ? typedForm(value) : value;
}

function assertSame(got, wanted) {
  assert.deepEqual(simple(got), simple(wanted));
  assert.deepEqual(typedForm(got), typedForm(wanted));
  assert.equal(Object.is(got, -0), Object.is(wanted, -0));
}

function assertShown({ type, text }, value) {
  const form = typedForm(value);
  if (isPlain(value)) {
    assert.equal(type, JSON_TYPE);
    assert.deepEqual(JSON.parse(text), value);
    return;
  }
  assert.equal(type, TYPED);
  const shown = JSON.parse(text);
  if (form === undefined || shown.type === 'V8') {
    assert.equal(shown.type, 'V8');
    assert.equal(form?.type, undefined);
  } else {
    assert.deepEqual(shown, form);
  }
}

if (args[0] === 'write') {
  await writeAll();
  kv.close();
  process.exit(0);
}

await test('what is not the same is told apart', async () => {
  const list = Object.values(values);
  assert.throws(() => assertSame(list[0], list[1]));
  assert.throws(() => assertSame(0, -0));
  assert.throws(() => assertSame(new Set([1]), new Set([2])));
  assert.throws(() => assertShown({ type: JSON_TYPE, text: '1' }, 2));
  assert.throws(() => assertShown({ type: TYPED, text: '{"type":"V8"}' }, 1n));
});

await writeAll();
await letOtherWrite();

for (const [name, value] of Object.entries(values)) {
  await test(`${name}: comes back`, async () => {
    assertSame((await kv.get([runtime, name])).value, value);
  });

  await test(`${name}: ${other} writes, ${runtime} reads`, async () => {
    assertSame((await kv.get([other, name])).value, value);
  });

  await test(`${name}: ${runtime} writes, REST reads`, async () => {
    assertShown(await get(address(runtime, name)), value);
  });

  await test(`${name}: REST writes what it showed`, async () => {
    const { type, text } = await get(address(runtime, name));
    await put(address('copy', name), type, text);
    assertSame((await kv.get(['copy', name])).value, value);
    const again = await get(address('copy', name));
    assert.deepEqual(JSON.parse(again.text), JSON.parse(text));
  });

  await test(`${name}: REST writes, ${runtime} reads`, async () => {
    const form = typedForm(value);
    if (isPlain(value)) {
      await put(address('plain', name), JSON_TYPE, JSON.stringify(value));
      assertSame((await kv.get(['plain', name])).value, value);
    }
    if (form === undefined || name.startsWith('nested')) return;
    await put(address('typed', name), TYPED, JSON.stringify(form));
    assertSame((await kv.get(['typed', name])).value, value);
  });
}

await test('a list shows all of them', async () => {
  let count = 0;
  for await (const entry of kv.list({ prefix: [other] })) {
    assertSame(entry.value, values[entry.key[1]]);
    count += 1;
  }
  assert.equal(count, Object.keys(values).length);
});

kv.close();
finish();

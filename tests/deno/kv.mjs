// Deno.Kv in both worlds: built into Deno (HTTP/2), or @deno/kv in Node
// (HTTP/1.1). A story is written once and runs in either.
//
//   deno run STORY URL...    node STORY URL...
import assert from 'node:assert/strict';
import process from 'node:process';

const library = globalThis.Deno ?? (await import('@deno/kv'));

export const runtime = globalThis.Deno ? 'Deno' : 'Node';
export const { KvU64 } = library;
export const [url, ...args] = process.argv.slice(2);

// Any token will do, but clients want one; Deno takes its from the environment.
export function openKv(at = url, more = {}) {
  return runtime === 'Deno'
    ? library.openKv(at)
    : library.openKv(at, { accessToken: 'any token', ...more });
}

// A request of the same server by way of REST.
export async function rest(method, path, body, at = url) {
  const answer = await fetch(at + path, {
    method,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
  });
  const text = await answer.text();
  const json = /json/.test(answer.headers.get('content-type') ?? '');
  return { status: answer.status, body: json ? JSON.parse(text) : text };
}

export async function collect(iterator) {
  const entries = [];
  for await (const entry of iterator) entries.push(entry);
  return entries;
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Repeats a look until it shows what is wanted, for at most two minutes.
export async function until(look, wanted) {
  const deadline = Date.now() + 120_000;
  let seen = await look();
  while (!wanted(seen) && Date.now() < deadline) {
    await sleep(20);
    seen = await look();
  }
  assert.ok(wanted(seen), `still ${JSON.stringify(seen)}`);
  return seen;
}

const counts = { passed: 0, failed: 0 };

export async function test(name, body) {
  try {
    await body();
    counts.passed += 1;
  } catch (error) {
    counts.failed += 1;
    console.log(`FAILED ${runtime}: ${name}\n${error.stack ?? error}`);
  }
}

// The last line of a story, from which tests/run.sh counts.
export function finish() {
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);
}

// Transactions against a real server. A history of many of them at once must be the same
// as one after another, in the order of their commits; clients that leave out a check are
// found by the same comparison.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, db, fails, kindex, url } from './lib.mjs';

const { connect } = kindex;

test('a transaction commits what it writes, and returns what the work returns', async () => {
  await db.put(['t', 'a'], 5);
  const found = await db.transaction(async (t) => {
    const [a, missing] = await t.getMany([['t', 'a'], ['t', 'none']]);
    assert.deepEqual(await t.get(['t', 'a']), a);
    t.set(['t', 'b'], { from: a.value }, { ttl: '1h' }).patch(['t', 'b'], { m: 1 })
      .operations(['t', 'b'], [{ op: 'set', path: '/o', value: 1n === 1n }])
      .sum(['t', 'n'], 2).min(['t', 'n'], 7).max(['t', 'n'], 1)
      .touch(['t', 'b'], { ttl: '2h' }).delete(['t', 'a']);
    return missing.versionstamp;
  });
  assert.equal(found, null);
  assert.deepEqual((await all(db.list({ prefix: ['t'] }))).map(({ key, value }) => [key[1], value]),
    [['b', { from: 5, m: 1, o: true }], ['n', 2]]);
});

test('lists of every form hold until something in them changes', async () => {
  await db.bulk([...Array(9).keys()].map((n) => ({ key: ['l', n], value: { n } })));
  const forms = [
    { prefix: ['l'] }, { prefix: ['l'], pageSize: 2 }, { prefix: ['l'], pageSize: 2, reverse: true },
    { prefix: ['l'], start: ['l', 3], pageSize: 2 }, { prefix: ['l'], end: ['l', 7], pageSize: 1 },
    { start: ['l', 2], end: ['l', 8], pageSize: 4, reverse: true }, { prefix: ['l'], limit: 3, pageSize: 2 },
    { prefix: ['l'], limit: 4, reverse: true, keys: true }, { prefix: ['l', 'none'] },
    { prefix: ['l'], pageSize: 1000, fields: ['/n'] },
  ];
  for (const form of forms) {
    let runs = 0;
    const expected = await all(db.list(form));
    const seen = await db.transaction(async (t) => {
      runs += 1;
      const entries = await all(t.list(form));
      t.set(['written'], runs);
      return entries;
    });
    assert.deepEqual([runs, seen], [1, expected]);
    // What is added after the last entry that was read is no conflict with a limit.
    await db.transaction(async (t) => {
      runs += 1;
      await all(t.list(form));
      if (runs === 2) await db.put(form.prefix?.length === 2 ? ['l', 'none', 1] : ['l', 4.5], runs);
      t.set(['written'], runs);
    });
    const inRange = !form.limit || form.limit > 3 && !form.reverse;
    assert.equal(runs, inRange ? 3 : 2, JSON.stringify(form));
    await db.delete(['l', 4.5]);
  }
});

test('only conflicts are tried again, and not without an end', async () => {
  let runs = 0;
  const conflicting = (t) => db.transaction(async (u) => {
    runs += 1;
    await u.get(['busy']);
    await db.put(['busy'], runs);
    u.set(['never'], runs);
  }, t);
  const error = await fails(conflicting({ tries: 3 }), 'check-failed');
  assert.deepEqual([runs, error.failedChecks[0].key], [3, ['busy']]);
  runs = 0;
  await fails(db.transaction(async (t) => {
    runs += 1;
    t.sum(['bounded'], -1, { min: 0 });
  }), 'out-of-bounds');
  await assert.rejects(db.transaction(() => { runs += 1; throw new RangeError('mine'); }), /mine/);
  assert.equal(runs, 2);
  assert.equal((await db.get(['never'])).value, null);
  await assert.rejects(db.transaction(async (t) => { t.set(['x'], 1); await t.get(['x']); }),
    /read before the first/);
  await assert.rejects(db.transaction(async (t) => { t.set(['x'], 1); await all(t.list()); }),
    /read before the first/);
});

// ---- Histories ---------------------------------------------------------------

const WORKERS = 6;
const ROUNDS = 8;
const NUMBERS = 8;

function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
}

/** A client that leaves out some of the checks, and remembers the stamp of its commits. */
function client(leavesOut) {
  const made = { stamp: '' };
  made.db = connect(url, {
    fetch: async (address, options) => {
      if (!address.endsWith('/atomic')) return await fetch(address, options);
      const body = JSON.parse(options.body);
      body.checks = body.checks.filter((check) => !leavesOut(check));
      const response = await fetch(address, { ...options, body: JSON.stringify(body) });
      if (response.ok) made.stamp = (await response.clone().json()).versionstamp;
      return response;
    },
  });
  return made;
}

/** One transaction: what it has read, and what it writes, by seeded chance. */
async function step(t, prefix, next, name) {
  const done = { gets: [], lists: [], writes: [] };
  const seen = ({ key, versionstamp }) => [key[1], versionstamp];
  for (let i = next(3); i > 0; i--) done.gets.push(seen(await t.get([prefix, next(NUMBERS)])));
  const [one, two] = [next(NUMBERS), next(NUMBERS)];
  const form = {
    start: [prefix, Math.min(one, two)], end: [prefix, Math.max(one, two) + 1],
    reverse: next(2) === 0, pageSize: 1 + next(4), ...next(2) === 0 && { limit: 1 + next(4) },
  };
  done.lists.push([form, (await all(t.list(form))).map(seen)]);
  for (let i = 1 + next(2); i > 0; i--) {
    const number = next(NUMBERS);
    const removes = next(3) === 0;
    if (removes) t.delete([prefix, number]);
    else t.set([prefix, number], name);
    done.writes.push([number, removes]);
  }
  return done;
}

/** Rounds in which all workers have read before the first of them commits. */
async function history(prefix, seed, leavesOut) {
  const clients = Array.from({ length: WORKERS }, () => client(leavesOut));
  const found = [];
  for (let round = 0; round < ROUNDS; round++) {
    let waiting = WORKERS;
    let open;
    const gate = new Promise((resolve) => { open = resolve; });
    await Promise.all(clients.map(async (made, worker) => {
      const next = random(seed * 1000 + round * WORKERS + worker);
      let first = true;
      const done = await made.db.transaction(async (t) => {
        const result = await step(t, prefix, next, `${round} ${worker}`);
        if (first && --waiting === 0) open();
        first = false;
        await gate;
        return result;
      }, { tries: 100 });
      found.push({ ...done, stamp: made.stamp });
    }));
  }
  return found.sort((a, b) => a.stamp < b.stamp ? -1 : 1);
}

/** The first transaction whose reads are not those of the state before its commit. */
function contradiction(found) {
  const state = new Map();
  for (const [i, { gets, lists, writes, stamp }] of found.entries()) {
    for (const [number, version] of gets) {
      if ((state.get(number) ?? null) !== version) return `transaction ${i}: the entry ${number}`;
    }
    for (const [{ start, end, reverse, limit = Infinity }, entries] of lists) {
      let numbers = [...state.keys()].filter((n) => n >= start[1] && n < end[1]).sort((a, b) => a - b);
      if (reverse) numbers.reverse();
      numbers = numbers.slice(0, limit);
      const wanted = numbers.map((number) => [number, state.get(number)]);
      if (JSON.stringify(wanted) !== JSON.stringify(entries)) return `transaction ${i}: a list`;
    }
    for (const [number, removes] of writes) {
      if (removes) state.delete(number);
      else state.set(number, stamp);
    }
  }
  return null;
}

test('a history of transactions is one of them after another', async () => {
  for (let seed = 1; seed <= 2; seed++) {
    const found = await history(`h${seed}`, seed, () => false);
    assert.equal(found.length, WORKERS * ROUNDS);
    assert.equal(contradiction(found), null, `seed ${seed}`);
  }
});

test('planted: a client that checks no ranges, or no entries, is found', async () => {
  assert.match(contradiction(await history('p1', 1, ({ digest }) => digest)), /a list/);
  assert.match(contradiction(await history('p2', 1, ({ key }) => key)), /the entry/);
});

test('no phantom and no write skew passes', async () => {
  const book = (made, name) => made.transaction(async (t) => {
    const seats = await all(t.list({ prefix: ['room', name] }));
    await gates[name].passed();
    if (seats.length < 1) t.set(['room', name, Math.random()], 1);
  });
  const leave = (made, name, doctor) => made.transaction(async (t) => {
    const doctors = await t.getMany([['duty', name, 0], ['duty', name, 1]]);
    await gates[name].passed();
    if (doctors.filter(({ value }) => value).length > 1) t.set(['duty', name, doctor], false);
  });
  const gates = {};
  const both = async (name, leavesOut, work) => {
    let waiting = 2;
    let open;
    const gate = new Promise((resolve) => { open = resolve; });
    gates[name] = { passed: () => { if (--waiting === 0) open(); return gate; } };
    await Promise.all([0, 1].map((doctor) => work(client(leavesOut).db, name, doctor)));
  };
  for (const [name, leavesOut, seats, onDuty] of [
    ['right', () => false, 1, 1],
    ['planted', ({ digest, key }) => digest || key, 2, 0],
  ]) {
    await both(name, leavesOut, book);
    assert.equal(await db.count({ prefix: ['room', name] }), seats);
    for (const doctor of [0, 1]) await db.put(['duty', name, doctor], true);
    await both(name, leavesOut, leave);
    const left = await all(db.list({ prefix: ['duty', name] }));
    assert.equal(left.filter(({ value }) => value).length, onDuty);
  }
});

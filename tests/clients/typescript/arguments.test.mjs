// Arguments that a program in plain JavaScript may get wrong: each is a TypeError that
// names the argument, and nothing is sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, kindex } from './lib.mjs';

const { connect } = kindex;
const db = connect('http://127.0.0.1:1', {
  retries: 0,
  fetch: () => assert.fail('a request was sent'),
});
const items = db.collection('items', { indexes: { byA: { fields: ['/a'] } } });
const key = ['a', 1];
const odd = { sgnal: null };

const refusals = {
  'a member of options that no method has': [
    [() => all(db.list({ prefix: ['a'], filter: [{ path: '/a', eq: 1 }] })), /^options has no member filter: there are /],
    [() => all(db.list({ prefx: ['a'] })), /no member prefx: there are .*prefix/],
    [() => db.get(key, odd), /^options has no member sgnal: there are signal, fields, expand$/],
    [() => db.getMany([key], odd), /^options has/],
    [() => db.put(key, 1, { TTL: '1m' }), /no member TTL: there are signal, ttl, expiresAt, versionstamp/],
    [() => db.patch(key, 1, odd), /^options has/],
    [() => db.delete(key, odd), /^options has/],
    [() => db.count({ prefix: ['a'], limit: 1 }), /^selection has no member limit/],
    [() => db.deleteRange({ prefix: ['a'], where: {} }), /^selection has no member where/],
    [() => db.watch([key], odd).next(), /^options has/],
    [() => db.watchPrefix(key, odd).next(), /^options has/],
    [() => db.watchIndex('i', odd).next(), /^options has/],
    [() => db.declareIndex({ name: 'i', prefix: key, fields: [] }, odd), /^options has/],
    [() => db.getIndex('i', odd), /^options has/],
    [() => db.dropIndex('i', odd), /^options has/],
    [() => db.applyIndexes(odd), /^options has/],
    [() => db.putByIndex('i', ['x'], 1, odd), /^options has/],
    [() => db.collection('x', { index: {} }), /^options has no member index: there are .*indexes/],
    [() => connect('http://x', { tokn: 'x' }), /^options has no member tokn: there are token/],
    [() => db.atomic().set(key, 1, { returns: 'new', expiresIn: 1 }), /^options has no member expiresIn/],
    [() => db.atomic().delete(key, { ttl: '1m' }), /^options has no member ttl: there are returns$/],
    [() => db.atomic().patch(key, 1, odd), /^options has/],
    [() => db.atomic().operations(key, [], odd), /^options has/],
    [() => db.atomic().sum(key, 1, { least: 0 }), /no member least/],
    [() => db.atomic().min(key, 1, { min: 0 }), /no member min/],
    [() => db.atomic().max(key, 1, odd), /^options has/],
    [() => db.atomic().touch(key, odd), /^options has/],
    [() => db.atomic().commit(odd), /^options has/],
    [() => db.atomic().delete({ index: 'i', values: ['x'] }), /^of has no member values: there are index, value/],
    [() => db.atomic().set(key, 1, { return: 'new' }), /^options has no member return: there are returns/],
    [() => db.atomic().dryRun(odd), /^options has/],
    [() => db.add(key, 1, odd), /^options has/],
    [() => db.get(key, { field: ['/a'] }), /^options has no member field: there are signal, fields, expand$/],
    [() => all(db.listRanges([], odd)), /^options has/],
    [() => all(db.listRanges([{ prefx: key }])), /^ranges\[0\] has no member prefx/],
    [() => all(db.children(odd)), /^options has/],
    [() => db.aggregate('i', { index: 'j' }), /^range has no member index/],
    [() => db.explain({ prefix: key }, odd), /^options has/],
    [() => db.explain({ prefix: key, filter: [] }), /^question has no member filter/],
    [() => db.bulk([], odd), /^options has/],
    [() => db.bulk([{ key, value: 1, type: 'sum' }]), /^entry has no member type/],
    [() => db.patchRange({ prefix: key, ops: [] }), /^options has no member ops/],
    [() => db.listIndexes(odd), /^options has/],
    [() => db.transaction(() => 1, { retries: 3 }), /^options has no member retries: there are signal, tries$/],
    [() => db.transaction((t) => all(t.list({ index: 'i' }))), /^options has no member index/],
    [() => db.migrateIndex('i', {}, odd), /^options has/],
    [() => db.planIndexes({ dry: true }), /^options has no member dry/],
    [() => db.applyIndexes({ dry: true }), /^options has no member dry/],
    [() => db.declareIndex({ name: 'i', prefix: key, field: [] }), /^declaration has no member field: there are /],
    [() => db.collection('x', { indexes: { byB: { fields: ['/b'], uniqe: true } } }), /^indexes.byB has no member uniqe/],
    [() => items.byA.aggregate('x', { index: 'i' }), /^options has no member index/],
    [() => items.list({ prefix: ['a'] }), /^options has no member prefix/],
    [() => items.count({ start: key }), /^options has no member start/],
    [() => items.get('a', odd), /^options has/],
    [() => items.put('a', 1, odd), /^options has/],
    [() => items.create('a', 1, odd), /^options has/],
    [() => items.update('a', () => 1, odd), /^options has/],
    [() => items.watch(odd).next(), /^options has/],
    [() => items.byA.list('x', { index: 'i' }), /^options has no member index/],
    [() => items.byA.get('x', { reverse: true }), /^options has no member reverse/],
    [() => items.byA.count('x', { reverse: true }), /^options has no member reverse/],
    [() => items.byA.upsert('x', { a: 1 }, { create: key }), /^options has no member create/],
  ],
  'options that are no object': [
    [() => all(db.list('a')), /^options is a string, not an object$/],
    [() => db.get(key, [1]), /^options is an Array, not an object$/],
    [() => db.put(key, 1, null), /^options is null, not an object$/],
  ],
  'what is no key': [
    [() => db.get('a'), /^key is a string, not an array of parts such as \["users", 1\]$/],
    [() => db.get(), /^key is undefined, not an array/],
    [() => db.getMany(key), /^keys\[0\] is a string, not an array/],
    [() => db.getMany('a'), /^keys is a string, not an array$/],
    [() => db.put('a', 1), /^key is a string/],
    [() => db.patch('a', 1), /^key is a string/],
    [() => db.delete('a'), /^key is a string/],
    [() => all(db.list({ prefix: 'a' })), /^prefix is a string/],
    [() => all(db.list({ start: 'a' })), /^start is a string/],
    [() => db.count({ end: 'a' }), /^end is a string/],
    [() => db.deleteRange({ prefix: 5 }), /^prefix is a number/],
    [() => db.watch('a').next(), /^keys is a string/],
    [() => db.watch([['a'], 'b']).next(), /^keys\[1\] is a string/],
    [() => db.watchPrefix('a').next(), /^prefix is a string/],
    [() => db.declareIndex({ name: 'i', prefix: 'a', fields: [] }), /^declaration.prefix is a string/],
    [() => db.declareIndex('i'), /^declaration is a string, not an object$/],
    [() => db.putByIndex('i', 'x', 1), /^values is a string/],
    [() => db.putByIndex('i', ['x'], 1, { create: 'a' }), /^create is a string/],
    [() => db.collection('x', { prefix: 'a' }), /^prefix is a string/],
    [() => db.collection(['x']), /^name is an Array, not a string$/],
    [() => db.atomic().set('a', 1), /^of is a string/],
    [() => db.atomic().set({ index: 'i', value: 'x' }, 1), /^of.value is a string/],
    [() => db.atomic().check({ of: 'a', versionstamp: null }), /^checks\[0\].of is a string/],
    [() => db.atomic().check({ key: ['a'], versionstamp: null }), /^checks\[0\].of is undefined/],
    [() => db.atomic().check({ prefix: 'a', none: true }), /^checks\[0\].prefix is a string/],
    [() => db.atomic().check('a'), /^checks\[0\] is a string, not an object$/],
    [() => db.get(['a', { b: 1 }]), /^key\[1\] is an Object; parts are strings, numbers, bigints, booleans and bytes$/],
    [() => db.get(['a', null]), /^key\[1\] is null/],
    [() => db.get(['a', undefined]), /^key\[1\] is undefined/],
    [() => db.get(['a', , 1]), /^key\[1\] is undefined/], // eslint-disable-line no-sparse-arrays
    [() => db.get(['a', new Date(0)]), /^key\[1\] is a Date/],
    [() => items.byA.get({}), /^values\[0\] is an Object/],
    [() => items.getMany('a'), /^ids is a string, not an array$/],
  ],
  'what is of another type': [
    [() => all(db.list({ limit: '5' })), /^limit is a string, not a number from 0 up$/],
    [() => all(db.list({ limit: NaN })), /^limit is NaN/],
    [() => all(db.list({ pageSize: 0 })), /^pageSize is 0, not a number from 1 up$/],
    [() => all(db.list({ fields: '/a' })), /^fields is a string, not an array$/],
    [() => db.get(key, { fields: '/a' }), /^fields is a string, not an array$/],
    [() => all(db.list({ in: 'a' })), /^in is a string, not an array$/],
    [() => all(db.list({ in: ['a'] })), /^in\[0\] is a string, not an array/],
    [() => all(db.list({ where: 'a' })), /^where is a string, not an object$/],
    [() => all(db.listRanges({ prefix: key })), /^ranges is an Object, not an array$/],
    [() => db.explain('a'), /^question is a string, not an object$/],
    [() => db.bulk([1]), /^entry is a number, not an object$/],
    [() => db.patchRange({ operations: {} }), /^operations is an Object, not an array$/],
    [() => db.transaction(() => 1, { tries: 0 }), /^tries is 0, not a number from 1 up$/],
    [() => db.transaction((t) => t.get('a')), /^keys\[0\] is a string/],
    [() => db.migrateIndex('i', 5), /^changes is a number, not an object$/],
    [() => db.applyIndexes({ declarations: {} }), /^declarations is an Object, not an array$/],
    [() => db.atomic().operations(key, { op: 'add' }), /^ops is an Object, not an array$/],
    [() => db.collection('x', { indexes: { byB: { fields: '/b' } } }), /^indexes.byB.fields is a string/],
    [() => db.collection('x', { indexes: { byB: { field: ['/b'] } } }), /^indexes.byB.fields is undefined/],
    [() => db.collection('x', { indexes: ['/b'] }), /^indexes is an Array, not an object$/],
  ],
};

for (const [name, cases] of Object.entries(refusals)) {
  test(`${name}: a TypeError names the argument`, async () => {
    for (const [call, message] of cases) {
      await assert.rejects(async () => call(), (error) => {
        assert.ok(error instanceof TypeError, `${call}: ${error}`);
        assert.match(error.message, message);
        return true;
      }, String(call));
    }
  });
}

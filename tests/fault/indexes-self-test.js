// Self test of the crash test's look at the indexes: each wrong entry, planted in
// what is expected or in what the server answers, must be found.
//
//   node indexes-self-test.js PROGRAM       the last line: N passed, N failed
'use strict';
const { DECLARATIONS, Declarer, indexes, verify } = require('./indexes.js');
const { Server } = require('./server.js');

const USERS = [
  ['u1', { email: 'ada@x', color: 'red', n: 1 }],
  ['u2', { email: 'bob@x', color: 'blue', n: 2 }],
  ['u3', { email: 'cleo@x', color: 'red', n: 3 }],
];
const server = new Server(process.argv[2]);

// A server whose answers to a request are changed on their way.
function tampered(target, change) {
  return { list: (prefix) => server.list(prefix),
    request: async (method, path, body) => {
      const reply = await server.request(method, path, body);
      if (path === target) change(reply.json);
      return reply;
    } };
}

// The same for the entries under a name.
function tamperedList(name, change) {
  return { request: (...all) => server.request(...all),
    list: async (prefix) => {
      const entries = await server.list(prefix);
      if (prefix[0] === name) change(entries);
      return entries;
    } };
}

function without(user) {
  return new Map(USERS.filter(([name]) => name !== user));
}

function changed(user, members) {
  return new Map(USERS.map(([name, value]) =>
    [name, name === user ? { ...value, ...members } : value]));
}

// Phrase, server, users, and what must be said.
const CASES = [
  ['nothing is planted', server, new Map(USERS), /^$/],
  ['an entry of a deleted user', server, without('u2'),
    /too many: \[\["by_email","bob@x"\],"u2"\]/],
  ['no entry of an existing user', server,
    new Map([...USERS, ['u4', { email: 'd@x', color: 'red', n: 4 }]]),
    /missing: \[\["by_color","red","u4"\],"u4"\]/],
  ['an entry under the old value', server, changed('u1', { email: 'new@x' }),
    /too many: \[\["by_email","ada@x"\].*missing: \[\["by_email","new@x"\]/],
  ['an old copy of the value', server, changed('u3', { color: 'green' }),
    /copy_by_n has 3 entries, 3 expected; .*"color":"red".*"color":"green"/],
  ['a pointer to another user',
    tamperedList('by_email', (entries) => { entries[0].value = 'u2'; }),
    new Map(USERS), /too many: \[\["by_email","ada@x"\],"u2"\]/],
  ['an entry that comes twice',
    tamperedList('by_color', (entries) => entries.push(entries[0])),
    new Map(USERS), /by_color has 4 entries, 3 expected/],
  ['entries of an index that is not there',
    tampered('/indexes', (json) => json.indexes.shift()), new Map(USERS),
    /has 3 entries, 0 expected/],
  ['a wrong count',
    tampered('/indexes', (json) => { json.indexes[1].entries++; }),
    new Map(USERS), /by_email counts 4 entries, has 3/],
  ['an index that failed',
    tampered('/indexes', (json) => { json.indexes[2].state = 'failed'; }),
    new Map(USERS), /copy_by_n is failed/],
];

// What a declarer that declared by_color says of the indexes that are there.
const CHANGES = [
  ['the index is there', ['by_color'], /^$/],
  ['a declaration is lost', [], /by_color was acknowledged, but is not there/],
  ['a drop is lost', ['by_color', 'copy_by_n'], /copy_by_n is there, though/],
];

async function main() {
  const declarer = new Declarer();
  const results = [];
  const look = (phrase, said, expected) => {
    const isRight = expected.test(said);
    results.push(isRight);
    if (!isRight) console.log(`${phrase}: said "${said}", not ${expected}`);
  };
  await server.start();
  for (const [user, value] of USERS)
    await server.request('PUT', `/kv/users/${user}`, value);
  for (const declaration of DECLARATIONS)
    await declarer.change(server, declaration, true);
  for (const [phrase, from, users, expected] of CASES)
    look(phrase, (await verify(from, users)).join('\n'), expected);
  look('all are there', declarer.settle(
    (await indexes(server)).map(({ name }) => name)).join('\n'), /^$/);
  for (const [phrase, names, expected] of CHANGES) {
    declarer.settle(['by_color']);
    look(phrase, declarer.settle(names).join('\n'), expected);
  }
  await server.kill('SIGTERM');
  const passed = results.filter((isRight) => isRight).length;
  console.log(`${passed} passed, ${results.length - passed} failed`);
  process.exit(passed === results.length ? 0 : 1);
}

main().catch((error) => {
  console.log(error, server.lastWords());
  console.log('0 passed, 1 failed');
  process.exit(1);
});

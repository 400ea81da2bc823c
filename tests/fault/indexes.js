// The declared indexes of the crash test: one that is always there, and two that
// are declared and dropped all the time; and what each must hold.
'use strict';

const DECLARATIONS = [
  { name: 'by_email', prefix: ['users'], fields: ['/email'], unique: true },
  { name: 'by_color', prefix: ['users'], fields: ['/color'] },
  { name: 'copy_by_n', prefix: ['users'], fields: ['/n'], store: 'value' },
];

// Declares and drops the last two until the connection breaks.
async function churn(server, random, until) {
  try {
    while (!until.stopped) {
      const declaration = DECLARATIONS[1 + random(2)];
      const reply = random(2) === 0
        ? await server.request('POST', '/indexes', declaration)
        : await server.request('DELETE', `/indexes/${declaration.name}`);
      if (![200, 201, 202, 204, 404].includes(reply.status))
        throw new Error(`index change: ${reply.status} ${reply.text}`);
      await new Promise((resolve) => setTimeout(resolve, random(20)));
    }
  } catch (error) {
    if (!until.stopped) throw error;
  }
}

// Waits until no index is building.
async function built(server) {
  for (;;) {
    const { json } = await server.request('GET', '/indexes');
    if (json.indexes.every((index) => index.state !== 'building'))
      return json.indexes;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function expected(declaration, users) {
  const lines = [];
  for (const [user, value] of users) {
    const field = value[declaration.fields[0].slice(1)];
    const key = [declaration.name, field];
    if (!declaration.unique) key.push(user);
    const held = declaration.store === 'value' ? value : user;
    lines.push(JSON.stringify([key, held]));
  }
  return lines.sort();
}

// Compares each index with the users, in both directions. Returns what is wrong.
async function verify(server, users) {
  const wrong = [];
  const there = await built(server);
  for (const declaration of DECLARATIONS) {
    const index = there.find(({ name }) => name === declaration.name);
    const have = (await server.list([declaration.name]))
      .map(({ key, value }) => JSON.stringify([key, value])).sort();
    const want = index === undefined ? [] : expected(declaration, users);
    if (index !== undefined && index.state !== 'ready')
      wrong.push(`${declaration.name} is ${index.state}: ${index.failure}`);
    if (JSON.stringify(have) !== JSON.stringify(want))
      wrong.push(`${declaration.name} has ${have.length} entries, ` +
        `${want.length} expected; first difference ` +
        `${have.find((line) => !want.includes(line))} / ` +
        `${want.find((line) => !have.includes(line))}`);
    if (index !== undefined && index.entries !== have.length)
      wrong.push(`${declaration.name} counts ${index.entries} entries, ` +
        `has ${have.length}`);
  }
  return wrong;
}

module.exports = { DECLARATIONS, churn, verify };

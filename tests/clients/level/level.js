// Compares what HTTP offers with what the clients have, by the requests that their tests
// have sent: each operation, and each of its parts (parameters, members of bodies, media
// types), was sent by a client, or the table says why not.
//
//   node level.js OPENAPI.json TABLE.md NAME=REQUESTS,METHODS...
//
// REQUESTS is a file that record.js wrote, METHODS has the name of a method on each line.
'use strict';

const fs = require('node:fs');
const document = require('../../openapi/document.js');

const [openapi, table, ...given] = process.argv.slice(2);
const doc = document.load(openapi);
const all = document.operations(doc);
const described = all.filter(({ aliasOf }) => !aliasOf);
const lines = (file) => fs.readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
let passed = 0;
let failed = 0;

function check(holds, name) {
  if (holds) passed += 1;
  else failed += 1;
  if (!holds) console.log(`FAILED ${name}`);
}

// What a client hands on as it is: values, keys, and conditions.
const WHOLE = new RegExp('/(Value|Typed|Key|KeyPrefix|KeyBound|Operand|IndexOperand|Bound|' +
  'IndexCondition|QuestionCondition|Operations)$');

/** The paths of all members that a schema describes, such as `checks.where`. */
function membersOf(schema, path = '') {
  if (schema.$ref && WHOLE.test(schema.$ref)) return [];
  const { properties = {}, items, allOf = [], oneOf = [] } = document.resolve(doc, schema);
  const within = Object.entries(properties).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const kind = name === 'type' && document.resolve(doc, member).const;
    return [kind ? `${at}=${kind}` : at, ...membersOf(member, at)];
  });
  const others = [...allOf, ...oneOf].flatMap((one) => membersOf(one, path));
  return [...within, ...others, ...(items ? membersOf(items, path) : [])];
}

function partsOf({ operation, path }) {
  const item = doc.paths[path];
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
    .map((one) => document.resolve(doc, one))
    .filter((one) => one.in !== 'path');
  const { content = {} } = document.resolve(doc, operation.requestBody ?? {});
  const bodies = Object.values(content).flatMap(({ schema = {} }) =>
    membersOf(schema.contentSchema ?? schema));
  const media = Object.keys(content).length > 1 ? Object.keys(content) : [];
  return new Set([...parameters.map(({ name }) => name), ...bodies, ...media]);
}

/** The paths of all members that a body has, as membersOf names them. */
function sentMembers(body, path = '') {
  if (Array.isArray(body)) return body.flatMap((one) => sentMembers(one, path));
  if (body === null || typeof body !== 'object') return [];
  return Object.entries(body).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [at, `${at}=${member}`, ...sentMembers(member, at)];
  });
}

function bodiesOf(text, type) {
  try {
    return type === 'application/x-ndjson'
      ? text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line))
      : [JSON.parse(text)];
  } catch {
    return []; // such as no body, or one that a test has made wrong
  }
}

/** What was sent: a set of parts for the name of each operation. */
function sentOperations(file) {
  const found = new Map();
  for (const { method, target, headers, body } of lines(file).map((line) => JSON.parse(line))) {
    const operation = document.find(all, method, target);
    if (!operation) continue;
    const id = operation.aliasOf ?? operation.id;
    if (!found.has(id)) found.set(id, new Set());
    const type = headers['content-type']?.split(';')[0];
    const query = new URL(target, 'http://x').searchParams;
    const parts = [...query.keys(), ...Object.keys(headers).map((name) => name.toLowerCase()), type,
      ...bodiesOf(body, type).flatMap((one) => sentMembers(one))];
    for (const part of parts) found.get(id).add(part);
  }
  return found;
}

/** The rows of a table of the document, which begins with these columns. */
function rowsOf(...columns) {
  const head = `| ${columns.join(' | ')} |`;
  const text = fs.readFileSync(table, 'utf8').split('\n');
  const rows = [];
  for (let i = text.indexOf(head) + 2; i > 1 && text[i]?.startsWith('| '); i++) {
    rows.push(text[i].split('|').slice(1, -1).map((cell) => cell.trim()));
  }
  check(rows.length > 0, `${table} has no table ${head}`);
  return rows;
}

const named = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
const isWithin = (part, whole) =>
  part === whole || part.startsWith(`${whole}.`) || part.startsWith(`${whole}=`);
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const clients = given.map((one) => {
  const [name, requests, methods] = one.split(/[=,]/);
  return { name, sent: sentOperations(requests), methods: new Set(lines(methods)) };
});
const rows = rowsOf('operation', ...clients.map(({ name }) => name));
const left = new Map();
for (const [id, parts] of rowsOf('operation', 'what no client sends', 'because')) {
  left.set(id, [...left.get(id) ?? [], ...named(parts)]);
}
const alone = rowsOf('method', 'only in', 'because');

const wanted = described.map(({ method, path, id }) => `\`${method} ${path}\` ${id}`);
const there = rows.map(([operation]) => operation);
for (const row of wanted) check(there.includes(row), `the table has no row | ${row} |`);
for (const row of there) check(wanted.includes(row), `openapi.yaml has no operation ${row}`);
check(there.join() === wanted.filter((row) => there.includes(row)).join(),
  'the rows are in the order of openapi.yaml');

for (const [operation, ...cells] of rows) {
  const id = operation.split(' ').pop();
  const described1 = described.find((one) => one.id === id);
  if (!described1) continue;
  for (const [i, cell] of cells.entries()) {
    const { name, sent, methods } = clients[i];
    const [, by] = /` by (\w+)$/.exec(cell) ?? [];
    if (cell.startsWith('not: ')) {
      check(cell.length > 'not: '.length, `${name}: the reason why there is no ${id}`);
      check(!sent.has(id), `${name} has sent ${id}, which the table says it does not have`);
      continue;
    }
    check(named(cell).length > 0, `${name}: the methods of ${id}`);
    for (const method of named(cell)) check(methods.has(method), `${name} has a method ${method}`);
    check(sent.has(by ?? id), `a test of ${name} sends ${by ?? id}`);
    if (by || !sent.has(id)) continue;
    for (const part of partsOf(described1)) {
      const is = sent.get(id).has(part) || sent.get(id).has(part.toLowerCase());
      const omitted = left.get(id)?.some((one) => isWithin(part, one)) ?? false;
      check(is !== omitted, `${name} ${is ? 'sends' : 'never sends'} ${part} of ${id}`);
    }
  }
}
for (const [id, parts] of left) {
  const one = described.find((operation) => operation.id === id);
  for (const part of parts) {
    const is = one && [...partsOf(one)].some((its) => isWithin(its, part));
    check(is, `${id} has a part ${part}`);
  }
}

const [first, second] = clients;
const exempt = (method, name) => alone.some(([one, place]) => named(one).includes(method) && place === name);
for (const method of first.methods) {
  check(second.methods.has(snake(method)) !== exempt(method, first.name), `${method} of ${first.name} alone`);
}
const snaked = new Set([...first.methods].map(snake));
for (const method of second.methods) {
  check(snaked.has(method) !== exempt(method, second.name), `${method} of ${second.name} alone`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;

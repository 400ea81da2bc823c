// Checks recorded answers of the server against openapi.yaml. The HTTP tests
// record one JSON object per line when KX_RECORD names a file:
//
//   {"operationId": "getEntry", "status": 200,
//    "contentType": "application/json", "body": "..."}
//
// Instead of operationId a line may have "method" and "target" (path and
// query); a body that is no text is left out or comes as "bodyBase64". "headers"
// are the names of the answer's headers.
//
//   node responses.js OPENAPI FILE...       checks the lines of the files
//   node responses.js OPENAPI --self-test   plants wrong answers
'use strict';

const fs = require('node:fs');
const Ajv = require('ajv/dist/2020');
const document = require('./document.js');

const PROBLEM = 'application/problem+json';
const NDJSON = 'application/x-ndjson';
const KEYWORDS = ['components', 'discriminator'];
const SHARED = 'shared';

// What belongs to the message, what any answer may have by the document's
// introduction, and what browsers are told.
const GENERAL = new Set(['date', 'connection', 'content-length', 'content-type',
  'transfer-encoding', 'x-request-id', 'server-timing', 'ratelimit',
  'ratelimit-policy', 'kindex-node', 'kindex-at',
  'access-control-allow-origin',
  'access-control-expose-headers', 'cross-origin-resource-policy', 'vary',
  'content-encoding',
  'x-content-type-options', 'content-security-policy']);

// Of a standby with --forward redirect, by the document's introduction.
const REDIRECT = { headers: { Location: {}, 'Cache-Control': {} } };

// A client must ignore members that it does not know, so the document leaves
// answers open. The tests do not: a member that is not described is a finding.
function close(doc) {
  const closed = structuredClone(doc);
  document.walk(closed.components.schemas, (node) => {
    if (
      node.type === 'object' &&
      node.properties &&
      node.additionalProperties === undefined
    ) {
      node.additionalProperties = false;
    }
  });
  return closed;
}

function makeValidator(doc) {
  const ajv = new Ajv({ strict: true, allErrors: false, strictRequired: false,
    strictTypes: false, validateFormats: false });
  ajv.addVocabulary(KEYWORDS);
  const extensions = new Set();
  document.walk(doc, (node) => {
    for (const name of Object.keys(node)) {
      if (name.startsWith('x-')) extensions.add(name);
    }
  });
  ajv.addVocabulary([...extensions]);
  // What the schemas share is compiled once, under a separate name.
  ajv.addSchema({ $id: SHARED,
    components: { schemas: doc.components.schemas } });
  const compiled = new Map();
  return (schema, value) => {
    if (!compiled.has(schema)) {
      const named = structuredClone(schema);
      document.walk(named, (node) => {
        if (typeof node.$ref === 'string') node.$ref = SHARED + node.$ref;
      });
      compiled.set(schema, ajv.compile(named));
    }
    const validate = compiled.get(schema);
    return validate(value)
      ? []
      : [ajv.errorsText(validate.errors, { dataVar: 'body' })];
  };
}

function mediaOf(content, type) {
  return content[type] || content['*/*'];
}

function checker(doc) {
  const closed = close(doc);
  const list = document.operations(closed);
  const byId = new Map(list.map((entry) => [entry.id, entry]));
  const validate = makeValidator(closed);

  function checkText(schema, type, text) {
    if (type === NDJSON) {
      return text
        .split('\n')
        .filter((line) => line !== '')
        .flatMap((line) => validate(schema.contentSchema, JSON.parse(line)));
    }
    if (!/[/+]json$/.test(type)) return [];
    const value = JSON.parse(text);
    const found = validate(schema, value);
    if (type === PROBLEM && found.length === 0) {
      const statuses = closed.components.schemas.ProblemCode['x-statuses'];
      if (value.status !== statuses[value.code]) {
        found.push(`${value.code} has status ${value.status}`);
      }
    }
    return found;
  }

  function checkBody(answer, response, line) {
    const type = (line.contentType || '').split(';')[0].trim().toLowerCase();
    const text = line.body ?? '';
    const empty = text === '' && !line.bodyBase64;
    const content = response.content;
    // curl shows the headers in place of the body that HEAD does not have.
    if (line.method === 'HEAD') {
      return !content || mediaOf(content, type) ? [] : [`media type ${type}`];
    }
    if (!content) {
      return empty ? [] : [`a body where none is described: ${text}`];
    }
    const media = mediaOf(content, type);
    if (!media) return [`the media type ${type || '(none)'} is not described`];
    if (line.bodyBase64) return [];
    const found = checkText(media.schema, type, text);
    if (type === PROBLEM && JSON.parse(text).status !== line.status) {
      found.push(`the body says status ${JSON.parse(text).status}`);
    }
    return found;
  }

  function checkHeaders(response, names = []) {
    const known = Object.keys(response.headers ?? {});
    const described = new Set(known.map((name) => name.toLowerCase()));
    return names
      .map((name) => name.toLowerCase())
      .filter((name) => !GENERAL.has(name) && !described.has(name))
      .map((name) => `the header ${name} is not described`);
  }

  // A Deno program may open the store by any path: the exchange of metadata is
  // answered wherever there is nothing else.
  function exchange({ method, status }) {
    return method === 'POST' && status === 200
      ? byId.get('exchangeMetadata') : undefined;
  }

  // What is wrong with a recorded answer: an array of texts.
  return function check(line) {
    const entry = line.operationId
      ? byId.get(line.operationId)
      : document.find(list, line.method, line.target) ?? exchange(line);
    if (!entry && line.operationId) return ['no such operation'];
    // What no route takes is still answered with a problem.
    const responses = entry
      ? entry.operation.responses
      : { default: closed.components.responses.Failure };
    if (!entry && line.method === 'OPTIONS' && line.status === 204) return [];
    if (line.status === 307) return checkHeaders(REDIRECT, line.headers);
    const described = responses[String(line.status)];
    const response = document.resolve(closed, described || responses.default);
    if (!described && line.status < 400) {
      return [`the status ${line.status} is not described`];
    }
    const found = checkHeaders(response, line.headers);
    try {
      return [...found, ...checkBody(entry, response, line)];
    } catch (error) {
      return [`the body is not JSON: ${error.message}`];
    }
  };
}

function readLines(file) {
  return fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

function nameOf(line) {
  return `${line.operationId || `${line.method} ${line.target}`} ${line.status}`;
}

function checkFiles(doc, files) {
  const check = checker(doc);
  let passed = 0;
  let failed = 0;
  for (const line of files.flatMap(readLines)) {
    const found = check(line);
    if (found.length === 0) passed++;
    else failed++;
    for (const text of found) {
      console.log(`FAILED ${nameOf(line)}: ${text}`);
      console.log(`       ${String(line.body).slice(0, 300)}`);
    }
  }
  return [passed, failed];
}

const STAMP = '00000000000000030000';
const problem = (status, code, more = {}) =>
  JSON.stringify({ type: `/problems/${code}`, title: 't', status, code,
    detail: 'd', hint: 'h', ...more });
const answer = (operationId, status, contentType, body, more = {}) => ({
  operationId, status, contentType,
  body: typeof body === 'object' ? JSON.stringify(body) : body, ...more });
const JSON_TYPE = 'application/json';

// What must pass, and what must not.
const GOOD = [
  { method: 'GET', target: '/kv/b', status: 307, headers: ['Location', 'Cache-Control'] },
  answer('getEntry', 200, JSON_TYPE, { any: [1] }),
  answer('getEntry', 200, 'image/png', '', { bodyBase64: 'iVBORw0KGgo' }),
  answer('getEntry', 304, '', ''),
  answer('getEntry', 404, PROBLEM, problem(404, 'key-not-found')),
  answer('getEntry', 503, PROBLEM, problem(503, 'overloaded')),
  answer('putEntry', 201, JSON_TYPE, { ok: true, versionstamp: STAMP }),
  answer('listEntries', 200, JSON_TYPE, { cursor: null,
    entries: [{ key: ['a', 1], value: null, versionstamp: STAMP }] }),
  answer('listEntries', 200, NDJSON,
    `{"key":["a"],"value":1,"versionstamp":"${STAMP}"}\n` +
      '{"end":true,"count":1}\n'),
  { ...answer('', 404, PROBLEM, problem(404, 'not-found')),
    method: 'GET', target: '/nothing' },
  { ...answer('', 200, JSON_TYPE, { count: 1 }),
    method: 'GET', target: '/count?prefix=a' },
  { ...answer('', 200, JSON_TYPE, ''), method: 'HEAD', target: '/kv/a/b' },
  { ...answer('', 304, '', 'HTTP/1.1'), method: 'HEAD', target: '/kv/a/b' },
  answer('getEntry', 304, '', '', { headers: ['Date', 'etag', 'X-Request-Id'] }),
  answer('putEntry', 503, PROBLEM, problem(503, 'overloaded'),
    { headers: ['Retry-After'] }),
];
const BAD = [
  { method: 'GET', target: '/kv/b', status: 307, headers: ['Location', 'X-Other'] },
  { method: 'GET', target: '/kv/b', status: 302, headers: ['Location'] },
  answer('getNothing', 200, JSON_TYPE, {}),
  answer('getEntry', 200, JSON_TYPE, '{"a":'),
  answer('getEntry', 206, JSON_TYPE, {}),
  answer('getEntry', 304, JSON_TYPE, { a: 1 }),
  answer('getEntry', 404, JSON_TYPE, problem(404, 'key-not-found')),
  answer('getEntry', 404, PROBLEM, problem(404, 'no-such-code')),
  answer('getEntry', 404, PROBLEM, problem(404, 'bad-key')),
  answer('getEntry', 400, PROBLEM, problem(404, 'key-not-found')),
  answer('getEntry', 404, PROBLEM, problem(404, 'key-not-found', { new: 1 })),
  answer('commitAtomic', 200, JSON_TYPE, { ok: true }),
  answer('commitAtomic', 200, JSON_TYPE, { ok: false, versionstamp: STAMP }),
  answer('commitAtomic', 200, JSON_TYPE, { ok: true, versionstamp: 'A' }),
  answer('commitAtomic', 200, JSON_TYPE, { ok: true, versionstamp: STAMP, n: 1 }),
  answer('listEntries', 200, JSON_TYPE, { entries: [], cursor: 1 }),
  answer('listEntries', 200, JSON_TYPE, { cursor: null,
    entries: [{ key: [], value: null, versionstamp: STAMP }] }),
  answer('listEntries', 200, JSON_TYPE, { cursor: null,
    entries: [{ key: ['a'], value: 1, typed: { type: 'Date' },
      versionstamp: STAMP }] }),
  answer('listEntries', 200, NDJSON, '{"key":["a"]}\n'),
  { ...answer('', 200, JSON_TYPE, { count: '1' }),
    method: 'GET', target: '/count?prefix=a' },
  { ...answer('', 200, JSON_TYPE, {}), method: 'GET', target: '/nothing' },
  { ...answer('', 404, JSON_TYPE, ''), method: 'HEAD', target: '/kv/a/b' },
  answer('getEntry', 404, PROBLEM, problem(404, 'key-not-found'),
    { headers: ['Date', 'Retry-After'] }),
];

function selfTest(doc) {
  const check = checker(doc);
  let passed = 0;
  let failed = 0;
  const expect = (lines, good) => {
    for (const line of lines) {
      const found = check(line);
      if ((found.length === 0) === good) {
        passed++;
      } else {
        failed++;
        console.log(`FAILED ${good ? 'refused' : 'taken'}: ` +
          `${JSON.stringify(line)} ${found.join('; ')}`);
      }
    }
  };
  expect(GOOD, true);
  expect(BAD, false);
  return [passed, failed];
}

function main() {
  const [file, ...rest] = process.argv.slice(2);
  const doc = document.load(file);
  const [passed, failed] =
    rest[0] === '--self-test' ? selfTest(doc) : checkFiles(doc, rest);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

if (require.main === module) main();
module.exports = { checker };

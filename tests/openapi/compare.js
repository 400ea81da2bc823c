// Compares openapi.yaml with the program, both ways: routes, problem codes
// and limits. With --self-test it plants differences, each of which must be
// found.
//
//   node compare.js OPENAPI KINDEX SRC [--self-test]
'use strict';

const fs = require('node:fs');
const { execFileSync } = require('node:child_process');
const document = require('./document.js');

// A client cannot pass these limits: they are sizes of buffers.
const NOT_SHOWN = ['detail-max', 'idempotency-key-max'];

const LIMIT_KEYWORDS =
  /^(maxItems|maxProperties|maxLength|maximum|x-maxBytes|x-maxDepth|x-maxDigits|x-maxElements|x-maxUnits)$/;

function lines(text) {
  return text.split('\n').filter((line) => line !== '');
}

// Everything that is compared, so that the self test can change it.
function readAll(file, program, src) {
  const run = (flag) =>
    execFileSync(program, ['serve', flag], { encoding: 'utf8' });
  return {
    doc: document.load(file),
    routes: lines(run('--print-routes')),
    problems: lines(run('--print-problems')),
    door: fs.readFileSync(`${src}/kindex.h`, 'utf8'),
    limitHeader: fs.readFileSync(`${src}/kindex/limit.h`, 'utf8'),
  };
}

function difference(here, there, say) {
  const other = new Set(there);
  return here.filter((item) => !other.has(item)).map(say);
}

function bothWays(program, doc, what) {
  return [
    ...difference(program, doc, (x) => `${what} only in the program: ${x}`),
    ...difference(doc, program, (x) => `${what} only in the document: ${x}`),
  ];
}

function compareRoutes({ doc, routes }) {
  const described = document
    .operations(doc)
    .filter((entry) => !entry.aliasOf)
    .map((entry) => `${entry.method} ${entry.pattern} ${entry.id}`);
  return bothWays(routes, described, 'route');
}

// ?key= is described for every path that ends in a key.
function compareAliases({ doc }) {
  const all = document.operations(doc);
  const described = all
    .filter((entry) => entry.aliasOf)
    .map((entry) => `${entry.method} ${entry.path} ${entry.aliasOf}`);
  const needed = all
    .filter((entry) => entry.pattern.endsWith('/...'))
    .map((e) => `${e.method} ${e.pattern.slice(0, -4)} ${e.id}`);
  return [
    ...difference(needed, described, (x) => `no alias with ?key=: ${x}`),
    ...difference(described, needed, (x) => `alias of nothing: ${x}`),
  ];
}

function compareIdentifiers({ doc }) {
  const ids = document.operations(doc).map((entry) => entry.id);
  return ids
    .filter((id, i) => ids.indexOf(id) !== i)
    .map((id) => `operationId used twice: ${id}`);
}

function compareProblems({ doc, problems }) {
  const { enum: codes, 'x-statuses': statuses } =
    doc.components.schemas.ProblemCode;
  const described = codes.map((code) => `${statuses[code]} ${code}`);
  return [
    ...bothWays(problems, described, 'problem'),
    ...difference(Object.keys(statuses), codes, (x) => `status of no code: ${x}`),
  ];
}

// Every code has an example, and every example the status of its code and of
// the place where it stands.
function compareProblemExamples({ doc }) {
  const { enum: codes, 'x-statuses': statuses } =
    doc.components.schemas.ProblemCode;
  const found = [];
  const shown = new Set();
  const visit = (status, response) => {
    const content = document.resolve(doc, response).content || {};
    const examples = (content['application/problem+json'] || {}).examples;
    for (const [name, { value }] of Object.entries(examples || {})) {
      shown.add(name);
      const place = status === 'default' ? value.status : Number(status);
      if (
        value.code !== name ||
        value.type !== `/problems/${name}` ||
        value.status !== statuses[name] ||
        value.status !== place
      ) {
        found.push(`the example ${name} of ${status} does not fit`);
      }
    }
  };
  for (const { operation } of document.operations(doc)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      visit(status, response);
    }
  }
  return [
    ...new Set(found),
    ...difference(codes, [...shown], (x) => `no example of problem ${x}`),
  ];
}

// "KX_PAGE_MAX = 1000" and "#define KX_VALUE_MAX_DEFAULT (1u << 20)".
function limitsOf(header) {
  const body = /enum kx_limit \{([^}]*)\}/.exec(header)[1];
  const limits = new Map();
  const add = (name, value) =>
    limits.set(name.toLowerCase().replace(/_/g, '-'), value);
  for (const [, name, value] of body.matchAll(/KX_(\w+) = (\d+)/g)) {
    add(name, Number(value));
  }
  const sizes = /#define KX_(\w+_DEFAULT) \(1u << (\d+)\)/g;
  for (const [, name, shift] of header.matchAll(sizes)) {
    add(name, 2 ** Number(shift));
  }
  for (const name of NOT_SHOWN) limits.delete(name);
  return limits;
}

// "x-limit": {"maxItems": "page-max"} says which limit the keyword repeats.
function compareLimits({ doc, limitHeader }) {
  const limits = limitsOf(limitHeader);
  const found = [];
  const shown = new Set();
  document.walk(doc, (node, pointer) => {
    for (const [keyword, name] of Object.entries(node['x-limit'] || {})) {
      shown.add(name);
      if (!LIMIT_KEYWORDS.test(keyword) || node[keyword] !== limits.get(name)) {
        found.push(
          `${pointer}: ${keyword} is ${node[keyword]}, ` +
            `${name} is ${limits.get(name)}`,
        );
      }
    }
  });
  return [
    ...found,
    ...difference([...limits.keys()], [...shown], (x) => `limit not shown: ${x}`),
  ];
}

function compareVersion({ doc, door }) {
  const version = /#define KX_VERSION "(.*)"/.exec(door)[1];
  return doc.info.version === version
    ? []
    : [`the version is ${version}, the document says ${doc.info.version}`];
}

// A command and the example with its label show the same body.
function compareCommands({ doc }) {
  const found = [];
  for (const { id, operation } of document.operations(doc)) {
    const content = (operation.requestBody || {}).content || {};
    const labels = new Set();
    for (const { label, source } of operation['x-codeSamples']) {
      labels.add(label);
      const { body } = document.readCommand(source);
      for (const { examples } of Object.values(content)) {
        const example = (examples || {})[label];
        if (!example) continue;
        const value =
          typeof example.value === 'string'
            ? example.value
            : JSON.stringify(example.value);
        if (value !== body) found.push(`${id}: ${label} shows another body`);
      }
    }
    const shown = Object.values(content).flatMap((media) =>
      Object.keys(media.examples || {}),
    );
    found.push(
      ...difference(shown, [...labels], (x) => `${id}: no command for ${x}`),
    );
  }
  return found;
}

const CHECKS = [
  ['routes', compareRoutes],
  ['addresses with ?key=', compareAliases],
  ['operation identifiers', compareIdentifiers],
  ['problem codes and statuses', compareProblems],
  ['examples of problems', compareProblemExamples],
  ['limits', compareLimits],
  ['version', compareVersion],
  ['commands and examples', compareCommands],
];

// Each plants one difference; the named check must find it.
const PLANTS = [
  ['routes', 'a route is added', (all) => all.routes.push('GET /new getNew')],
  ['routes', 'a route is missing', (all) => all.routes.pop()],
  ['routes', 'an operation has another name', (all) => {
    all.doc.paths['/list'].get.operationId = 'listAll';
  }],
  ['routes', 'a parameter takes one segment only', (all) => {
    delete all.doc.components.parameters.Key['x-multi-segment'];
  }],
  ['addresses with ?key=', 'an alias is missing', (all) => {
    delete all.doc.paths['/kv'].put;
  }],
  ['addresses with ?key=', 'an alias of nothing', (all) => {
    all.doc.paths['/count'].get['x-alias-of'] = 'getEntry';
  }],
  ['operation identifiers', 'an identifier is used twice', (all) => {
    all.doc.paths['/count'].get.operationId = 'getEntry';
  }],
  ['problem codes and statuses', 'a code is added', (all) =>
    all.problems.push('418 teapot')],
  ['problem codes and statuses', 'a code is missing', (all) =>
    all.problems.pop()],
  ['problem codes and statuses', 'a status differs', (all) => {
    all.doc.components.schemas.ProblemCode['x-statuses']['bad-key'] = 422;
  }],
  ['examples of problems', 'an example is missing', (all) => {
    const { content } = all.doc.components.responses.PreconditionFailed;
    content['application/problem+json'].examples = {};
  }],
  ['examples of problems', 'an example has another status', (all) => {
    const { content } = all.doc.components.responses.PreconditionFailed;
    const { examples } = content['application/problem+json'];
    examples['precondition-failed'].value.status = 409;
  }],
  ['limits', 'a limit of the program differs', (all) => {
    all.limitHeader =
      all.limitHeader.replace('KX_PAGE_MAX = 1000', 'KX_PAGE_MAX = 999');
  }],
  ['limits', 'a limit of the document differs', (all) => {
    all.doc.components.schemas.AtomicRequest.properties.checks.maxItems = 10;
  }],
  ['limits', 'a limit is added', (all) => {
    all.limitHeader =
      all.limitHeader.replace('KX_PAGE_MAX', 'KX_NEW_MAX = 1, KX_PAGE_MAX');
  }],
  ['version', 'the version differs', (all) => {
    all.doc.info.version = '0.0.0';
  }],
  ['commands and examples', 'a command sends something else', (all) => {
    const [sample] = all.doc.paths['/atomic'].post['x-codeSamples'];
    sample.source = sample.source.replace('"ok"', '').replace('users', 'user');
  }],
  ['commands and examples', 'an example has no command', (all) => {
    all.doc.paths['/atomic'].post['x-codeSamples'] = [];
  }],
];

function report(name, found, passed) {
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name}`);
  for (const line of found) console.log(`       ${line}`);
  return passed;
}

function compare(all) {
  return CHECKS.map(([name, check]) => {
    const found = check(all);
    return report(name, found, found.length === 0);
  });
}

function selfTest(all) {
  return PLANTS.map(([name, what, plant]) => {
    const copy = structuredClone(all);
    plant(copy);
    const check = CHECKS.find(([other]) => other === name)[1];
    const found = check(copy).length > 0 && check(all).length === 0;
    return report(`${name}: ${what}`, [], found);
  });
}

function main() {
  const [file, program, src, mode] = process.argv.slice(2);
  const all = readAll(file, program, src);
  const results = mode === '--self-test' ? selfTest(all) : compare(all);
  const passed = results.filter(Boolean).length;
  const failed = results.length - passed;
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

main();

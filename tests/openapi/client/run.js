// Makes a client from openapi.yaml with a generator (oazapfts, which makes a function of
// each operation), compiles it under strict TypeScript, and runs the tour with it
// against a server. Then plants faults in the tour and in the document, each of which
// must be found.
//
//   node run.js OPENAPI KINDEX
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const document = require('../document.js');
const { withServer } = require('../../lib/serve.js');

const modules = path.join(__dirname, '../node_modules');
const made = path.join(__dirname, 'made');
const js = path.join(made, 'js');
const project = path.join(__dirname, 'tsconfig.json');
const input = path.join(made, 'openapi.json');

// Both return what is wrong, or null.
function run(...words) {
  try {
    execFileSync(process.execPath, words, { cwd: __dirname,
      stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8', timeout: 300000 });
    return null;
  } catch (error) {
    return `${error.stdout}${error.stderr}`.trim() || String(error);
  }
}

function compile(doc) {
  fs.rmSync(made, { recursive: true, force: true });
  fs.mkdirSync(made);
  fs.writeFileSync(input, JSON.stringify(doc));
  return run(path.join(modules, 'oazapfts/dist/cli.js'), input, path.join(made, 'api.ts'))
    ?? run(path.join(modules, 'typescript/bin/tsc'), '--project', project);
}

async function travel(program) {
  const script = `require('${js}/tour.js').tour(
    require('${js}/calls.js').calls(process.argv[1]))
    .catch((error) => { console.error(error); process.exit(1); });`;
  return withServer(program, async (base) => run('-e', script, base));
}

const counts = { passed: 0, failed: 0 };

function report(name, fault) {
  counts[fault === null ? 'passed' : 'failed'] += 1;
  if (fault !== null) console.log(`FAILED ${name}: ${fault}`);
}

// A tour that compiles, and that must fail.
async function plantInTour(program, from, to) {
  const tour = path.join(js, 'tour.js');
  const text = fs.readFileSync(tour, 'utf8');
  fs.writeFileSync(tour, text.replace(from, to));
  report('planted: a tour that does something else',
    text.includes(from) && await travel(program) !== null ? null : 'was not found');
}

// A document that the compiler must refuse.
function plantInDocument(what, doc, plant) {
  const copy = structuredClone(doc);
  plant(copy);
  report(`planted: ${what}`, compile(copy) === null ? 'was not found' : null);
}

async function main() {
  const [file, program] = process.argv.slice(2).map((name) => path.resolve(name));
  const doc = document.load(file);
  report('a client compiles', compile(doc));
  if (counts.failed === 0) {
    report('the client works', await travel(program));
    await plantInTour(program, 'unique: true', 'unique: false');
  }
  plantInDocument('a parameter with the name of the body', doc, (copy) => {
    copy.components.parameters.IndexValue.name = 'value';
  });
  plantInDocument('a member of another type', doc, (copy) => {
    copy.components.schemas.IndexDeclaration.properties.unique = { type: 'string' };
  });
  fs.rmSync(made, { recursive: true });
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
}

main();

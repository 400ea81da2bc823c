// Makes clients from openapi.yaml with four generators, compiles each under strict
// TypeScript, and runs the tour with it against a server. At the end it plants
// faults in the document and in the tour, each of which must be found.
//
//   node run.js OPENAPI KINDEX
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const document = require('../document.js');
const { withServer } = require('../../lib/serve.js');

const modules = path.join(__dirname, 'node_modules');
const made = path.join(__dirname, 'made');
const input = path.join(made, 'openapi.json');

const GENERATORS = {
  'openapi-typescript': ['openapi-typescript/bin/cli.js', input, '-o',
    path.join(made, 'openapi-typescript.ts'), '--default-non-nullable=false'],
  oazapfts: ['oazapfts/dist/cli.js', input, path.join(made, 'oazapfts.ts')],
  orval: ['orval/dist/bin/orval.js', '--config',
    path.join(__dirname, 'orval.config.cjs')],
  'hey-api': ['@hey-api/openapi-ts/bin/index.cjs', '-i', input, '-o',
    path.join(made, 'hey-api'), '-c', '@hey-api/client-fetch'],
};

function run(script, ...rest) {
  try {
    execFileSync(process.execPath, [path.join(modules, script), ...rest],
      { cwd: __dirname, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
    return null;
  } catch (error) {
    return `${error.stdout}${error.stderr}`.trim() || String(error);
  }
}

// Each returns what is wrong, or null.
function generate(name, doc) {
  fs.rmSync(made, { recursive: true, force: true });
  fs.mkdirSync(made);
  fs.writeFileSync(input, JSON.stringify(doc));
  return run(...GENERATORS[name]);
}

function compile(source) {
  const project = path.join(made, 'tsconfig.json');
  fs.writeFileSync(project, JSON.stringify({
    extends: '../tsconfig.json',
    compilerOptions: { rootDir: '..', outDir: 'js' },
    files: [path.relative(made, source)],
  }));
  return run('typescript/bin/tsc', '--project', project);
}

async function travel(program, name) {
  const js = path.join(made, 'js');
  const script = `require('${js}/tour.js').tour(
    require('${js}/${name}.js').calls(process.argv[1]))
    .catch((error) => { console.error(error); process.exit(1); });`;
  return withServer(program, async (base) => {
    try {
      execFileSync(process.execPath, ['-e', script, base],
        { cwd: __dirname, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8',
          timeout: 100000 });
      return null;
    } catch (error) {
      return `${error.stdout}${error.stderr}`;
    }
  });
}

const counts = { passed: 0, failed: 0 };

function report(name, fault) {
  counts[fault === null ? 'passed' : 'failed'] += 1;
  if (fault !== null) console.log(`FAILED ${name}: ${fault}`);
  return fault === null;
}

async function check(name, doc, program) {
  const source = path.join(__dirname, `${name}.ts`);
  if (report(`${name} generates`, generate(name, doc))
    && report(`${name} compiles`, compile(source))) {
    report(`${name} works`, await travel(program, name));
  }
}

// A document that the compiler must refuse.
function plantInDocument(what, name, doc, plant) {
  const copy = structuredClone(doc);
  plant(copy);
  const fault = generate(name, copy)
    || compile(path.join(__dirname, `${name}.ts`));
  report(`planted: ${what}`, fault === null ? 'was not found' : null);
}

// A tour that compiles, and that must fail.
async function plantInTour(name, doc, program, from, to) {
  const fault = generate(name, doc)
    || compile(path.join(__dirname, `${name}.ts`));
  const script = path.join(made, 'js', 'tour.js');
  const js = fs.readFileSync(script, 'utf8');
  fs.writeFileSync(script, js.replace(from, to));
  report('planted: a tour that does something else',
    fault === null && js.includes(from)
      && await travel(program, name) !== null ? null : 'was not found');
}

async function main() {
  const [file, program] = process.argv.slice(2).map((name) => path.resolve(name));
  const doc = document.load(file);
  for (const name of Object.keys(GENERATORS)) await check(name, doc, program);
  plantInDocument('a parameter with the name of the body', 'oazapfts', doc,
    (copy) => { copy.components.parameters.IndexValue.name = 'value'; });
  plantInDocument('a member of another type', 'openapi-typescript', doc, (copy) => {
    copy.components.schemas.IndexDeclaration.properties.unique = { type: 'string' };
  });
  await plantInTour('openapi-typescript', doc, program, 'unique: true', 'unique: false');
  fs.rmSync(made, { recursive: true });
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
}

main();

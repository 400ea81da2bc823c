// yaml_to_json, which makes openapi.json from openapi.yaml: vectors, and a comparison
// of the document with js-yaml's reading of it. js-yaml reads it twice, by YAML's JSON
// schema and by its own default schema, which knows dates: scalars that readers
// understand differently have to be quoted.
//
//   node yaml.js OPENAPI.yaml YAML_TO_JSON
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const yaml = require('js-yaml');

const [file, program] = process.argv.slice(2);
const place = fs.mkdtempSync(path.join(os.tmpdir(), 'yaml-'));
let passed = 0;
let failed = 0;

function test(name, run) {
  try {
    run();
    passed++;
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error.message}`);
  }
}

function convert(text) {
  const input = path.join(place, 'input.yaml');
  fs.writeFileSync(input, text);
  const result = spawnSync(program, [input], { encoding: 'utf8' });
  return { json: result.stdout, error: result.stderr.replaceAll(input, 'FILE'), status: result.status };
}

const becomes = [
  ['number texts stay', 'a: [1.10, 12345678901234567891, -0, 1e400]', '{"a":[1.10,12345678901234567891,-0,1e400]}'],
  ['words of YAML 1.1 are strings', '[yes, on, No, y, ~, Null, TRUE]', '["yes","on","No","y","~","Null","TRUE"]'],
  ['dates and other forms of numbers are strings', '[2026-11-28, 0x1F, 0o7, 1_000, 01, .5, +1, 1., .inf]',
    '["2026-11-28","0x1F","0o7","1_000","01",".5","+1","1.",".inf"]'],
  ['words of JSON are values', '[null, true, false]', '[null,true,false]'],
  ['a quoted word is a string', '["null", \'true\', "1"]', '["null","true","1"]'],
  ['a key is a string', '200: {}\nnull: []\n', '{"200":{},"null":[]}'],
  ['an alias is its anchor', 'a: &x {b: 1}\nc: *x\n', '{"a":{"b":1},"c":{"b":1}}'],
  ['a folded block', 'a: >-\n  one\n  two\n\n\n  three\n', '{"a":"one two\\n\\nthree"}'],
  ['a literal block', 'a: |\n  "\\\n   b\n', '{"a":"\\"\\\\\\n b\\n"}'],
  ['other characters', 'a: "\\x01\\u00e9\\U0001F600"', '{"a":"\\u0001é😀"}'],
];
for (const [name, text, expected] of becomes) {
  test(name, () => assert.deepStrictEqual(convert(text), { json: `${expected}\n`, error: '', status: 0 }));
}

const refused = [
  ['a repeated key', 'a: 1\nb: 2\na: 3\n', 'FILE:3:1: the key "a" is repeated\n'],
  ['a tag', 'a: !!int "1"\n', 'FILE:1:4: the tag tag:yaml.org,2002:int is not supported\n'],
  ['an empty value', 'a:\n', 'FILE:1:3: an empty value must be written as null or ""\n'],
  ['a merge key', 'a: &x {}\nb:\n  <<: *x\n', 'FILE:3:3: merge keys are not supported\n'],
  ['a key that is a list', '? [a]\n: 1\n', 'FILE:1:3: a key must be a scalar\n'],
  ['a cycle', 'a: &x [*x]\n', 'FILE:1:4: nested deeper than 100\n'],
  ['a second document', '{}\n---\n{}\n', 'FILE:4:1: there is a second document\n'],
  ['no document', '', 'FILE:1:1: there is no document\n'],
  ['what is no YAML', 'a: b: c\n', 'FILE:1:5: mapping values are not allowed in this context\n'],
];
for (const [name, text, expected] of refused) {
  test(name, () => {
    const { error, status } = convert(text);
    assert.deepStrictEqual({ error, status }, { error: expected, status: 1 });
  });
}

const text = fs.readFileSync(file, 'utf8');

// Throws unless all three read the same.
function compare(source) {
  const { json, error } = convert(source);
  assert.strictEqual(error, '');
  assert.deepStrictEqual(yaml.load(source, { schema: yaml.JSON_SCHEMA }), JSON.parse(json));
  assert.deepStrictEqual(yaml.load(source), JSON.parse(json));
}

test('openapi.yaml is what js-yaml reads', () => compare(text));
test('a number is found that readers understand differently', () =>
  assert.throws(() => compare(`${text}\nx-planted: 0x1F\n`), /31/));
test('a date is found that readers understand differently', () =>
  assert.throws(() => compare(`${text}\nx-planted: 2026-11-28\n`), /2026-11-28/));

fs.rmSync(place, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

// Lints openapi.yaml with Redocly's own engine (what `redocly lint` runs),
// without the command line around it, which brings 140 MB more.
'use strict';

const path = require('node:path');
const {
  createConfig,
  formatProblems,
  getTotals,
  lint,
} = require('@redocly/openapi-core');

const rules = {
  // A server without access control on loopback has nothing to declare.
  'security-defined': 'off',
  // HEAD and OPTIONS aside, every operation answers with `default` too.
  'operation-4xx-response': 'off',
  'no-invalid-media-type-examples': 'error',
  'no-invalid-schema-examples': 'error',
  'no-invalid-parameter-examples': 'error',
  'no-unused-components': 'error',
  'operation-operationId': 'error',
  'tag-description': 'error',
};

async function main() {
  const file = path.resolve(process.argv[2]);
  const config = await createConfig({ extends: ['recommended'], rules });
  const problems = await lint({ ref: file, config });
  if (problems.length > 0) {
    formatProblems(problems, { totals: getTotals(problems), version: '' });
    process.exitCode = 1;
  }
}

main();

// How a run of kills says what it is, and how it ended.
'use strict';
const path = require('node:path');

// The seed that was given, by argument or environment, or any.
function seedOf(text) {
  return Number(text ?? process.env.KX_TEST_SEED ?? Date.now() % 1e9);
}

// How to have this run again: with the same arguments, and the seed after them.
function announce(seed, ...given) {
  const script = path.basename(process.argv[1]);
  console.log(`seed ${seed}; again: node tests/fault/${script} ` +
    `${given.join(' ')} ${seed}`);
}

// What a check threw: the program did this wrong. Other errors are trouble of the test.
class Finding extends Error {}

// The lines to show of what is wrong. Those of findings, which are strings or thrown,
// begin with "found: ": by them run.sh knows that a planted flaw was found, whichever
// check speaks first. Other errors, also that a run proved nothing, have their stack.
function linesOf(wrong) {
  return wrong.map((one) => one instanceof Error && !(one instanceof Finding) ?
    one.stack : `found: ${one.message ?? one}`);
}

// Makes so many cycles and stops the server; counts those after which all was well
// in passed.cycles. `cycle` resolves to what is wrong after it. Resolves to what is
// wrong after the first that failed.
async function cycles(server, count, passed, cycle) {
  for (passed.cycles = 0; passed.cycles < count; passed.cycles++) {
    const wrong = await cycle();
    if (wrong.length > 0) return wrong;
  }
  const code = await server.kill('SIGTERM');
  return code === 0 ? [] : [`exit code ${code} after SIGTERM`];
}

// `passed` times all was well, then there was something wrong, or nothing more.
function conclude(server, what, passed, wrong) {
  if (wrong.length > 0)
    console.log(`${what} ${passed + 1}:\n${linesOf(wrong).join('\n')}\n` +
      `the server's last lines:\n${server.lastWords()}`);
  console.log(`${passed} passed, ${wrong.length > 0 ? 1 : 0} failed`);
  process.exit(wrong.length > 0 ? 1 : 0);
}

module.exports = { Finding, announce, conclude, cycles, linesOf, seedOf };

// Runs the checks of manifests*.js, or shows that each finds its planted flaws.
'use strict';

// checks: by name, each returns sentences about a world. flaws: [name, what spoils a
// world so that the check must find something].
function run(world, checks, flaws) {
  let passed = 0;
  let failed = 0;
  function count(good, sentence) {
    if (good) passed += 1;
    else {
      failed += 1;
      console.log(`FAILED ${sentence}`);
    }
  }

  if (process.argv[2] === '--self-test') {
    for (const [name, spoil] of flaws) {
      const spoilt = structuredClone(world);
      spoil(spoilt);
      count(checks[name](spoilt).length > 0, `${name} does not find: ${spoil}`);
    }
    for (const name of Object.keys(checks)) count(flaws.some((flaw) => flaw[0] === name), `${name} has no flaw`);
  } else {
    for (const [name, check] of Object.entries(checks)) {
      const said = check(world);
      count(said.length === 0, `${name}\n  ${said.join('\n  ')}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}

module.exports = { run };

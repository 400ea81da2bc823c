// Runs the enabled cases of the test suite of JSON Patch against a server:
// node suite.js URL [planted]. Each document is put, patched and read; the
// expected result is compared as a value, an expected error must have changed
// nothing. With `planted` every expectation is replaced by a wrong one, and
// every case has to fail.
'use strict';
const assert = require('node:assert');

const [url, planted] = process.argv.slice(2);
const entry = `${url}/kv/suite`;
const cases = ['tests', 'spec_tests'].flatMap((file) =>
    require(`json-patch-test-suite/${file}.json`).map((test, number) => ({ name: `${file} ${number}`, ...test })));

async function send(method, type, value) {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const headers = type === undefined ? {} : { 'Content-Type': type };
    const answer = await fetch(entry, { method, headers, body });
    return { status: answer.status, text: await answer.text() };
}

// A case without `expected` and without `error` asks for success only.
function plant(test) {
    if (test.error !== undefined) return { ...test, error: undefined };
    return { ...test, expected: { planted: test.expected === undefined ? 1 : [test.expected] } };
}

// What is wrong, or null.
async function run(test) {
    await send('PUT', 'application/json', test.doc);
    const patched = await send('PATCH', 'application/json-patch+json', test.patch);
    const result = JSON.parse((await send('GET')).text);
    const refused = patched.status >= 400 && patched.status < 500;
    try {
        if (test.error !== undefined) {
            assert.ok(refused, `status ${patched.status}, not an error: ${test.error}`);
            assert.deepStrictEqual(result, test.doc);
        } else {
            assert.strictEqual(patched.status, 200, patched.text);
            if (test.expected !== undefined) assert.deepStrictEqual(result, test.expected);
        }
    } catch (error) {
        return error.message;
    }
    return null;
}

async function main() {
    const counts = { run: 0, failed: 0, disabled: 0 };
    for (const test of cases) {
        if (test.disabled) {
            counts.disabled++;
            continue;
        }
        const wrong = await run(planted ? plant(test) : test);
        counts.run++;
        if (wrong === null) continue;
        counts.failed++;
        if (!planted) console.error(`${test.name} ${test.comment ?? ''}: ${wrong}`);
    }
    console.log(`${counts.run} cases, ${counts.failed} failed, ${counts.disabled} disabled`);
}

main();

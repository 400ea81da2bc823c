// Runs the official suite of JSON Schema against a server: node schema_suite.js URL
// FOLDER [planted]. Each schema becomes a rule and each value an entry. What is
// refused as a rule must be in FOLDER/refused.txt. With `planted` each value is
// expected to be what it is not, and each has to fail.
'use strict';
const fs = require('node:fs');

const [url, folder, planted] = process.argv.slice(2);
const refused = new Set(fs.readFileSync(`${folder}/refused.txt`, 'utf8').split('\n'));
const counts = { values: 0, refused: 0, failed: 0 };

async function send(method, path, value) {
    const headers = { 'Content-Type': 'application/json' };
    const body = value === undefined ? undefined : JSON.stringify(value);
    const answer = await fetch(`${url}${path}`, { method, headers, body });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
}

function fail(place, words) {
    counts.failed++;
    if (!planted) console.error(`${place}: ${words}`);
}

async function runValue(place, test) {
    const valid = planted ? !test.valid : test.valid;
    const { status, body } = await send('PUT', '/kv/suite/value', test.data);
    counts.values++;
    const right = valid ? status === 200 || status === 201 : body.code === 'rule-violated';
    if (!right) fail(`${place}: ${test.description}`, `${status} ${body.code ?? ''} ${body.expected ?? ''}`);
}

async function runGroup(file, group) {
    const place = `json-schema/${file}: ${JSON.stringify(group.description)}`;
    const declared = await send('PUT', '/rules/suite', { prefix: ['suite'], schema: group.schema });
    if (declared.status === 400) {
        counts.refused++;
        const { pointer, detail } = declared.body;
        const reason = [...refused].find((line) => line.startsWith(`${place}: ${pointer.replace(/^\/schema/, '')}: `));
        if (reason === undefined) fail(place, `refused at ${pointer}: ${detail}`);
        return;
    }
    if (declared.status !== 201) return fail(place, `status ${declared.status}`);
    for (const test of group.tests) await runValue(place, test);
    await send('DELETE', '/kv/suite/value');
    await send('DELETE', '/rules/suite');
}

async function main() {
    for (const part of ['.', 'optional']) {
        for (const name of fs.readdirSync(`${folder}/${part}`).filter((file) => file.endsWith('.json')).sort()) {
            const groups = JSON.parse(fs.readFileSync(`${folder}/${part}/${name}`, 'utf8'));
            for (const group of groups) await runGroup(part === '.' ? name : `${part}/${name}`, group);
        }
    }
    console.log(`${counts.values} values, ${counts.refused} schemas refused, ${counts.failed} failed`);
}

main();

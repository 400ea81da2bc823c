// Entries per second of `kindex import`: lines of a file into a server of its
// own, under another prefix each time.
'use strict';
const { execFile } = require('child_process');
const fs = require('fs');
const path = require('path');
const { promisify } = require('util');
const { calmly } = require('./calm');
const kindex = require('./contenders/kindex');
const data = require('./data');
const { stop } = require('./server');
const { fresh } = require('./settings');

const IMPORTS = 3;
const LINES = 300000;

function writeLines(file) {
    const out = fs.openSync(file, 'w');
    for (let n = 0; n < LINES; n++) {
        fs.writeSync(out, `{"key":["users","${data.userId(n)}"],` +
            `"value":${data.value(n, LINES)}}\n`);
    }
    fs.closeSync(out);
}

async function measure({ build, cache, work }) {
    const file = path.join(work, 'import.ndjson');
    writeLines(file);
    const self = await kindex.start(build, fresh('import'), cache);
    const rates = [];
    let copies = 0;
    async function once() {
        const began = process.hrtime.bigint();
        await promisify(execFile)(path.join(build, 'kindex'), [
            'import', file, '--prefix', `copy${copies++}`,
            '--url', `http://127.0.0.1:${self.port}`]);
        return LINES * 1e9 / Number(process.hrtime.bigint() - began);
    }
    for (let i = 0; i < IMPORTS; i++) rates.push(await calmly(once));
    await stop(self.server);
    return rates;
}

module.exports = { measure };

// Unmodified Deno: the client of Kindex, and with its own file-backed store a
// contender that has no server.
'use strict';
const { execFile } = require('child_process');
const fs = require('fs');
const path = require('path');

const PROGRAM = path.join(__dirname, '../deno_load.mjs');
const FLAGS = ['run', '--quiet', '--no-config', '--unstable-kv', '--allow-all'];

// Where npm has put it; setup.sh has seen to that.
function program() {
    return require('../../deno/deno.js');
}

// Resolves to what the program reports; nothing for `fill`.
function run({ database, work }, kind, load) {
    const { keys, inFlight = 1, seconds = 0, size } = load;
    const args = [...FLAGS, PROGRAM, database, kind, keys, inFlight, seconds];
    if (size !== undefined) args.push(size);
    const env = { ...process.env, DENO_DIR: path.join(work, 'deno-cache'),
                  DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1',
                  DENO_KV_ACCESS_TOKEN: 'any token' };
    return new Promise((resolve, reject) => {
        execFile(program(), args.map(String), { env }, (error, out) => {
            if (error) reject(error);
            else resolve(out && JSON.parse(out));
        });
    });
}

// Deno's own store in a file; it has no process to be looked at.
function local(work) {
    const dir = path.join(work, 'deno');
    fs.rmSync(dir, { recursive: true, force: true });
    fs.mkdirSync(dir, { recursive: true });
    return { name: 'deno', pids: [], work,
             database: path.join(dir, 'kv.sqlite3') };
}

// The same program with Kindex's address.
function remote(kindex, work) {
    return { ...kindex, work, database: `http://127.0.0.1:${kindex.port}` };
}

module.exports = { run, local, remote };

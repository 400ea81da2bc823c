// The steps over KV Connect: a Deno program against Kindex and against Deno's
// own file, and snapshot_read of one key over HTTP/1.1 and HTTP/2.
'use strict';
const { execFile } = require('child_process');
const fs = require('fs');
const path = require('path');
const deno = require('./contenders/deno');
const data = require('./data');
const { call } = require('./server');

const KEYS = 100000;
const READS = 100000;
const IN_FLIGHT = 64;
const ALONE = 2048; // bytes of a value that is set one at a time
const SNAPSHOT_READ = '/v2/snapshot_read';
const PROTOBUF = 'application/x-protobuf';

// ---- Messages ---------------------------------------------------------------

// A field that is a message or bytes, and shorter than 128 bytes.
function field(number, bytes) {
    return Buffer.concat([Buffer.from([number << 3 | 2, bytes.length]), bytes]);
}

function keyOf(...parts) {
    return Buffer.from(parts.map((part) => `\x02${part}\0`).join(''), 'latin1');
}

// What Deno sends for kv.get(): a range that has room for one key.
function snapshotRead(key) {
    const end = Buffer.concat([key, Buffer.from([0])]);
    const limit = Buffer.from([3 << 3, 1]);
    return field(1, Buffer.concat([field(1, key), field(2, end), limit]));
}

function readOf(n) {
    return snapshotRead(keyOf('deno', data.itemId(n)));
}

function request(n) {
    return { method: 'POST', path: SNAPSHOT_READ, type: PROTOBUF,
             body: readOf(n).toString('latin1') };
}

// ---- h2load -----------------------------------------------------------------

// What it says, as replay.lua would: without percentiles.
function readReport(text) {
    const [, done, good] =
        /requests: .*?, (\d+) done, (\d+) succeeded/.exec(text).map(Number);
    const [, seconds] = /finished in ([\d.]+)s/.exec(text).map(Number);
    const bad = Number(/status codes: \d+ 2xx, (\d+) 3xx/.exec(text)[1]);
    return { requests: done, us: seconds * 1e6, status: done - good + bad,
             socket: done ? 0 : 1 };
}

// The same request over and over: 64 streams of one connection, as Deno has
// them, or 64 connections of HTTP/1.1.
function h2load(port, version, seconds, file) {
    const shape = version === 2 ? ['-c1', `-m${IN_FLIGHT}`]
                                : ['--h1', `-c${IN_FLIGHT}`, '-m1'];
    const args = [...shape, '-t1', `-D${seconds}`, '-d', file,
                  '-H', `content-type: ${PROTOBUF}`,
                  `http://127.0.0.1:${port}${SNAPSHOT_READ}`];
    return new Promise((resolve, reject) => {
        execFile('h2load', args, (error, out) =>
            error ? reject(error) : resolve(readReport(out)));
    });
}

// ---- Steps ------------------------------------------------------------------

// The contenders, with the entries that are read and replaced.
async function enter(kindex, { work, records }) {
    const keys = Math.min(KEYS, records);
    const own = { kindex: deno.remote(kindex, work), local: deno.local(work),
                  keys };
    await deno.run(own.kindex, 'fill', own);
    await deno.run(own.local, 'fill', own);
    await checkRead(kindex.port);
    return own;
}

// The reads that are timed must find what the Deno program has stored.
async function checkRead(port) {
    const reply = await call(port, request(7));
    if (reply.status !== 200 || !reply.body.includes('User 7'))
        throw new Error(`snapshot_read: ${reply.status}, without the entry`);
}

function denoSteps({ kindex, local, keys }) {
    return ['set', 'get'].flatMap((kind) => {
        const step = (name, contender) => ({
            name, contender, base: `Deno ${kind} in its own file`,
            drive: (seconds) => deno.run(
                contender, kind, { keys, inFlight: IN_FLIGHT, seconds }),
        });
        return [step(`Deno ${kind}`, kindex),
                step(`Deno ${kind} in its own file`, local)];
    });
}

// More than Deno sends in one segment.
function aloneSteps({ kindex, local, keys }) {
    const base = 'Deno set of 2 KB in its own file, one at a time';
    const step = (name, contender) => ({
        name, contender, base,
        drive: (seconds) => deno.run(contender, 'set',
                                     { keys, seconds, size: ALONE }),
    });
    return [step('Deno set of 2 KB, one at a time', kindex),
            step(base, local)];
}

function readSteps(kindex, work) {
    const file = path.join(work, 'snapshot_read');
    fs.writeFileSync(file, readOf(7));
    const step = (version, name) => ({
        name, contender: kindex, base: 'snapshot_read of one, HTTP/1.1',
        drive: (seconds) => h2load(kindex.port, version, seconds, file),
    });
    return [step(1, 'snapshot_read of one, HTTP/1.1'),
            step(2, 'snapshot_read of one, HTTP/2')];
}

// The step that wrk drives is made by the caller: step(name, count, make).
function steps(own, work, step) {
    const random = data.sequence(7);
    return [
        ...denoSteps(own),
        ...aloneSteps(own),
        step('snapshot_read', READS, () => request(random(own.keys))),
        ...readSteps(own.kindex, work),
    ];
}

module.exports = { PROTOBUF, enter, steps, keyOf, field };

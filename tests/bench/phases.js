// What is not measured in rounds: bytes on disk, the rate of index builds,
// restarts after a crash, memory beside the cache, the disk itself.
'use strict';
const fs = require('fs');
const path = require('path');
const { calmly } = require('./calm');
const kindex = require('./contenders/kindex');
const data = require('./data');
const { write } = require('./requests');
const { wrk } = require('./rounds');
const { diskBytes, expect2xx, pause, residentBytes, stop } =
    require('./server');
const { fresh } = require('./settings');
const { median } = require('./stats');

const MEGABYTE = 2 ** 20;
const FLUSHES = 300;
const BUILDS = 3;
const CRASHES = 3;
const CRASH_AFTER_MS = 3000;
const SMALL_CACHE = 64;
const CROWDS = 5;
const CROWD = 64;
const CROWD_SECONDS = 1;
const LOG_FILES = /^(log\.|next-log)/;

// One counter of /metrics.
async function metric(self, name) {
    const text = await expect2xx(self.port, { path: '/metrics' });
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)[1]);
}

// Waits, for some minutes at most, until a counter has grown: the idle server
// has compacted its half-empty pages, or written what was loaded before. It does so
// less while somebody reads, so the counter is not looked at too often.
async function grown(self, name, cause = async () => {}) {
    const before = await metric(self, name);
    await cause();
    for (let tries = 0; tries < 300; tries++) {
        if (await metric(self, name) > before) return;
        await pause(1000);
    }
    throw new Error(`${name} has not grown within five minutes`);
}

// A store in which nothing was written has no checkpoint to write.
function checkpoint(self) {
    const write = { method: 'PUT', path: '/kv/checkpoint', body: '1' };
    return grown(self, 'kindex_checkpoints_total',
                 () => expect2xx(self.port, write));
}

// Bytes per user in the database files when they are loaded and when they are
// compacted, and in the log.
async function disk({ build, users, cache }) {
    const dir = fresh('disk');
    const self = await kindex.start(build, dir, cache);
    await kindex.loadUsers(self, users);
    const loaded = diskBytes(dir, LOG_FILES) / users;
    await grown(self, 'kindex_compactions_total');
    await stop(self.server);
    const database = diskBytes(dir, LOG_FILES);
    const figures = {
        loaded,
        perUser: database / users,
        logMegabytes: (diskBytes(dir) - database) / MEGABYTE,
    };
    fs.rmSync(dir, { recursive: true });
    return figures;
}

// Entries per second while an index is built over all records, of each build;
// it is dropped again before anything else is timed.
async function backfill(self, { records }) {
    const index = { name: 'items_by_email', prefix: ['items'],
                    fields: ['/email'], unique: true };
    // From then on nothing else is running.
    const written = () => checkpoint(self);
    async function build() {
        const began = process.hrtime.bigint();
        await kindex.declare(self, index);
        const rate = records * 1e9 / Number(process.hrtime.bigint() - began);
        await kindex.drop(self, index.name);
        return rate;
    }
    const rates = [];
    for (let i = 0; i < BUILDS; i++) rates.push(await calmly(build, written));
    return rates;
}

// Durable PUTs at c=64, by turns alone and while an index is built over all
// records; a run that the build did not outlast does not count.
async function crowd(self, { work, records }) {
    const index = { name: 'items_by_name', prefix: ['items'],
                    fields: ['/name'] };
    const file = putFile(work, records);
    const rates = [];
    const delays = [];
    async function both() {
        const alone = await wrk(self.port, CROWD, CROWD_SECONDS, file);
        await kindex.declareOnly(self, index);
        const beside = await wrk(self.port, CROWD, CROWD_SECONDS, file);
        const { state } = await kindex.indexState(self, index.name);
        await kindex.drop(self, index.name);
        return { alone, beside, state };
    }
    for (let i = 0; i < CROWDS; i++) {
        const { alone, beside, state } = await calmly(both);
        if (state !== 'building') continue;
        rates.push(beside.requests / alone.requests);
        delays.push(beside.p99 / alone.p99);
    }
    return { rates, delays };
}

// Appends a small record and flushes it: the floor of a durable write.
function flushMicroseconds({ work }) {
    const file = path.join(work, 'flush');
    const fd = fs.openSync(file, 'w');
    const record = Buffer.alloc(300, 'x');
    const times = [];
    for (let i = 0; i < FLUSHES; i++) {
        const began = process.hrtime.bigint();
        fs.writeSync(fd, record);
        fs.fdatasyncSync(fd);
        times.push(Number(process.hrtime.bigint() - began) / 1e3);
    }
    fs.closeSync(fd);
    fs.rmSync(file);
    return median(times);
}

function putFile(work, records) {
    const random = data.sequence(13);
    const file = path.join(work, 'crash.txt');
    write(file, 40000, () => {
        const n = random(records);
        return { method: 'PUT', path: `/kv/items/${data.itemId(n)}`,
                 body: data.value(n, records) };
    });
    return file;
}

// Kills the server under full write load; seconds until /readyz answers 200.
// `self` then stands for the new process.
async function crash(self, file, { build, cache }) {
    const load = wrk(self.port, 256, 60, file);
    const ended = load.catch(() => null);
    await pause(CRASH_AFTER_MS);
    load.child.kill('SIGKILL');
    await stop(self.server, 'SIGKILL');
    await ended;
    const began = process.hrtime.bigint();
    const next = await kindex.start(build, self.dir, cache);
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;
    Object.assign(self, next);
    return seconds;
}

async function restart(self, settings) {
    const file = putFile(settings.work, settings.records);
    const seconds = [];
    for (let i = 0; i < CRASHES; i++)
        seconds.push(await crash(self, file, settings));
    return { seconds: median(seconds), all: seconds };
}

// With a cache smaller than the data all of it is in use, so what the process
// has beyond it is its own.
async function memory({ build, work, records }) {
    const dir = path.join(work, 'kindex');
    const self = await kindex.start(build, dir, `${SMALL_CACHE}MiB`);
    const random = data.sequence(17);
    const gets = path.join(work, 'memory.txt');
    write(gets, 40000, () => ({
        path: `/kv/items/${data.itemId(random(records))}`,
    }));
    for (const file of [gets, putFile(work, records)])
        await wrk(self.port, 64, 3, file);
    const resident = residentBytes(self.pids) / MEGABYTE;
    await stop(self.server);
    return { resident, cache: SMALL_CACHE, beside: resident - SMALL_CACHE };
}

module.exports = { disk, backfill, crowd, flushMicroseconds, restart, memory };

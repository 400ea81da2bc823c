// Kindex against the numbers it has to reach: libmicrohttpd's hello as the
// yardstick, Node with SQLite for the index query, Deno's own store for Deno
// programs. Run by `make bench`; prints every scenario, then gate, goal and what
// was measured.
'use strict';
const fs = require('fs');
const path = require('path');
const calm = require('./calm');
const hello = require('./contenders/hello');
const kindex = require('./contenders/kindex');
const sqlite = require('./contenders/sqlite');
const data = require('./data');
const imports = require('./import');
const kvconnect = require('./kvconnect');
const phases = require('./phases');
const rounds = require('./rounds');
const { scenarios } = require('./scenarios');
const { expect2xx, stop } = require('./server');
const { fresh, machine, settings } = require('./settings');
const { verdicts } = require('./verdicts');
const watches = require('./watches');

const LARGE = 10000;
const LARGE_BATCH = 100;

function say(text) {
    process.stderr.write(`${text}\n`);
}

function wanted(name) {
    return settings.only.test(name);
}

function asksQueries() {
    return wanted('query 100') || wanted('query 100 of copies');
}

// The store that is timed: users with two indexes, and many more records.
async function load(self) {
    const began = Date.now();
    const { users, records } = settings;
    await kindex.loadUsers(self, users);
    if (asksQueries()) await kindex.loadCopies(self, users);
    await kindex.store(self, 'items', records, (place) => {
        const n = data.scattered(place, records);
        return { id: data.itemId(n), value: data.value(n, records) };
    });
    await kindex.store(self, 'large', LARGE, (n) => ({
        id: data.itemId(n), value: data.value(n, users, 4096),
    }), LARGE_BATCH);
    if (wanted('insert counted')) await kindex.declareTotals(self);
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    return `${records} records and ${users} users were loaded in ${seconds} s`;
}

function remarks({ flush, load: loading, restart, beside, disk }) {
    const notes = [`a flush of the disk takes ${flush.toFixed(0)} us`, loading];
    if (restart)
        notes.push(`restarts took ${restart.all.map((s) => s.toFixed(2))} s`);
    if (beside)
        notes.push(`${beside.resident.toFixed(0)} MB resident at a cache of ` +
            `${beside.cache} MB`);
    if (disk)
        notes.push(`${disk.loaded.toFixed(0)} bytes on disk per user before ` +
            `the pages were compacted, and ${disk.logMegabytes.toFixed(0)} MB ` +
            'of log beside the database after a clean stop');
    return `${notes.join('; ')}.`;
}

// The two answers to the index query must be worth the same.
async function checkQuery(contender, ask, query = ask.query) {
    const body = await expect2xx(contender.port, query(7));
    if (ask.entries(body) !== 100)
        throw new Error(`${contender.name}: the index query gave ` +
            `${ask.entries(body)} entries`);
}

async function contend(figures) {
    const { build, users, cache } = settings;
    const contenders = { hello: await hello.start(build) };
    contenders.kindex = await kindex.start(build, fresh('kindex'), cache);
    figures.load = await load(contenders.kindex);
    say(figures.load);
    if (wanted('backfill'))
        figures.backfill = await phases.backfill(contenders.kindex, settings);
    if (wanted('crowd'))
        figures.crowd = await phases.crowd(contenders.kindex, settings);
    await checkQuery(contenders.kindex, kindex.questions(users));
    if (asksQueries()) {
        const ask = kindex.questions(users);
        await checkQuery(contenders.kindex, ask, ask.copies);
        contenders.sqlite = await sqlite.start(build, fresh('sqlite'), users);
        await checkQuery(contenders.sqlite, sqlite.questions(users));
    }
    if (wanted('Deno') || wanted('snapshot_read'))
        contenders.deno = await kvconnect.enter(contenders.kindex, settings);
    return contenders;
}

// The wanted steps, and what they are compared with.
function chosen(steps) {
    const some = steps.filter(({ name }) => wanted(name));
    const names = new Set(some.flatMap(({ name, base }) => [name, base]));
    names.add('hello GET c=64');
    return steps.filter(({ name }) => names.has(name));
}

async function main() {
    const figures = {};
    fs.mkdirSync(settings.work, { recursive: true });
    console.log(`${machine()}; ${settings.records} records, ` +
        `${settings.users} users, cache ${settings.cache}`);
    if (wanted('disk')) figures.disk = await phases.disk(settings);
    figures.flush = phases.flushMicroseconds(settings);
    const contenders = await contend(figures);
    const steps = chosen(scenarios(contenders, settings));
    const results = await rounds.interleave(steps, settings);
    if (contenders.sqlite) await stop(contenders.sqlite.server);
    if (wanted('restart'))
        figures.restart = await phases.restart(contenders.kindex, settings);
    await stop(contenders.kindex.server);
    if (wanted('watches')) figures.watches = await watches.measure(settings);
    if (wanted('import')) figures.imports = await imports.measure(settings);
    if (wanted('memory')) figures.beside = await phases.memory(settings);
    console.log(`\n${rounds.detailTable(steps, results)}`);
    console.log(`\n${verdicts(results, figures, settings)}`);
    console.log(`\n${rounds.quietness(results, 'hello GET c=64')}`);
    console.log(calm.remark());
    console.log(remarks(figures));
    const report = path.join(settings.build, 'bench/results.json');
    fs.writeFileSync(report, JSON.stringify(
        { machine: machine(), figures, results: [...results] }, null, 1));
    fs.rmSync(settings.work, { recursive: true, force: true });
    process.exit(0);
}

main().catch((error) => {
    console.error(`bench: ${error.message}`);
    process.exit(1);
});

// What one large commit does to other requests: a commit that adds 298,000
// entries to an index or 1,000 entries to 240 of them, and its removal, in
// turns. Others are sent meanwhile, each kind on another connection at
// fixed times, and the time from when each was due to its answer is counted:
// a stall is seen by all requests that were due in it.
//
//   node tests/bench/stalls.js [ROUNDS]
'use strict';
const http = require('http');
const { Worker, isMainThread, parentPort, workerData } =
    require('worker_threads');
const kindex = require('./contenders/kindex');
const { PROTOBUF, field, keyOf } = require('./kvconnect');
const { expect2xx, pause, stop } = require('./server');
const { fresh, machine, settings } = require('./settings');
const { table } = require('./stats');

const ENTRIES = 1000;
const ELEMENTS = 298;
const INDEXES = 240;
const COLD = 50000; // entries that are not in the record cache
const OTHERS = 1000; // entries of other indexes
const LIGHT_MS = 5; // between two requests of a kind
const VIEW_MS = 100;

const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));

// ---- The other requests -----------------------------------------------------

// All rows of the index, in KV Connect's terms.
function rangeRead(...parts) {
    const key = keyOf(...parts);
    const end = Buffer.concat([key, Buffer.from([0xff])]);
    return field(1, Buffer.concat([field(1, key), field(2, end),
                                   Buffer.from([3 << 3, 100])]));
}

const QUERY = JSON.stringify({
    prefix: ['narrow'], where: { path: '/f7', gt: 0 },
});

// What is promised of each, in milliseconds at the 99.9th percentile.
const PROBES = [
    { name: '/livez', most: 10, path: () => '/livez' },
    { name: 'GET, cached', most: 10, path: () => '/kv/others/=1' },
    { name: 'GET, not cached', most: 50, path: (n) => `/kv/cold/${n % COLD}` },
    { name: 'list, another index', most: 50,
      path: () => '/list?index=by_number' },
    { name: 'list, its index', most: 50, path: () => '/list?index=by_tag' },
    { name: 'list, its index, reverse', most: 50,
      path: () => '/list?index=by_tag&reverse=true' },
    { name: 'list, its entries', most: 50, path: () => '/list?prefix=filled' },
    { name: 'list, one of the 240', most: 50, path: () => '/list?index=f7' },
    { name: 'count, one of the 240', most: 50, path: () => '/count?index=f7' },
    { name: 'explain, one of the 240', most: 50, method: 'POST', path: () => '/explain',
      body: QUERY },
    { name: 'KV Connect, its index', most: 50, method: 'POST',
      path: () => '/v2/snapshot_read', type: PROTOBUF,
      body: rangeRead('by_tag') },
];

function ask(port, agent, probe, n) {
    const { method = 'GET', body, type = 'application/json' } = probe;
    const headers = body ? { 'Content-Type': type,
                             'Content-Length': Buffer.byteLength(body) } : {};
    return new Promise((resolve, reject) => {
        http.request({ port, agent, method, headers, host: '127.0.0.1',
                       path: probe.path(n) }, (reply) => {
            reply.resume().on('end', () => reply.statusCode === 200 ? resolve()
                : reject(new Error(`${probe.name}: ${reply.statusCode}`)));
        }).on('error', reject).end(body);
    });
}

async function watch(port, probe, times) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const every = probe.most <= 10 ? LIGHT_MS : VIEW_MS;
    let due = performance.now();
    for (let n = 0; ; n++) {
        due += every;
        const early = due - performance.now();
        if (early > 0) await pause(early);
        const late = Math.max(0, -early); // waited for the one before it
        const began = performance.now();
        await ask(port, agent, probe, n);
        times.push(performance.now() - began + late);
    }
}

function beside() {
    const all = PROBES.map(() => []);
    parentPort.on('message', () => parentPort.postMessage(
        all.map((times) => times.splice(0))));
    PROBES.forEach((probe, i) => watch(workerData.port, probe, all[i]));
}

// ---- The commits ------------------------------------------------------------

function wide() {
    return many(ENTRIES, (n) => ({
        type: 'set', key: ['filled', n],
        value: { tags: many(ELEMENTS, (i) => 100000 + n * ELEMENTS + i) },
    }));
}

function narrow() {
    const value = (n) => Object.fromEntries(
        many(INDEXES, (i) => [`f${i}`, 1000 + (n * 7 + i) % 9000]));
    return many(ENTRIES, (n) => ({ type: 'set', key: ['narrow', n],
                                   value: value(n) }));
}

const commit = (mutations) => ({ method: 'POST', path: '/atomic',
                                 body: JSON.stringify({ mutations }) });
const removal = (prefix) => ({ method: 'DELETE',
                               path: `/list?prefix=${prefix}&limit=1000` });

async function prepare(dir, cache) {
    const self = await kindex.start(settings.build, dir, cache);
    await kindex.store(self, 'cold', COLD, (n) => ({ id: n, value: n }));
    await stop(self.server);
    const again = await kindex.start(settings.build, dir, cache);
    const declarations = [
        { name: 'by_number', prefix: ['others'], fields: ['/n'] },
        { name: 'by_tag', prefix: ['filled'],
          fields: [{ path: '/tags', each: true }] },
        ...many(INDEXES, (i) => ({ name: `f${i}`, prefix: ['narrow'],
                                   fields: [`/f${i}`] })),
    ];
    for (const declaration of declarations)
        await kindex.declare(again, declaration);
    await expect2xx(again.port, commit(many(OTHERS, (n) => ({
        type: 'set', key: ['others', n], value: { n } }))));
    return again;
}

// ---- Main -------------------------------------------------------------------

function row(name, most, times) {
    const sorted = times.sort((a, b) => a - b);
    const at = (share) =>
        sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
    return [name, sorted.length, ...[at(0.5), at(0.999), at(1)].map(
        (ms) => ms.toFixed(1)), most];
}

function report(worker) {
    return new Promise((resolve) => {
        worker.once('message', resolve);
        worker.postMessage('report');
    });
}

async function main() {
    const rounds = Number(process.argv[2] || 5);
    const self = await prepare(fresh('stalls'), settings.cache);
    const worker = new Worker(__filename, { workerData: { port: self.port } });
    const commits = { 'commit of 298,000 rows': commit(wide()),
                      'its removal': removal('filled'),
                      'commit in 240 indexes': commit(narrow()),
                      'its removal, too': removal('narrow') };
    const taken = Object.keys(commits).map(() => []);
    const head = ['', 'count', 'p50', 'p99.9', 'max', 'promised'];
    await report(worker); // while it begins
    await pause(2000);
    const alone = await report(worker);
    for (let i = 0; i < rounds; i++)
        for (const [at, request] of Object.values(commits).entries()) {
            const began = performance.now();
            await expect2xx(self.port, request);
            taken[at].push(performance.now() - began);
        }
    const times = await report(worker);
    await worker.terminate();
    await stop(self.server);
    console.log(machine());
    console.log(`milliseconds alone\n${table(head, PROBES.map(
        ({ name, most }, i) => row(name, most, alone[i])))}`);
    console.log(`milliseconds beside large commits\n${table(head, [
        ...PROBES.map(({ name, most }, i) => row(name, most, times[i])),
        ...Object.keys(commits).map((name, i) => row(name, '', taken[i]))])}`);
    process.exit(0);
}

if (isMainThread) main();
else beside();

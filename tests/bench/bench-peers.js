// Kindex beside etcd, Redis with webdis, and Node with SQLite: the same users,
// the same questions, each contender durable at every commit, all in the same
// interleaved rounds. Run by `make bench-peers`.
'use strict';
const fs = require('fs');
const path = require('path');
const data = require('./data');
const { WRITES, flushes } = require('./durability');
const { write } = require('./requests');
const rounds = require('./rounds');
const { diskBytes, expect2xx, residentBytes, stop } = require('./server');
const { fresh, machine, settings } = require('./settings');
const { median, short, table } = require('./stats');
const etcd = require('./contenders/etcd');
const hello = require('./contenders/hello');
const kindex = require('./contenders/kindex');
const sqlite = require('./contenders/sqlite');
const webdis = require('./contenders/webdis');

const PREPARED = 20000;
const INSERTS = 90000;
const SCENARIOS = [
    { name: 'GET', ask: 'get', connections: 64 },
    { name: 'PUT c=1', ask: 'put', connections: 1 },
    { name: 'PUT', ask: 'put', connections: 64 },
    { name: 'insert, 2 indexes', ask: 'insert', connections: 64 },
    { name: 'list of 100', ask: 'list', connections: 64, entries: 100 },
    { name: 'query of 100', ask: 'query', connections: 64, entries: 100 },
];
// The least and the wished-for ratio of Kindex to each, in that order.
const GOALS = {
    'node+sqlite': { GET: [2.3, 2.8], PUT: [1.8, 2.3],
                     'insert, 2 indexes': [6, 9], 'list of 100': [2, 2.5],
                     'query of 100': [1, 2] },
    'redis+webdis': { GET: [1.3, 1.6], PUT: [0.9, 1.2],
                      'insert, 2 indexes': [2, 2.5] },
    etcd: { GET: [10, 15], PUT: [3, 4], 'insert, 2 indexes': [6, 9] },
};

async function startKindex(build, dir, users) {
    const self = await kindex.start(build, dir, settings.cache);
    await kindex.loadUsers(self, users);
    return { ...self, writer: self.server.pid };
}

// Starts one contender and loads it; says what that took.
async function enter(name, start, module) {
    const began = Date.now();
    const { users } = settings;
    const self = await start(settings.build, fresh(`peers/${name}`), users);
    self.ask = module.questions(users, self);
    self.loadSeconds = (Date.now() - began) / 1000;
    process.stderr.write(`${name}: ${users} users in ` +
        `${self.loadSeconds.toFixed(1)} s\n`);
    return self;
}

async function checkDurability(contender) {
    const log = path.join(settings.build, `bench/log/${contender.name}.strace`);
    const count = await flushes(contender, contender.ask.put, log);
    if (count < WRITES)
        throw new Error(`${contender.name} is not durable: ${count} flushes ` +
            `for ${WRITES} writes`);
    return count;
}

// One answer of each kind of read is looked at before anything is timed.
async function checkAnswers(contender) {
    for (const { name, ask, entries } of SCENARIOS) {
        if (!entries) continue;
        const body = await expect2xx(contender.port, contender.ask[ask](7));
        const count = contender.ask.entries(body);
        if (count !== entries)
            throw new Error(`${contender.name}: ${name} gave ${count} entries`);
    }
}

function step(contender, { name, ask, connections }) {
    const make = contender.ask[ask];
    const label = `${name}: ${contender.name}`;
    const file = path.join(settings.work, `${label.replace(/\W+/g, '-')}.txt`);
    const inserts = ask === 'insert';
    let next = settings.users + WRITES;
    if (!inserts) {
        const random = data.sequence(1);
        write(file, PREPARED, () => make(random(settings.users - 100)));
    }
    return {
        name: label, contender, connections,
        base: `GET: hello c=${connections}`,
        fresh: inserts ? INSERTS : undefined,
        requests: () => {
            if (inserts) {
                write(file, INSERTS, (i) => make(next + i));
                next += INSERTS;
            }
            return file;
        },
    };
}

function helloStep(contender, connections) {
    const file = path.join(settings.work, 'hello.txt');
    write(file, PREPARED, (n) => ({ path: `/kv/users/${data.userId(n)}` }));
    return { name: `GET: hello c=${connections}`, contender, connections,
             requests: () => file };
}

function verdict(ratio, goal) {
    if (!goal) return '';
    if (ratio >= goal[1]) return 'goal';
    return ratio >= goal[0] ? 'gate' : 'BELOW';
}

function comparison(contenders, results) {
    const rows = [];
    for (const { name } of SCENARIOS) {
        for (const { name: peer } of contenders.slice(1)) {
            const ratio = median(rounds.ratios(results, `${name}: kindex`,
                                               `${name}: ${peer}`));
            const goal = (GOALS[peer] || {})[name];
            const yardstick = rounds.column(results, `${name}: ${peer}`, 'rps');
            rows.push([name, peer, goal ? goal[0] : '-', goal ? goal[1] : '-',
                       rounds.marked(`${short(ratio)}x`, yardstick), verdict(ratio, goal)]);
        }
    }
    return `${table(['scenario', 'Kindex against', 'gate', 'goal', 'measured', 'verdict'],
                    rows)}\n${rounds.LEGEND}`;
}

function footprint(contenders) {
    return table(
        ['contender', 'load s', 'flushes per 20 writes', 'RSS MB',
         'disk bytes per user, with logs'],
        contenders.map((self) => [
            self.name, self.loadSeconds.toFixed(1), self.flushes,
            Math.round(residentBytes(self.pids) / 2 ** 20), self.diskPerUser,
        ]));
}

async function enterAll() {
    const contenders = [
        await enter('kindex', startKindex, kindex),
        await enter('node+sqlite', sqlite.start, sqlite),
        await enter('redis+webdis', webdis.start, webdis),
        await enter('etcd', etcd.start, etcd),
    ];
    for (const contender of contenders) {
        contender.diskPerUser = Math.round(
            diskBytes(contender.dir) / settings.users);
        contender.flushes = await checkDurability(contender);
        await checkAnswers(contender);
    }
    return contenders;
}

async function main() {
    fs.mkdirSync(settings.work, { recursive: true });
    console.log(machine());
    const contenders = await enterAll();
    const yardstick = await hello.start(settings.build);
    const steps = [helloStep(yardstick, 1), helloStep(yardstick, 64)];
    for (const scenario of SCENARIOS)
        for (const contender of contenders)
            steps.push(step(contender, scenario));
    const chosen = steps.filter(({ name }) =>
        settings.only.test(name) || name.includes('hello'));
    const results = await rounds.interleave(chosen, settings);
    console.log(`\n${rounds.detailTable(chosen, results)}`);
    console.log(`\n${footprint(contenders)}`);
    console.log(`\n${comparison(contenders, results)}`);
    console.log(`\n${rounds.quietness(results, 'GET: hello c=64')}`);
    for (const { server } of contenders) await stop(server);
    fs.rmSync(settings.work, { recursive: true, force: true });
    process.exit(0);
}

main().catch((error) => {
    console.error(`bench-peers: ${error.message}`);
    process.exit(1);
});

// What indexes that answer cost and save: inserts below an index of counts, of
// changes and of pointers, beside plain ones; a count of all entries by one
// read; a list of three merged ranges beside a list of one; and group counts
// beside PostgreSQL's while both take inserts. All steps are interleaved.
//
//   BUILD=build node tests/bench/answers.js [ROUNDS] [SECONDS] [ENTRIES]
//
// wrk has to be there, and PostgreSQL 15 for the last part.
'use strict';
const { execFile, execFileSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const kindex = require('./contenders/kindex');
const { cpuSeconds, expect2xx, pause, stop } = require('./server');

const build = path.resolve(process.env.BUILD || 'build');
const [rounds = 5, seconds = 2, entries = 1000000] =
    process.argv.slice(2).map(Number);
const LUA = path.join(__dirname, 'answers.lua');
const PG = '/usr/lib/postgresql/15/bin';
const CLIENTS = 64;
const KINDS = {
    plain: null,
    counts: { fields: ['/color'], store: { aggregate: { count: true } } },
    pointers: { fields: ['/date'] },
    changes: { fields: [{ versionstamp: true }], tombstones: '1h' },
};

function median(list) {
    return [...list].sort((a, b) => a - b)[list.length >> 1];
}

function run(command, args, options = {}) {
    return new Promise((resolve, reject) => execFile(command, args, options,
        (error, out, complaint) =>
            error ? reject(new Error(complaint || out)) : resolve(out)));
}

// Requests per second, and the server's processor time for each in us, which
// says more where other programs run as well.
async function wrk(self, target, connections, more = []) {
    const before = cpuSeconds(self.pids);
    const out = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`,
        '--latency', `http://127.0.0.1:${self.port}${target}`, ...more]);
    if (/Non-2xx|Socket errors/.test(out)) throw new Error(out);
    const [, count] = /(\d+) requests in/.exec(out);
    const cpu = (cpuSeconds(self.pids) - before) * 1e6 / count;
    return { rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(out)[1]), cpu };
}

const next = {};
async function insert(self, kind) {
    const before = next[kind] || 0;
    next[kind] = before + 10000000;
    return wrk(self, '/', CLIENTS, ['-s', LUA, '--', kind, String(before)]);
}

// Steps that are run in turn; resolves to the median of each.
async function interleaved(steps) {
    const figures = Object.fromEntries(Object.keys(steps).map((s) => [s, []]));
    for (let round = 0; round < rounds; round++)
        for (const [name, step] of Object.entries(steps))
            figures[name].push(await step());
    const of = (name, what) => median(figures[name].map((one) => one[what]));
    for (const name of Object.keys(figures))
        console.log(`  ${name}: ${Math.round(of(name, 'rate'))}/s, ` +
            `${of(name, 'cpu').toFixed(1)} us of the server`);
    return Object.fromEntries(Object.keys(figures).map((name) =>
        [name, { rate: of(name, 'rate'), cpu: of(name, 'cpu') }]));
}

// Of rates a / b, and of processor times b / a.
function ratio(what, a, b, wanted) {
    console.log(`${what}: ${(a.rate / b.rate).toFixed(2)}, of processor time ` +
        `${(b.cpu / a.cpu).toFixed(2)} (${wanted})`);
}

async function inserts(self) {
    for (const [kind, more] of Object.entries(KINDS))
        if (more)
            await kindex.declareOnly(self,
                { name: `by_${kind}`, prefix: [kind], ...more });
    console.log('inserts/s, c=64');
    const found = await interleaved(Object.fromEntries(
        Object.keys(KINDS).map((kind) => [kind, () => insert(self, kind)])));
    ratio('counts / plain', found.counts, found.plain, 'at least 0.9');
    ratio('changes / pointers', found.changes, found.pointers, 'about 1');
}

async function reads(self) {
    await kindex.store(self, 'many', entries, (n) => ({
        id: String(n).padStart(9, '0'),
        value: `{"status":"s${n % 3}","date":${n}}` }));
    for (const declaration of [
        { name: 'many_counted', prefix: ['many'], fields: [],
          store: { aggregate: { count: true } } },
        { name: 'by_status', prefix: ['many'], fields: ['/status', '/date'] }]) {
        await kindex.declareOnly(self, declaration);
        while ((await kindex.indexState(self, declaration.name)).state !== 'ready')
            await pause(20);
    }
    const { count } = JSON.parse(
        await expect2xx(self.port, { path: '/count?prefix=many' }));
    if (count !== entries) throw new Error(`${count} counted`);
    const list = '/list?index=by_status&limit=100&reverse=1';
    console.log('requests/s, c=1');
    const found = await interleaved({
        get: () => wrk(self, '/kv/many/000000001', 1),
        [`count of ${entries}`]: () => wrk(self, '/count?prefix=many', 1),
        'list of 100': () => wrk(self, `${list}&prefix=s1`, 1),
        'three merged ranges': () => wrk(self,
            `${list}&in=s0&in=s1&in=s2&order=merge`, 1),
    });
    ratio('time of a count / of a GET', found.get,
          found[`count of ${entries}`], 'one read');
    ratio('time of merged ranges / of a list', found['list of 100'],
          found['three merged ranges'], 'at most 1.5');
}

// Counts all groups again and again while `work` runs.
async function counting(ask, work) {
    let counts = 0;
    let ended = false;
    const began = Date.now();
    const done = work.then((rate) => { ended = true; return rate; });
    while (!ended) {
        await ask();
        counts++;
    }
    return { inserts: await done,
             counts: counts / ((Date.now() - began) / 1000) };
}

async function ours(self) {
    return counting(() => expect2xx(self.port, { path: '/list?index=by_counts' }),
                    insert(self, 'counts').then(({ rate }) => rate));
}

// A cluster for this run, which syncs as Kindex does. Root cannot run one.
class Postgres {
    constructor() {
        this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-answers-'));
        fs.chownSync(this.dir, ...['-u', '-g'].map(
            (of) => Number(execFileSync('id', [of, 'postgres']))));
    }

    as(...command) {
        return process.getuid() === 0
            ? run('runuser', ['-u', 'postgres', '--', ...command], { cwd: '/' })
            : run(command[0], command.slice(1));
    }

    async start() {
        const data = path.join(this.dir, 'data');
        await this.as(`${PG}/initdb`, '-D', data, '-A', 'trust');
        await this.as(`${PG}/pg_ctl`, '-D', data, '-w', '-l',
            path.join(this.dir, 'log'), '-o',
            `-c listen_addresses= -c unix_socket_directories=${this.dir} ` +
            '-c shared_buffers=1GB -c max_connections=200', 'start');
        await this.sql('CREATE TABLE u (id bigserial PRIMARY KEY, color text, ' +
            'body text); CREATE INDEX ON u (color); INSERT INTO u (color, body) ' +
            `SELECT 'c' || n % 8, repeat('x', 100) FROM generate_series(1, ` +
            `${this.rows}) n; ANALYZE u`);
        const script = path.join(this.dir, 'insert.sql');
        fs.writeFileSync(script, '\\set n random(0, 7)\n' +
            "INSERT INTO u (color, body) VALUES ('c' || :n, repeat('x', 100));\n");
        fs.chmodSync(this.dir, 0o755);
    }

    sql(text) {
        return this.as(`${PG}/psql`, '-qAt', '-h', this.dir, '-d', 'postgres',
                       '-c', text);
    }

    async insert() {
        const out = await this.as('pgbench', '-n', '-h', this.dir, '-M',
            'prepared', '-c', String(CLIENTS), '-j', '1', '-T', String(seconds),
            '-f', path.join(this.dir, 'insert.sql'), 'postgres');
        return Number(/tps = ([\d.]+)/.exec(out)[1]);
    }

    async round() {
        const script = path.join(this.dir, 'count.sql');
        fs.writeFileSync(script, 'SELECT color, count(*) FROM u GROUP BY color;\n');
        const [inserts, out] = await Promise.all([this.insert(),
            this.as('pgbench', '-n', '-h', this.dir, '-M', 'prepared', '-c', '1',
                '-T', String(seconds), '-f', script, 'postgres')]);
        return { inserts, counts: Number(/tps = ([\d.]+)/.exec(out)[1]) };
    }

    async stop() {
        await this.as(`${PG}/pg_ctl`, '-D', path.join(this.dir, 'data'), '-w',
                      '-m', 'immediate', 'stop');
        fs.rmSync(this.dir, { recursive: true });
    }
}

async function groups(self) {
    if (!fs.existsSync(`${PG}/postgres`)) return;
    const { entries: rows } = await kindex.indexState(self, 'by_counts');
    const { count } = JSON.parse(
        await expect2xx(self.port, { path: '/aggregate?index=by_counts' }));
    const postgres = new Postgres();
    postgres.rows = count;
    await postgres.start();
    console.log(`${rows} groups of ${count} entries, counted by one client ` +
        `while ${CLIENTS} insert: counts/s, inserts/s`);
    const figures = { kindex: [], postgresql: [] };
    for (let round = 0; round < rounds; round++) {
        figures.kindex.push(await ours(self));
        figures.postgresql.push(await postgres.round());
    }
    for (const [name, list] of Object.entries(figures))
        console.log(`  ${name}: ${['counts', 'inserts'].map((of) =>
            median(list.map((one) => one[of])).toFixed(1)).join(', ')}`);
    await postgres.stop();
}

async function main() {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-answers-'));
    const self = await kindex.start(build, dir, '1GiB');
    console.log(`load of the machine: ${os.loadavg()[0].toFixed(1)}`);
    await inserts(self);
    await reads(self);
    await groups(self);
    await stop(self.server);
    fs.rmSync(dir, { recursive: true });
}

main().then(() => process.exit(0), (error) => {
    console.error(error.stack);
    process.exit(1);
});

// The steps of `make bench`. Everything but an insert replays the same file in
// every round, and hello is asked exactly what Kindex is asked.
'use strict';
const path = require('path');
const kindex = require('./contenders/kindex');
const sqlite = require('./contenders/sqlite');
const data = require('./data');
const kvconnect = require('./kvconnect');
const pieces = require('./pieces');
const { write } = require('./requests');

const READS = 100000;
const WRITES = 40000;
const LISTS = 20000;
const LARGE = 10000;
const INSERTS = 90000;
const GROUPS = 8;
// Writes are paid for by checkpoints as well, one every few seconds: a step that
// is compared with another must be long enough for its own ones, or it pays for
// the step before it.
const LONG = 4;
const CONNECTIONS = [1, 16, 64, 256];
const STALLS = [127, 128, 129, 384];
const STALL_ROUNDS = 2;

// Numbers without order, the same in every run.
function randomly(bound, make) {
    const random = data.sequence(7);
    return () => make(random(bound));
}

// A step whose requests are written once, when it is first run.
function replay(file, count, make) {
    let written = false;
    return () => {
        if (!written) write(file, count, make);
        written = true;
        return file;
    };
}

// A step that needs records that are not inserted yet, in every round.
function insertions(file, from, make) {
    let next = from;
    return () => {
        write(file, LONG * INSERTS, (i) => make(next + i));
        next += LONG * INSERTS;
        return file;
    };
}

function item(n, records, size) {
    return {
        get: { path: `/kv/items/${data.itemId(n)}` },
        put: { method: 'PUT', path: `/kv/items/${data.itemId(n)}`,
               body: data.value(n, records, size) },
    };
}

// One in `every` requests is a PUT.
function mix(records, every) {
    const random = data.sequence(11);
    return (i) => {
        const { get, put } = item(random(records), records);
        return i % every === every - 1 ? put : get;
    };
}

function large(kind) {
    return randomly(LARGE, (n) => {
        const { get, put } = item(n, LARGE, 4096);
        const request = kind === 'get' ? get : put;
        return { ...request, path: request.path.replace('items', 'large') };
    });
}

// The same question to both; names carry the number of connections.
function throughput(servers, files) {
    const steps = [];
    for (const c of [...CONNECTIONS, ...STALLS]) {
        const limit = STALLS.includes(c) ? { rounds: STALL_ROUNDS } : {};
        const base = `hello GET c=${c}`;
        const add = (contender, name, requests, more) => steps.push(
            { name: `${name} c=${c}`, contender, connections: c, requests,
              base, ...limit, ...more });
        add(servers.hello, 'hello GET', files.get);
        add(servers.kindex, 'GET', files.get);
        add(servers.kindex, 'PUT', files.put, { times: LONG });
    }
    return steps;
}

// hello, like every server on the library alone, would let the second piece wait
// for 40 ms: it is asked in one.
function inPieces({ hello, kindex: ours }) {
    const base = 'hello PUT of 2 KB, one at a time';
    return [
        { name: base, contender: hello, base,
          drive: (seconds) => pieces.put(hello.port, seconds, 1) },
        { name: 'PUT of 2 KB in two pieces, one at a time', contender: ours,
          base, drive: (seconds) => pieces.put(ours.port, seconds, 2) },
    ];
}

function scenarios(servers, { work, records, users }) {
    const inWork = (name) => path.join(work, `${name}.txt`);
    const ask = kindex.questions(users);
    const theirs = sqlite.questions(users);
    const files = {
        get: replay(inWork('get'), READS,
                    randomly(records, (n) => item(n, records).get)),
        put: replay(inWork('put'), WRITES,
                    randomly(records, (n) => item(n, records).put)),
    };
    const plain = (n) => ({ ...ask.insert(n),
                            path: `/kv/plain/${data.userId(n)}` });
    const counted = (n) => ({ ...ask.insert(n),
                              path: `/kv/counted/${data.userId(n)}`,
                              body: data.value(n, GROUPS * data.USERS_PER_COLOR) });
    const at64 = (contender, name, requests, more = {}) => ({
        name, contender, connections: 64, requests, base: 'hello GET c=64',
        ...more,
    });
    const inserting = { fresh: LONG * INSERTS, times: LONG };
    const steps = [
        at64(servers.hello, 'hello parked PUT', files.put),
        at64(servers.kindex, 'insert plain',
             insertions(inWork('plain'), users, plain), inserting),
        at64(servers.kindex, 'insert indexed',
             insertions(inWork('indexed'), users, ask.insert), inserting),
        at64(servers.kindex, 'insert counted',
             insertions(inWork('counted'), users, counted), inserting),
        at64(servers.kindex, 'list 100',
             replay(inWork('list'), LISTS, randomly(users - 100, ask.list))),
        at64(servers.kindex, 'query 100',
             replay(inWork('query'), LISTS, randomly(users, ask.query))),
        at64(servers.kindex, 'query 100 of copies',
             replay(inWork('copies'), LISTS, randomly(users, ask.copies))),
        at64(servers.kindex, 'mix 95/5',
             replay(inWork('mix95'), READS, mix(records, 20)),
             { times: LONG }),
        at64(servers.kindex, 'mix 50/50',
             replay(inWork('mix50'), WRITES, mix(records, 2)),
             { times: LONG }),
        at64(servers.kindex, 'GET 4 KB',
             replay(inWork('get4k'), WRITES, large('get'))),
        at64(servers.kindex, 'PUT 4 KB',
             replay(inWork('put4k'), LARGE, large('put'))),
    ];
    if (servers.sqlite)
        steps.push(at64(servers.sqlite, 'query 100 node+sqlite',
                        replay(inWork('theirs'), LISTS,
                               randomly(users, theirs.query))));
    if (servers.deno)
        steps.push(...kvconnect.steps(
            servers.deno, work, (name, count, make) => at64(
                servers.kindex, name, replay(inWork(name), count, make))));
    return [...throughput(servers, files), ...inPieces(servers), ...steps];
}

module.exports = { scenarios, STALLS };

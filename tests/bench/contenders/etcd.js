// etcd through its JSON gateway; it speaks base64. Its index query gives the
// index entries only: a client would still have to fetch the 100 records.
'use strict';
const path = require('path');
const data = require('../data');
const { expect2xx, freePort, launch, waitReady } = require('../server');

const OPERATIONS = 498;
const PARALLEL = 4;
const RANGE = '/v3/kv/range';

function base64(text) {
    return Buffer.from(text).toString('base64');
}

function post(target, body) {
    return { method: 'POST', path: target, body: JSON.stringify(body) };
}

function puts(n, users) {
    const id = data.userId(n);
    const pairs = [
        [`users/${id}`, data.value(n, users)],
        [`users_by_email/${data.email(n)}`, id],
        [`users_by_color/${data.color(n, users)}/${id}`, id],
    ];
    return pairs.map(([key, value]) => ({
        requestPut: { key: base64(key), value: base64(value) },
    }));
}

async function load(port, users) {
    let next = 0;
    async function worker() {
        while (next < users) {
            const success = [];
            while (next < users && success.length < OPERATIONS)
                success.push(...puts(next++, users));
            await expect2xx(port, post('/v3/kv/txn', { success }));
        }
    }
    await Promise.all(Array.from({ length: PARALLEL }, worker));
}

async function start(build, dir, users) {
    const [port, peer] = [await freePort(), await freePort()];
    const [client, other] = [port, peer].map((p) => `http://127.0.0.1:${p}`);
    const server = launch('etcd', [
        '--data-dir', dir, '--listen-client-urls', client,
        '--advertise-client-urls', client, '--listen-peer-urls', other,
        '--initial-advertise-peer-urls', other,
        '--initial-cluster', `default=${other}`, '--log-level', 'error',
        '--max-txn-ops', '512', '--quota-backend-bytes', '8589934592',
    ], path.join(build, 'bench/log/etcd.log'));
    await waitReady(server, port, post(RANGE, { key: base64('x') }));
    await load(port, users);
    return { name: 'etcd', server, port, pids: [server.pid],
             writer: server.pid, dir };
}

function insert(n, users) {
    const compare = [{
        key: base64(`users_by_email/${data.email(n)}`),
        target: 'CREATE', createRevision: '0',
    }];
    return post('/v3/kv/txn', { compare, success: puts(n, users) });
}

function questions(users) {
    return {
        get: (n) => post(RANGE, { key: base64(`users/${data.userId(n)}`) }),
        put: (n) => post('/v3/kv/put', {
            key: base64(`users/${data.userId(n)}`),
            value: base64(data.value(n, users)),
        }),
        insert: (n) => insert(n, users),
        list: (n) => post(RANGE, {
            key: base64(`users/${data.userId(n)}`),
            rangeEnd: base64(`users/${data.userId(n + 100)}`),
        }),
        query: (n) => post(RANGE, {
            key: base64(`users_by_color/${data.color(n, users)}/`),
            rangeEnd: base64(`users_by_color/${data.color(n, users)}0`),
            limit: '100',
        }),
        entries: (body) => JSON.parse(body).kvs.length,
    };
}

module.exports = { start, questions };

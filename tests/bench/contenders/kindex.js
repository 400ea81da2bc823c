// Kindex itself, spoken to through its own API only.
'use strict';
const path = require('path');
const data = require('../data');
const {
    expect2xx, freePort, idle, launch, pause, waitReady,
} = require('../server');

const MUTATIONS = 500;
const PARALLEL = 4;
const POLL_MS = 5;
const USER_INDEXES = [
    { name: 'users_by_email', fields: ['/email'], unique: true },
    { name: 'users_by_color', fields: ['/color'] },
];

async function start(build, dir, cache) {
    const port = await freePort();
    const args = ['serve', '--data', dir, '--listen', `127.0.0.1:${port}`,
                  '--connections-per-address', '4096', '--cache', cache];
    const server = launch(path.join(build, 'kindex'), args,
                          path.join(build, 'bench/log/kindex.log'));
    const self = { name: 'kindex', server, port, pids: [server.pid], dir };
    await waitReady(server, port, { path: '/readyz' });
    return self;
}

function send(self, method, target, document) {
    const body = document && JSON.stringify(document);
    return expect2xx(self.port, { method, path: target, body });
}

// Stores `count` records under a prefix; record(n) gives { id, value }. The
// bodies are put together as text: a value is JSON already.
async function store(self, prefix, count, record, batch = MUTATIONS) {
    let next = 0;
    async function worker() {
        while (next < count) {
            const mutations = [];
            for (; next < count && mutations.length < batch; next++) {
                const { id, value } = record(next);
                mutations.push(`{"type":"set","key":["${prefix}","${id}"],` +
                    `"value":${value}}`);
            }
            const body = `{"mutations":[${mutations.join(',')}]}`;
            await expect2xx(self.port,
                            { method: 'POST', path: '/atomic', body });
        }
    }
    await Promise.all(Array.from({ length: PARALLEL }, worker));
}

async function indexState(self, name) {
    return JSON.parse(await send(self, 'GET', `/indexes/${name}`));
}

async function waitForIndex(self, name) {
    for (;;) {
        const index = await indexState(self, name);
        if (index.state === 'ready') return;
        if (index.state !== 'building')
            throw new Error(`${name} became ${index.state}`);
        await pause(POLL_MS);
    }
}

function declareOnly(self, index) {
    return send(self, 'POST', '/indexes', index);
}

async function declare(self, index) {
    await declareOnly(self, index);
    await waitForIndex(self, index.name);
}

// Resolves when the index is gone and the work of freeing it has ended.
async function drop(self, name) {
    await expect2xx(self.port,
                    { method: 'DELETE', path: `/indexes/${name}` });
    await idle(self.pids);
}

async function loadUsers(self, users) {
    for (const index of USER_INDEXES)
        await declare(self, { ...index, prefix: ['users'] });
    await store(self, 'users', users, (n) => ({
        id: data.userId(n), value: data.value(n, users),
    }));
}

// The same records with an index that holds copies of them. Not among the users:
// an insert of those has two indexes to keep.
async function loadCopies(self, users) {
    await declare(self, { name: 'copies_by_color', prefix: ['copies'],
                          fields: ['/color'], store: 'value' });
    await store(self, 'copies', users, (n) => ({
        id: data.userId(n), value: data.value(n, users),
    }));
}

// An index that counts: every insert below this prefix changes one of few groups.
async function declareTotals(self) {
    await declare(self, { name: 'counted_by_color', prefix: ['counted'],
                          fields: ['/color'],
                          store: { aggregate: { count: true } } });
}

// What the scenarios ask, by number of item or user.
function questions(users) {
    return {
        get: (n) => ({ path: `/kv/users/${data.userId(n)}` }),
        put: (n) => ({
            method: 'PUT', path: `/kv/users/${data.userId(n)}`,
            body: data.value(n, users),
        }),
        insert: (n) => ({
            method: 'PUT', path: `/kv/users/${data.userId(n)}`,
            body: data.value(n, users),
        }),
        list: (n) => ({
            path: `/list?start=users/${data.userId(n)}&end=users/user-9` +
                '&limit=100',
        }),
        query: (n) => ({
            path: `/list?index=users_by_color&prefix=${data.color(n, users)}` +
                '&limit=100',
        }),
        copies: (n) => ({
            path: `/list?index=copies_by_color&prefix=${data.color(n, users)}` +
                '&limit=100',
        }),
        entries: (body) => JSON.parse(body).entries.length,
    };
}

module.exports = {
    start, store, declare, declareOnly, indexState, drop, loadUsers, loadCopies, declareTotals,
    questions,
};

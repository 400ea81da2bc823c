// Node's http with better-sqlite3: what most people would write first.
'use strict';
const path = require('path');
const data = require('../data');
const { freePort, launch, waitReady } = require('../server');

// The server loads its own users before it listens.
async function start(build, dir, users) {
    const port = await freePort();
    const server = launch(
        process.execPath,
        [path.join(__dirname, 'sqlite_server.js'), String(port), dir,
         path.join(build, 'bench/npm'), String(users)],
        path.join(build, 'bench/log/sqlite.log'));
    await waitReady(server, port, { path: '/ready' });
    return { name: 'node+sqlite', server, port, pids: [server.pid],
             writer: server.pid, dir };
}

function questions(users) {
    return {
        get: (n) => ({ path: `/kv/users/${data.userId(n)}` }),
        put: (n) => ({
            method: 'PUT', path: `/kv/users/${data.userId(n)}`,
            body: data.value(n, users),
        }),
        insert: (n) => ({
            method: 'POST', path: `/users/${data.userId(n)}`,
            body: data.value(n, users),
        }),
        list: (n) => ({ path: `/list?start=users/${data.userId(n)}` }),
        query: (n) => ({ path: `/query?color=${data.color(n, users)}` }),
        entries: (body) => JSON.parse(body).entries.length,
    };
}

module.exports = { start, questions };

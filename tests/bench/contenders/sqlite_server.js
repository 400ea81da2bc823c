// A key-value server in Node over better-sqlite3, durable at every commit (WAL,
// synchronous=FULL), with the answers in the shape of Kindex. It is written to
// be fast: prepared statements, and values passed on as the text they are.
//   node sqlite_server.js PORT DIR NPM USERS
'use strict';
const fs = require('fs');
const http = require('http');
const { createRequire } = require('module');
const path = require('path');
const data = require('../data');

const [port, dir, npm, users] = process.argv.slice(2);
const Database = createRequire(path.join(path.resolve(npm), 'x.js'))(
    'better-sqlite3');
fs.mkdirSync(dir, { recursive: true });
const db = new Database(path.join(dir, 'kv.sqlite'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.pragma('cache_size = -524288');
db.exec(`
    CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL,
                     stamp TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE by_email (email TEXT PRIMARY KEY, key TEXT NOT NULL)
        WITHOUT ROWID;
    CREATE TABLE by_color (color TEXT, key TEXT, PRIMARY KEY (color, key))
        WITHOUT ROWID`);

const get = db.prepare('SELECT value, stamp FROM kv WHERE key = ?');
const put = db.prepare(`INSERT INTO kv VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value,
                                    stamp = excluded.stamp`);
const insertEntry = db.prepare('INSERT INTO kv VALUES (?, ?, ?)');
const insertEmail = db.prepare('INSERT INTO by_email VALUES (?, ?)');
const insertColor = db.prepare('INSERT INTO by_color VALUES (?, ?)');
const list = db.prepare(`SELECT key, value, stamp FROM kv WHERE key >= ?
    ORDER BY key LIMIT 100`).raw();
const query = db.prepare(`SELECT kv.key, value, stamp FROM by_color
    JOIN kv ON kv.key = by_color.key WHERE color = ?
    ORDER BY by_color.key LIMIT 100`).raw();
let commits = 0;

function nextStamp() {
    return (++commits).toString(16).padStart(16, '0').padEnd(20, '0');
}

const insertUser = db.transaction((key, value) => {
    const user = JSON.parse(value);
    insertEntry.run(key, value, nextStamp());
    insertEmail.run(user.email, key);
    insertColor.run(user.color, key);
});

const load = db.transaction((from, to) => {
    for (let n = from; n < to; n++)
        insertUser(`users/${data.userId(n)}`, data.value(n, Number(users)));
});

function entries(rows) {
    const parts = rows.map(([key, value, stamp]) =>
        `{"key":["${key.replace('/', '","')}"],"value":${value},` +
        `"versionstamp":"${stamp}"}`);
    return `{"entries":[${parts.join(',')}],"cursor":null}`;
}

function send(reply, status, body) {
    reply.writeHead(status, {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
    });
    reply.end(body);
}

function read(url, reply) {
    const argument = url.slice(url.indexOf('=') + 1);
    if (url.startsWith('/kv/')) {
        const row = get.get(url.slice(4));
        return row ? send(reply, 200, row.value) : send(reply, 404, '{}');
    }
    if (url.startsWith('/list')) return send(reply, 200,
                                             entries(list.all(argument)));
    if (url.startsWith('/query')) return send(reply, 200,
                                              entries(query.all(argument)));
    return send(reply, 200, '{}');
}

function write(method, url, body, reply) {
    try {
        JSON.parse(body);
        if (method === 'PUT') put.run(url.slice(4), body, nextStamp());
        else insertUser(url.slice(1), body);
        send(reply, 200, '{"ok":true}');
    } catch (error) {
        send(reply, 409, JSON.stringify({ detail: error.message }));
    }
}

for (let n = 0; n < users; n += 1000) load(n, Math.min(n + 1000, users));
http.createServer((request, reply) => {
    if (request.method === 'GET') return read(request.url, reply);
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part) => { body += part; });
    return request.on('end', () =>
        write(request.method, request.url, body, reply));
}).listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 });

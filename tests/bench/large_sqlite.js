// What large.sh measures, of SQLite in this process (better-sqlite3), without HTTP: the
// same users with two indexes by members of the JSON text, durable at each commit.
//   large_sqlite.js ENTRIES DIRECTORY NPM     prints a row of large.sh's table, and each
//                                             figure to stderr once it is known
'use strict';
const fs = require('fs');
const path = require('path');
const { createRequire } = require('module');

const [entries, directory, npm] = [Number(process.argv[2]), process.argv[3], process.argv[4]];
const Database = createRequire(path.join(path.resolve(npm), 'x.js'))('better-sqlite3');
const SECONDS = Number(process.env.SECONDS_OF ?? 10);
const WARM = 300000;
const TOGETHER = 10000; // entries of a transaction of the import
const MILLION = 1000000;

const key = (n) => (Math.imul(n, 2654435761) >>> 0).toString(16).padStart(8, '0');
const value = (n) => {
    const email = Math.imul(Math.imul(n, 2654435761) >>> 0, 40503) >>> 0;
    return `{"email":"user${email}@example.org","city":"city${email % 1000}","n":${n},"note":"${'x'.repeat(110)}"}`;
};
const random = (below) => Math.floor(Math.random() * below);
const seconds = (began) => (performance.now() - began) / 1000;
const figure = (name, value) => {
    console.error(`SQLite, ${entries}: ${name} ${value}`);
    return value;
};

function open() {
    const db = new Database(path.join(directory, 'users.sqlite'));
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('cache_size = -3145728');
    return db;
}

// How often it can be done in a second.
function rate(run) {
    const began = performance.now();
    let count = 0;
    while (seconds(began) < SECONDS) for (let i = 0; i < 20; i++, count++) run();
    return Math.round(count / seconds(began));
}

let db = open();
db.exec('CREATE TABLE users (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID');
const insert = db.prepare('INSERT INTO users VALUES (?, ?)');
const some = db.transaction((from, to) => { for (let n = from; n < to; n++) insert.run(key(n), value(n)); });
let began = performance.now();
for (let n = 0; n < entries; n += TOGETHER) {
    some(n, Math.min(n + TOGETHER, entries));
    if (n % MILLION === 0 && n > 0) figure('seconds for', `${n}: ${seconds(began).toFixed(1)}`);
}
const imported = figure('import/s', Math.round(entries / seconds(began)));
began = performance.now();
db.exec("CREATE INDEX by_email ON users (value->>'email')");
db.exec("CREATE INDEX by_city ON users (value->>'city')");
const built = figure('indexes, s', seconds(began));

const get = db.prepare('SELECT value FROM users WHERE key = ?');
const list = db.prepare("SELECT key, value FROM users WHERE value->>'city' = ? LIMIT 100");
const update = db.prepare('UPDATE users SET value = ? WHERE key = ?');
const warm = () => get.get(key(random(Math.min(entries, WARM))));
rate(warm);
const gets = figure('get/s', rate(warm));
const lists = figure('list/s', rate(() => list.all(`city${random(1000)}`)));
const updates = figure('update/s', rate(() => update.run(value(random(4294967296)), key(random(entries)))));
db.close();
began = performance.now();
db = open();
db.prepare('SELECT 1 FROM users LIMIT 1').get();
const opened = Math.round(seconds(began) * 1000);
began = performance.now();
const { count } = db.prepare('SELECT count(*) AS count FROM users').get();
if (count !== entries) throw new Error(`${count} entries`);
console.log(`| SQLite: ${entries} | ${imported} | - | ${Math.round(2 * entries / built)} | ${built.toFixed(1)} | - | ` +
    `${gets} | ${lists} | ${updates} | (closed: ${opened}) | ${Math.round(seconds(began) * 1000)} |`);
fs.rmSync(directory, { recursive: true });

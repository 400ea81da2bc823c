// Redis with webdis, append-only file with an fsync at every write. Redis has
// neither ordered keys nor indexes, so Lua in the server keeps a sorted set of
// all users and one per colour, and refuses a second user with an e-mail.
'use strict';
const fs = require('fs');
const net = require('net');
const path = require('path');
const data = require('../data');
const { expect2xx, freePort, launch, waitReady } = require('../server');

const BATCH = 1000;
const SCRIPTS = {
    insert: `if redis.call('SETNX', 'email:' .. ARGV[2], ARGV[1]) == 0 then
                 return redis.error_reply('email taken') end
             redis.call('SET', 'user:' .. ARGV[1], ARGV[4])
             redis.call('ZADD', 'users', 0, ARGV[1])
             redis.call('ZADD', 'color:' .. ARGV[3], 0, ARGV[1])
             return 1`,
    list: `local ids = redis.call('ZRANGEBYLEX', 'users', '[' .. ARGV[1], '+',
                                  'LIMIT', 0, 100)
           for i, id in ipairs(ids) do ids[i] = 'user:' .. id end
           return redis.call('MGET', unpack(ids))`,
    query: `local ids = redis.call('ZRANGE', 'color:' .. ARGV[1], 0, 99)
            for i, id in ipairs(ids) do ids[i] = 'user:' .. id end
            return redis.call('MGET', unpack(ids))`,
};

// Sends commands in Redis' own protocol and resolves when all are answered.
// Every answer used here is one line, or a bulk string of one line.
function pipeline(socket, commands) {
    const text = commands.map((words) => `*${words.length}\r\n` +
        words.map((word) => `$${word.length}\r\n${word}\r\n`).join(''));
    return new Promise((resolve, reject) => {
        let answers = '';
        let lines = 0;
        const perAnswer = commands[0][0] === 'SCRIPT' ? 2 : 1;
        const expected = commands.length * perAnswer;
        const take = (part) => {
            answers += part;
            if (part[0] === '-') reject(new Error(part));
            lines += part.split('\r\n').length - 1;
            if (lines < expected) return;
            socket.off('data', take);
            resolve(answers);
        };
        socket.on('data', take);
        socket.write(text.join(''), 'latin1');
    });
}

async function loadScripts(socket) {
    const hashes = {};
    for (const [name, script] of Object.entries(SCRIPTS)) {
        const answer = await pipeline(socket, [['SCRIPT', 'LOAD', script]]);
        hashes[name] = answer.split('\r\n')[1];
    }
    return hashes;
}

function insertCommand(hash, n, users) {
    return ['EVALSHA', hash, '0', data.userId(n), data.email(n),
            data.color(n, users), data.value(n, users)];
}

async function load(socket, hash, users) {
    for (let n = 0; n < users; n += BATCH) {
        const size = Math.min(BATCH, users - n);
        await pipeline(socket, Array.from({ length: size }, (_, i) =>
            insertCommand(hash, n + i, users)));
    }
}

async function startWebdis(build, dir, redisPort) {
    const port = await freePort();
    const config = path.join(dir, 'webdis.json');
    fs.writeFileSync(config, JSON.stringify({
        redis_host: '127.0.0.1', redis_port: redisPort, redis_auth: null,
        http_host: '127.0.0.1', http_port: port, threads: 2, pool_size: 20,
        daemonize: false, websockets: false, database: 0, verbosity: 0,
        acl: [], logfile: path.join(dir, 'webdis.log'),
        pidfile: path.join(dir, 'webdis.pid'),
    }));
    const server = launch('webdis', [config],
                          path.join(build, 'bench/log/webdis.log'));
    await waitReady(server, port, { path: '/PING' });
    return { server, port };
}

async function start(build, dir, users) {
    fs.mkdirSync(dir, { recursive: true });
    const redisPort = await freePort();
    const redis = launch('redis-server', [
        '--port', String(redisPort), '--bind', '127.0.0.1', '--dir', dir,
        '--appendonly', 'yes', '--appendfsync', 'always', '--save', '',
        '--auto-aof-rewrite-percentage', '0',
    ], path.join(build, 'bench/log/redis.log'));
    const webdis = await startWebdis(build, dir, redisPort);
    await expect2xx(webdis.port, { path: '/PING' });
    const socket = net.connect(redisPort, '127.0.0.1').setEncoding('latin1');
    const hashes = await loadScripts(socket);
    await load(socket, hashes.insert, users);
    socket.destroy();
    return { name: 'redis+webdis', server: redis, port: webdis.port, hashes,
             pids: [redis.pid, webdis.server.pid], writer: redis.pid, dir };
}

function questions(users, { hashes }) {
    const script = (name, word) => ({
        path: `/EVALSHA/${hashes[name]}/0/${word}`,
    });
    return {
        get: (n) => ({ path: `/GET/user:${data.userId(n)}` }),
        put: (n) => ({
            method: 'PUT', path: `/SET/user:${data.userId(n)}`,
            body: data.value(n, users),
        }),
        insert: (n) => ({
            method: 'POST', path: '/',
            body: insertCommand(hashes.insert, n, users)
                .map(encodeURIComponent).join('/'),
        }),
        list: (n) => script('list', data.userId(n)),
        query: (n) => script('query', data.color(n, users)),
        entries: (body) => JSON.parse(body).EVALSHA.length,
    };
}

module.exports = { start, questions };

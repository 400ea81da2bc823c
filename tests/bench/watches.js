// What parked watches cost: memory of each, and the throughput of others beside
// them. Two small servers with the same entries take turns, one of them with
// 2,000 watches over HTTP/1.1. They begin one after the other within the time
// between two signs of life, so that those are as frequent in every second as
// they are in the long run.
'use strict';
const http2 = require('http2');
const net = require('net');
const path = require('path');
const kindex = require('./contenders/kindex');
const data = require('./data');
const { PROTOBUF, field, keyOf } = require('./kvconnect');
const { write } = require('./requests');
const { wrk } = require('./rounds');
const { pause, residentBytes, stop } = require('./server');
const { fresh } = require('./settings');

const WATCHES = 2000;
const SILENCE_MS = 5000;
const STREAMS = 100;
const STEPS = 100;
const RECORDS = 10000;
const REQUESTS = 40000;
const CONNECTIONS = 64;

async function start({ build, cache }, name) {
    const self = await kindex.start(build, fresh(name), cache);
    await kindex.store(self, 'items', RECORDS, (n) => ({
        id: data.itemId(n), value: data.value(n, RECORDS),
    }));
    return self;
}

function mixFile(work) {
    const random = data.sequence(23);
    const file = path.join(work, 'watches.txt');
    write(file, REQUESTS, (i) => {
        const n = random(RECORDS);
        const target = { path: `/kv/items/${data.itemId(n)}` };
        return i % 2 ? target
            : { ...target, method: 'PUT', body: data.value(n, RECORDS) };
    });
    return file;
}

function watchMessage(n) {
    return field(1, field(1, keyOf('watched', data.itemId(n))));
}

// A connection for each watch, as @deno/kv has them. Resolves to the socket when
// the server has begun to answer.
function parkHttp1({ port }, n) {
    const body = watchMessage(n);
    const head = 'POST /v2/watch HTTP/1.1\r\nHost: 127.0.0.1\r\n' +
        `Content-Type: ${PROTOBUF}\r\nContent-Length: ${body.length}\r\n\r\n`;
    return new Promise((resolve, reject) => {
        const socket = net.connect(port, '127.0.0.1');
        socket.once('error', reject);
        socket.once('data', (answer) => {
            if (/^HTTP\/1.1 200 /.test(answer)) resolve(socket);
            else reject(new Error(`watch: ${answer}`));
        });
        socket.on('data', () => {});
        socket.write(Buffer.concat([Buffer.from(head), body]));
    });
}

// Many watches in a connection, as Deno has them. Resolves to the stream.
function parkHttp2({ port, sessions }, n) {
    if (n % STREAMS === 0)
        sessions.push(http2.connect(`http://127.0.0.1:${port}`));
    return new Promise((resolve, reject) => {
        const stream = sessions.at(-1).request({
            ':method': 'POST', ':path': '/v2/watch', 'content-type': PROTOBUF,
        });
        stream.once('error', reject);
        stream.once('response', ({ ':status': status }) => {
            if (status === 200) resolve(stream);
            else reject(new Error(`watch: ${status}`));
        });
        stream.on('data', () => {});
        stream.end(watchMessage(n));
    });
}

// All of them with `way`; { parked, kilobytes }: what one takes of memory.
async function parkAll(server, way) {
    const before = residentBytes(server.pids);
    const at = { port: server.port, sessions: [] };
    const parked = [];
    for (let step = 0; step < STEPS; step++) {
        const next = pause(SILENCE_MS / STEPS);
        for (let i = 0; i < WATCHES / STEPS; i++)
            parked.push(way(at, parked.length));
        await next;
    }
    const watches = await Promise.all(parked);
    const bytes = residentBytes(server.pids) - before;
    return { watches, kilobytes: bytes / WATCHES / 1024 };
}

async function rate(self, seconds, file) {
    const run = await wrk(self.port, CONNECTIONS, seconds, file);
    if (run.status || run.socket)
        throw new Error(`${run.status} answers beside watches were not 2xx, ` +
            `${run.socket} socket errors`);
    return run.requests / run.us * 1e6;
}

// Pairs of runs, each pair beginning with the other server.
async function compare(without, beside, { rounds, seconds }, file) {
    const ratios = [];
    for (let round = 0; round < rounds; round++) {
        const rates = new Map();
        const order = [without, beside];
        if (round % 2) order.reverse();
        for (const self of order)
            rates.set(self, await rate(self, seconds, file));
        ratios.push(rates.get(beside) / rates.get(without));
    }
    return ratios;
}

function checkOpen({ watches }) {
    const lost = watches.filter(({ destroyed }) => destroyed).length;
    if (lost) throw new Error(`${lost} watches were closed`);
}

// The load runs before memory is looked at: what it needs is no watch's.
async function measure(settings) {
    const file = mixFile(settings.work);
    const without = await start(settings, 'unwatched');
    const beside = await start(settings, 'watched');
    for (const self of [without, beside])
        await rate(self, settings.seconds, file);
    const http1 = await parkAll(beside, parkHttp1);
    const ratios = await compare(without, beside, settings, file);
    checkOpen(http1);
    await stop(beside.server);
    const overHttp2 = await parkAll(without, parkHttp2);
    checkOpen(overHttp2);
    await stop(without.server);
    return { ratios, http1: http1.kilobytes, http2: overHttp2.kilobytes };
}

module.exports = { measure };

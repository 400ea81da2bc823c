// One client that PUTs 2 KB, one request at a time, on one connection whose
// kernel keeps small pieces back until all before them are acknowledged (Nagle's
// algorithm): head and body in two writes, as Deno and many libraries send them,
// or in one.
'use strict';
const net = require('net');
const data = require('./data');
const { bytes } = require('./requests');

const SIZE = 2048;

function connect(port) {
    return new Promise((resolve, reject) => {
        const socket = net.connect({ host: '127.0.0.1', port, noDelay: false },
                                   () => resolve(socket));
        socket.on('error', reject);
    });
}

// The status of the answer, which comes in one piece.
function answer(socket) {
    return new Promise((resolve) => socket.once('data', (head) =>
        resolve(Number(head.toString('latin1', 9, 12)))));
}

// Resolves to what replay.lua would report.
async function put(port, seconds, pieces) {
    const socket = await connect(port);
    const times = [];
    const began = performance.now();
    let status = 0;
    for (let now = began; now - began < seconds * 1000;) {
        const n = times.length % 1000;
        const request = bytes({ method: 'PUT', path: `/kv/pieces/${n}`,
                                body: data.value(n, 1000, SIZE) });
        const head = request.indexOf('\r\n\r\n') + 4;
        const answered = answer(socket);
        if (pieces === 1) socket.write(request, 'latin1');
        else {
            socket.write(request.slice(0, head), 'latin1');
            socket.write(request.slice(head), 'latin1');
        }
        if (Math.floor(await answered / 100) !== 2) status++;
        const later = performance.now();
        times.push((later - now) * 1000);
        now = later;
    }
    const us = (performance.now() - began) * 1000;
    socket.destroy();
    times.sort((a, b) => a - b);
    const share = (part) => times[Math.floor(times.length * part)];
    return { requests: times.length, us, p50: share(0.5), p99: share(0.99),
             max: times.at(-1), status, socket: 0 };
}

module.exports = { put };

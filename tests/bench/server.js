// A server under test: started on a free port, watched through /proc, stopped
// by its own process id.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const http = require('http');
const net = require('net');
const path = require('path');

const TICKS = 100;
const PATIENCE_MS = 120000;
const IDLE_MS = 300;
const IDLE_CPU = 0.02;
const running = new Set();
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

function pause(ms) {
    return new Promise((resolve) => setTimeout(resolve, ms));
}

function freePort() {
    return new Promise((resolve, reject) => {
        const probe = net.createServer().on('error', reject);
        probe.listen(0, '127.0.0.1', () => {
            const { port } = probe.address();
            probe.close(() => resolve(port));
        });
    });
}

// One process; what it says goes to the log file.
function launch(command, args, log) {
    fs.mkdirSync(path.dirname(log), { recursive: true });
    const out = fs.openSync(log, 'a');
    const child = spawn(command, args, { stdio: ['ignore', out, out] });
    fs.closeSync(out);
    const server = { child, pid: child.pid, log, ended: false };
    server.end = new Promise((resolve) => {
        child.on('error', resolve);
        child.on('exit', resolve);
    }).then(() => {
        server.ended = true;
        running.delete(server);
    });
    running.add(server);
    return server;
}

async function stop(server, signal = 'SIGTERM') {
    if (!server.ended) server.child.kill(signal);
    await server.end;
}

function stopAll() {
    for (const server of running) server.child.kill('SIGKILL');
}

// Sends one request; resolves to { status, body }.
function call(port, { method = 'GET', path: target, body, type }) {
    return new Promise((resolve, reject) => {
        const headers = body === undefined ? {} : {
            'Content-Type': type || 'application/json',
            'Content-Length': Buffer.byteLength(body),
        };
        const options = { host: '127.0.0.1', port, method, headers, agent };
        const request = http.request({ ...options, path: target }, (reply) => {
            const parts = [];
            reply.on('data', (part) => parts.push(part));
            reply.on('error', reject);
            reply.on('end', () => resolve({
                status: reply.statusCode,
                body: Buffer.concat(parts).toString(),
            }));
        });
        request.on('error', reject);
        request.end(body);
    });
}

// The same, but anything except a 2xx is an error that shows the answer.
async function expect2xx(port, request) {
    const reply = await call(port, request);
    if (reply.status >= 200 && reply.status < 300) return reply.body;
    throw new Error(`${request.method || 'GET'} ${request.path}: ` +
        `${reply.status} ${reply.body.slice(0, 500)}`);
}

// Asks every few milliseconds until the answer is a 2xx.
async function waitReady(server, port, request) {
    const start = Date.now();
    for (;;) {
        const reply = await call(port, request).catch(() => null);
        if (reply && reply.status >= 200 && reply.status < 300) return;
        if (server.ended || Date.now() - start > PATIENCE_MS)
            throw new Error(`${server.log}: the server did not become ready`);
        await pause(2);
    }
}

// User and system time so far, in seconds.
function cpuSeconds(pids) {
    return pids.map((pid) => {
        const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return (Number(fields[11]) + Number(fields[12])) / TICKS;
    }).reduce((a, b) => a + b, 0);
}

// Resolves when the processes have been doing next to nothing for a while.
async function idle(pids) {
    for (let before = 0, now = cpuSeconds(pids); now - before > IDLE_CPU;) {
        before = now;
        await pause(IDLE_MS);
        now = cpuSeconds(pids);
    }
}

function residentBytes(pids) {
    return pids.map((pid) => {
        const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
        return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) * 1024;
    }).reduce((a, b) => a + b);
}

// Bytes that a directory's files occupy, those matching `except` left out, and
// the ballast, which occupies room but is no data.
function diskBytes(dir, except = /^$/) {
    return fs.readdirSync(dir, { withFileTypes: true }).map((entry) => {
        const name = path.join(dir, entry.name);
        if (entry.isDirectory()) return diskBytes(name, except);
        if (except.test(entry.name) || entry.name === 'ballast') return 0;
        return fs.statSync(name).blocks * 512;
    }).reduce((a, b) => a + b, 0);
}

process.on('exit', stopAll);
for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => process.exit(1));

module.exports = {
    pause, freePort, launch, stop, call, expect2xx, waitReady, cpuSeconds,
    idle, residentBytes, diskBytes,
};

// Does an acknowledged write reach the disk? Counts, with strace, how often a
// server flushes while it answers writes that come one after the other: at
// least once per write, or it is not durable.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const { expect2xx, pause } = require('./server');

const WRITES = 20;
const CALLS = 'fsync,fdatasync,write,pwrite64,writev,pwritev,pwritev2';
const O_DSYNC = 0o10000;

// strace says "attached" once it sees every call.
function attach(pid, log) {
    const tracer = spawn('strace', ['-f', '-e', `trace=${CALLS}`, '-s', '0',
                                    '-o', log, '-p', String(pid)],
                         { stdio: ['ignore', 'ignore', 'pipe'] });
    return new Promise((resolve, reject) => {
        let said = '';
        tracer.stderr.on('data', (part) => {
            said += part;
            if (said.includes('attached')) resolve(tracer);
        });
        tracer.on('exit', () => reject(new Error(`strace: ${said}`)));
        tracer.on('error', reject);
    });
}

// Descriptors whose every write is a durable one.
function synchronous(pid) {
    return new Set(fs.readdirSync(`/proc/${pid}/fdinfo`).filter((fd) => {
        const info = fs.readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');
        return parseInt(/flags:\s+(\d+)/.exec(info)[1], 8) & O_DSYNC;
    }));
}

function count(log, durable) {
    return fs.readFileSync(log, 'utf8').split('\n').filter((line) => {
        const call = /^\d+\s+(\w+)\((\d+)/.exec(line);
        if (!call) return false;
        return call[1] === 'fsync' || call[1] === 'fdatasync' ||
            durable.has(call[2]);
    }).length;
}

// Resolves to the number of flushes for WRITES writes.
async function flushes({ port, writer }, write, log) {
    const tracer = await attach(writer, log);
    for (let n = 0; n < WRITES; n++) await expect2xx(port, write(n));
    const durable = synchronous(writer);
    await pause(50);
    const ended = new Promise((resolve) => tracer.on('exit', resolve));
    tracer.kill('SIGINT');
    await ended;
    return count(log, durable);
}

module.exports = { WRITES, flushes };

// What the environment may set, and where things are put: all under BUILD.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');

function number(name, usual) {
    const text = process.env[name];
    if (text === undefined || text === '') return usual;
    if (/^[1-9][0-9]*$/.test(text)) return Number(text);
    throw new Error(`${name} must be a positive number, not "${text}"`);
}

const build = path.resolve(process.env.BUILD || 'build');
const settings = {
    build,
    work: path.join(build, 'bench/work'),
    rounds: number('BENCH_ROUNDS', 5),
    seconds: number('BENCH_SECONDS', 1),
    records: number('BENCH_RECORDS', 1000000),
    users: number('BENCH_USERS', 200000),
    cache: process.env.BENCH_CACHE || '2GiB', // its half holds all pages
    only: new RegExp(process.env.BENCH_ONLY || ''),
};

// An empty directory for one contender's data.
function fresh(name) {
    const dir = path.join(settings.work, name);
    fs.rmSync(dir, { recursive: true, force: true });
    fs.mkdirSync(path.dirname(dir), { recursive: true });
    return dir;
}

// A virtual machine often names its processor "AMD EPYC", so its generation is told by numbers.
function processor() {
    const field = (name) => new RegExp(`^${name}\\s*: (.*)`, 'm')
        .exec(fs.readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? '?';
    return `${os.cpus()[0].model} (family ${field('cpu family')}, model ${field('model')})`;
}

function machine() {
    const memory = Math.round(os.totalmem() / 2 ** 30);
    return `${os.cpus().length} x ${processor()}, ${memory} GiB, ` +
        `Linux ${os.release()}, load ${os.loadavg()[0].toFixed(1)}`;
}

module.exports = { settings, fresh, machine };

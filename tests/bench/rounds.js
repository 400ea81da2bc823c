// Interleaved rounds: every step runs once per round for a second, and each
// round begins with another step, so that a busy moment of the machine hits
// all of them alike and ratios within a round stay honest. A step during which
// the machine was taken away is repeated (calm.js).
//
// A step is { name, contender, connections, requests(round) }: requests gives
// the file to replay, `fresh` the number of requests that may be sent before
// the file repeats (inserts), `rounds` limits in how many rounds it takes part.
// Or it brings its own load: drive(seconds) resolves to what replay.lua reports.
'use strict';
const { execFile } = require('child_process');
const path = require('path');
const { calmly } = require('./calm');
const { cpuSeconds, pause } = require('./server');
const { median, short, spread, table, withRange } = require('./stats');

const SETTLE_MS = 30;
const MOVED_MAX = 0.05; // (max - min) / median
const REPLAY = path.join(__dirname, 'replay.lua');

// Resolves to what replay.lua reports; `child` is the process.
function wrk(port, connections, seconds, file) {
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '5s',
                  '-s', REPLAY, `http://127.0.0.1:${port}`, '--', file];
    let child;
    const run = new Promise((resolve, reject) => {
        child = execFile('wrk', args, (error, out) => {
            if (error) return reject(error);
            const line = out.split('\n').find((text) => text.startsWith('{'));
            return resolve(JSON.parse(line));
        });
    });
    return Object.assign(run, { child });
}

async function measure(step, round, seconds) {
    const { contender, drive } = step;
    const file = drive ? null : step.requests(round);
    const before = cpuSeconds(contender.pids);
    const run = await (drive ? drive(seconds)
        : wrk(contender.port, step.connections, seconds, file));
    await pause(SETTLE_MS);
    const cpu = cpuSeconds(contender.pids) - before;
    if (run.status || run.socket)
        throw new Error(`${step.name}: ${run.status} answers were not 2xx, ` +
            `${run.socket} socket errors; this run does not count`);
    if (step.fresh && run.requests + step.connections > step.fresh)
        throw new Error(`${step.name}: ran out of prepared requests`);
    return {
        rps: run.requests / run.us * 1e6,
        p50: run.p50, p99: run.p99, max: run.max,
        cpu: contender.pids.length ? cpu / (run.all || run.requests) * 1e4
            : NaN,
    };
}

// Resolves to a map from step name to its measurements, one per round.
async function interleave(steps, { rounds, seconds }) {
    const results = new Map(steps.map((step) => [step.name, []]));
    for (let round = 0; round < rounds; round++) {
        const first = Math.floor(round * steps.length / rounds);
        const order = [...steps.slice(first), ...steps.slice(0, first)];
        for (const step of order) {
            if (step.rounds && round >= step.rounds) continue;
            const long = seconds * (step.times || 1);
            results.get(step.name).push(
                await calmly(() => measure(step, round, long)));
        }
        process.stderr.write(`round ${round + 1} of ${rounds} done\n`);
    }
    return results;
}

function column(results, name, field) {
    return (results.get(name) || []).map((run) => run[field]);
}

// Round by round, one step's figure divided by another's.
function ratios(results, name, base, field = 'rps') {
    const below = column(results, base, field);
    return column(results, name, field).map((figure, i) => figure / below[i])
        .filter(Number.isFinite);
}

// Whether the figures that others are divided by differ within the run by more than
// MOVED_MAX: then their ratios tell of the machine as well.
function moved(figures) {
    return spread(figures) > MOVED_MAX;
}

// A ratio as text, marked if what it was divided by moved.
function marked(text, yardstick) {
    return moved(yardstick) ? `${text} ~` : text;
}

const LEGEND = `~: what the figure is divided by moved by more than ${MOVED_MAX * 100} % within the run.`;

// The median, or nothing where it was not taken.
function figure(numbers, show = short) {
    const middle = median(numbers);
    return Number.isFinite(middle) ? show(middle) : '-';
}

function detailTable(steps, results) {
    return table(
        ['scenario', 'req/s', 'ratio', 'p50 us', 'p99 us',
         'CPU s/10k'],
        steps.filter((step) => results.get(step.name).length).map((step) => {
            const runs = (field) => column(results, step.name, field);
            const ratio = step.base && step.base !== step.name
                ? ratios(results, step.name, step.base) : [];
            return [step.name, withRange(runs('rps')),
                    ratio.length ? marked(withRange(ratio), column(results, step.base, 'rps')) : '-',
                    figure(runs('p50')), figure(runs('p99')),
                    figure(runs('cpu'), (cpu) => cpu.toFixed(3))];
        }));
}

// What to say when the yardstick itself moved too much.
function quietness(results, name) {
    const moved = spread(column(results, name, 'rps'));
    const percent = `${(moved * 100).toFixed(0)} %`;
    return moved > 0.25
        ? `The machine was busy: ${name} itself moved by ${percent} between ` +
          'rounds (more than 25 %). Discard this session and repeat it.'
        : `${name} moved by ${percent} between rounds.`;
}

module.exports = {
    wrk, interleave, column, ratios, marked, detailTable, quietness, LEGEND,
};

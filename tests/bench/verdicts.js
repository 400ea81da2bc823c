// The table of what is to be reached: gate, goal, measured, verdict. A figure
// that was not taken is "-", never a pass. One whose yardstick moved is marked.
'use strict';
const { LEGEND, column, marked, ratios } = require('./rounds');
const { STALLS } = require('./scenarios');
const { median, short, summary, table } = require('./stats');

const STALL_SHARE = 0.5;

// `measured` are figures, one for each round; or { figures, yardstick }, if they are ratios.
function row(name, gate, goal, measured, good) {
    const { figures, yardstick } = Array.isArray(measured) ? { figures: measured } : measured;
    return { name, gate, goal, figures, yardstick, good };
}

function higher(name, gate, goal, measured) {
    return row(name, gate, goal, measured, (a, b) => a >= b);
}

function lower(name, gate, goal, measured) {
    return row(name, gate, goal, measured, (a, b) => a <= b);
}

// The slowest of the odd connection counts, as a share of the rate at 64.
function stall(results) {
    const counts = [...STALLS, 256];
    return ['GET', 'PUT'].flatMap((kind) => {
        const usual = median(column(results, `${kind} c=64`, 'rps'));
        return counts.flatMap((c) =>
            column(results, `${kind} c=${c}`, 'rps')
                .map((rps) => rps / usual));
    });
}

// One client at a time: a request that ends on disk, over hello's and a flush.
function perClient(results, name, base, flush) {
    const ours = column(results, name, 'p50');
    const yardstick = column(results, base, 'p50');
    return { yardstick,
             figures: yardstick.map((p50, i) => ours[i] / (p50 + flush)).filter(Number.isFinite) };
}

function fromRounds(results, flush) {
    const ratio = (name, base, field = 'rps') => ({
        figures: ratios(results, name, base, field), yardstick: column(results, base, field),
    });
    const hello = 'hello GET c=64';
    return [
        higher('GET c=64 / hello', 0.60, 0.75, ratio('GET c=64', hello)),
        lower('GET c=1 p50 / hello p50', 1.25, 1.15,
              ratio('GET c=1', 'hello GET c=1', 'p50')),
        higher('durable PUT c=64 / hello', 0.30, 0.45,
               ratio('PUT c=64', hello)),
        higher('durable PUT c=256 / hello', 0.40, 0.55,
               ratio('PUT c=256', 'hello GET c=256')),
        higher('durable PUT c=64 / parked PUT of hello', 0.50, 0.65,
               ratio('PUT c=64', 'hello parked PUT')),
        lower('durable PUT c=1 p50 / (hello p50 + flush)', 1.5, 1.25,
              perClient(results, 'PUT c=1', 'hello GET c=1', flush)),
        higher('insert with 2 indexes / hello', 0.30, 0.40,
               ratio('insert indexed', hello)),
        higher('insert with an index of 8 counts / plain insert', 0.90, 1,
               ratio('insert counted', 'insert plain')),
        lower('list of 100: CPU / hello CPU', 9, 6,
              ratio('list 100', hello, 'cpu')),
        higher('index query of 100 / Node + SQLite', 1, 2,
               ratio('query 100', 'query 100 node+sqlite')),
        higher('the same of a value index / Node + SQLite', 3, 4,
               ratio('query 100 of copies', 'query 100 node+sqlite')),
        higher('mix 95/5 / hello', 0.55, 0.65, ratio('mix 95/5', hello)),
        higher('mix 50/50 / hello', 0.45, 0.55, ratio('mix 50/50', hello)),
        lower('GET: CPU / hello CPU', 1.7, 1.55,
              ratio('GET c=64', hello, 'cpu')),
        lower('PUT: CPU / hello CPU', 3.2, 2.7,
              ratio('PUT c=64', hello, 'cpu')),
        higher('Deno set / Deno set in its own file', 2, 2.5,
               ratio('Deno set', 'Deno set in its own file')),
        higher('Deno get / Deno get in its own file', 0.5, 0.6,
               ratio('Deno get', 'Deno get in its own file')),
        lower('Deno set of 2 KB, one at a time: p50 / its own file', 4, 2.5,
              ratio('Deno set of 2 KB, one at a time',
                    'Deno set of 2 KB in its own file, one at a time', 'p50')),
        lower('PUT of 2 KB in two pieces p50 / (hello p50 + flush)', 2, 1.5,
              perClient(results, 'PUT of 2 KB in two pieces, one at a time',
                        'hello PUT of 2 KB, one at a time', flush)),
        higher('snapshot_read / hello', 0.55, 0.65,
               ratio('snapshot_read', hello)),
        lower('snapshot_read: CPU over HTTP/2 / HTTP/1.1', 1.3, 1.1,
              ratio('snapshot_read of one, HTTP/2',
                    'snapshot_read of one, HTTP/1.1', 'cpu')),
        { ...higher('no stall at 127..384 connections (slowest / c=64)',
                    STALL_SHARE, STALL_SHARE, stall(results)), worst: true },
    ];
}

function fromPhases(figures) {
    const { backfill, crowd, imports, restart, beside, disk, watches } = figures;
    const one = (figure) => figure === undefined ? [] : [figure];
    return [
        higher('backfill, entries/s', 300000, 450000, backfill || []),
        higher('import, entries/s', 100000, 150000, imports || []),
        higher('PUT c=64 beside a build / alone', 0.50, 0.60,
               crowd?.rates || []),
        lower('p99 of PUT c=64 beside a build / alone', 3, 2,
              crowd?.delays || []),
        lower('restart after kill -9, s', 3, 1.5, restart?.all || []),
        lower('RSS beside the cache, MB', 64, 32, one(beside?.beside)),
        lower('disk bytes per user with 2 indexes', 480, 400,
              one(disk?.perUser)),
        lower('a parked watch over HTTP/1.1, KB', 16, 8, one(watches?.http1)),
        lower('a parked watch over HTTP/2, KB', 16, 8, one(watches?.http2)),
        higher('2,000 watches parked: mix 50/50 / without', 0.9, 0.98,
               watches?.ratios || []),
    ];
}

function draw({ name, gate, goal, figures, yardstick, good, worst }) {
    if (!figures.length)
        return [name, short(gate), short(goal), '-', '-', 'not measured'];
    const { median: middle, min, max } = summary(figures);
    const figure = worst ? min : middle;
    const reached = good(figure, goal) ? 'goal'
        : good(figure, gate) ? 'gate' : 'BELOW';
    return [name, short(gate), short(goal), yardstick ? marked(short(figure), yardstick) : short(figure),
            `${short(min)}..${short(max)}`, reached];
}

function verdicts(results, figures) {
    const rows = [...fromRounds(results, figures.flush),
                  ...fromPhases(figures)];
    return `${table(['', 'gate', 'goal', 'measured', 'range', 'verdict'],
                    rows.map(draw))}\n${LEGEND}`;
}

module.exports = { verdicts };

// A virtual machine may lose its processors to others for a while, and says so
// (`steal` in /proc/stat). What was measured meanwhile tells of the host, and is
// measured again.
'use strict';
const fs = require('fs');

const STOLEN_MAX = 0.03; // of the machine's time
const TRIES = 4;
const counts = { measured: 0, repeated: 0, disturbed: 0 };

// All of the machine's time so far, and what its host gave to others.
function clock() {
    const ticks = fs.readFileSync('/proc/stat', 'utf8').split('\n')[0]
        .split(/ +/).slice(1, 9).map(Number);
    return { all: ticks.reduce((sum, n) => sum + n, 0), stolen: ticks[7] };
}

async function once(measure, prepare) {
    await prepare();
    const before = clock();
    const result = await measure();
    const after = clock();
    return { result,
             stolen: (after.stolen - before.stolen) /
                 Math.max(1, after.all - before.all) };
}

// Resolves to the result of measure() in a quiet time, or in the quietest of a few;
// each time after prepare().
async function calmly(measure, prepare = () => {}) {
    let best = await once(measure, prepare);
    for (let i = 1; i < TRIES && best.stolen > STOLEN_MAX; i++) {
        counts.repeated++;
        const next = await once(measure, prepare);
        if (next.stolen < best.stolen) best = next;
    }
    counts.measured++;
    if (best.stolen > STOLEN_MAX) counts.disturbed++;
    return best.result;
}

function remark() {
    const { measured, repeated, disturbed } = counts;
    return `Of ${measured} measurements ${disturbed} were taken while the ` +
        `host gave more than ${STOLEN_MAX * 100} % of the machine's time to ` +
        `others, after ${repeated} repetitions.`;
}

module.exports = { calmly, remark };

// Medians, spreads and text tables.
'use strict';

function median(numbers) {
    const sorted = [...numbers].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle]
                             : (sorted[middle - 1] + sorted[middle]) / 2;
}

function summary(numbers) {
    return {
        median: median(numbers),
        min: Math.min(...numbers),
        max: Math.max(...numbers),
    };
}

// (max - min) / median, the measure of how quiet the machine was.
function spread(numbers) {
    const { median: middle, min, max } = summary(numbers);
    return (max - min) / middle;
}

function short(number) {
    if (number >= 10000) return `${(number / 1000).toFixed(0)}k`;
    if (number >= 1000) return `${(number / 1000).toFixed(1)}k`;
    if (number >= 100) return number.toFixed(0);
    if (number >= 10) return number.toFixed(1);
    return number.toFixed(2);
}

function withRange(numbers) {
    const { median: middle, min, max } = summary(numbers);
    return `${short(middle)} [${short(min)}..${short(max)}]`;
}

// A Markdown table whose columns line up, so that it reads in a terminal too.
function table(head, rows) {
    const lines = [head, ...rows].map((row) => row.map(String));
    const widths = head.map((_, i) =>
        Math.max(...lines.map((line) => line[i].length)));
    const draw = (line) =>
        `| ${line.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
    const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
    return [draw(lines[0]), rule, ...lines.slice(1).map(draw)].join('\n');
}

module.exports = { median, summary, spread, short, withRange, table };

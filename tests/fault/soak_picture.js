// Draws what a soak has measured: one small chart over another, all over the
// same time, each from 0 to its highest value.
'use strict';

const WIDTH = 760;
const HEIGHT = 90;
const LEFT = 130;
const GAP = 26;
const MEGABYTE = 2 ** 20;

const CHARTS = [
  { name: 'rate', title: 'requests/s', unit: 1 },
  { name: 'memory', title: 'memory, MiB', unit: MEGABYTE },
  { name: 'log', title: 'log files, MiB', unit: MEGABYTE },
  { name: 'entries', title: 'entries.db, MiB', unit: MEGABYTE },
  { name: 'descriptors', title: 'descriptors', unit: 1 },
];

function text(x, y, words, anchor = 'end') {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;
}

function chart({ name, title, unit }, samples, top) {
  const values = samples.map((one) => one[name] / unit);
  const highest = Math.max(...values);
  const last = samples.at(-1).second;
  const points = samples.map(({ second }, n) =>
    `${(LEFT + second / last * WIDTH).toFixed(1)},` +
    `${(top + HEIGHT - values[n] / highest * HEIGHT).toFixed(1)}`);
  return [
    `<rect x="${LEFT}" y="${top}" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<polyline points="${points.join(' ')}"/>`,
    text(LEFT - 8, top + 10, highest.toFixed(0)),
    text(LEFT - 8, top + HEIGHT, '0'),
    text(LEFT - 8, top + HEIGHT / 2 + 4, title),
  ].join('\n');
}

function draw(samples) {
  const height = CHARTS.length * (HEIGHT + GAP) + GAP;
  const last = samples.at(-1).second;
  const time = last < 120 ? `${last.toFixed(0)} s` :
    `${(last / 60).toFixed(0)} min`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH + LEFT + 20}" ` +
    `height="${height + 10}">
<style>text { font: 12px sans-serif; fill: #444 }
rect { fill: #fafafa; stroke: #ccc } polyline { fill: none; stroke: #26a }</style>
<rect width="100%" height="100%" style="fill: #fff; stroke: none"/>
${CHARTS.map((one, n) => chart(one, samples, 10 + n * (HEIGHT + GAP))).join('\n')}
${text(LEFT, height, '0', 'start')}
${text(LEFT + WIDTH, height, time)}
</svg>
`;
}

module.exports = { draw };

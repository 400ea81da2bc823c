// What the server does: figures and plots of the last hour or day, its checks,
// slow requests, a backup.
import { h, fill, bytes, count } from './dom.js';
import { get } from './api.js';
import { stringify } from './json.js';
import { may } from './session.js';
import { Backup, nodes } from './service.js';
import { fromFragment, parse } from './key.js';
import { Chart } from './chart.js';

const EACH_MS = 10000; // a new point comes
const SLOW = 20;
const SPANS = { '10s': ['the last hour', 360], '1m': ['the last day', 1440] };

const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
const rate = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)}/s`;
const number = (value) => count(Math.round(value));

// Title, unit, and the series of each plot.
const PLOTS = [
  ['Requests', rate, { all: 'requestsPerSecond', errors: 'serverErrorsPerSecond' }],
  ['Time of requests', ms, { p50: 'requestP50Ms', p99: 'requestP99Ms' }],
  ['Commits', rate, { commits: 'commitsPerSecond', flushes: 'flushesPerSecond' }],
  ['Connections', number, { open: 'connections', watches: 'watches' }],
  ['Commits that wait', number, { queued: 'commitsQueued' }],
  ['Processor', (value) => `${Math.round(value * 100)} %`, { used: 'cpuSecondsPerSecond' }],
];
const TILES = [['Entries', number, 'entries'], ['On disk', bytes, 'storeBytes'], ['Log', bytes, 'logBytes'],
  ['Disk free', bytes, 'diskFreeBytes'], ['Memory', bytes, 'residentBytes'], ['Requests', rate, 'requestsPerSecond']];

// The question that a slow request asked, for the page Query.
function questionOf(target) {
  const url = new URL(target, location.origin);
  let prefix = [];
  try {
    prefix = url.pathname.startsWith('/kv/') ? fromFragment(url.pathname.slice(4)) : parse(url.searchParams.get('prefix') ?? '');
  } catch { /* all entries */ }
  return `#/query/${encodeURIComponent(stringify({ prefix }))}`;
}

class ServerPage {
  constructor() {
    this.charts = PLOTS.map(([title, unit, series]) => new Chart(title, unit, Object.keys(series)));
    this.span = h('select', { 'aria-label': 'Time shown', onchange: () => this.draw() },
      Object.entries(SPANS).map(([step, [text]]) => h('option', { value: step }, text)));
    this.tiles = h('div.tiles');
    this.checks = h('div');
    this.slow = h('tbody');
    this.nodes = h('div');
    this.backup = new Backup();
    this.node = h('div.scroll.pane', { tabIndex: 0, role: 'region', 'aria-label': 'Server' },
      may('monitor') ? [h('header.bar', {}, h('h2', {}, 'Server'), h('span.grow'), this.span), this.tiles, h('div.charts', {}, this.charts.map((chart) => chart.node))] : null,
      h('h2', {}, 'Checks'), this.checks, this.nodes,
      may('admin') ? [h('h2', {}, 'Slow requests'), h('table', {}, h('thead', {}, h('tr', {}, ['Ended', 'Request', 'Time', 'Where', 'Read'].map((text) =>
        h('th', { scope: 'col' }, text)))), this.slow), h('h2', {}, 'Backup'), this.backup.node] : null);
  }

  async go() {
    if (this.timer === undefined && may('monitor')) this.tick();
    const { checks } = await get('/readyz?verbose').catch((error) => error.body);
    fill(this.checks, h('p', {}, (checks ?? []).map((check) => h(`span.tag.check-${check.state}`, {}, `${check.name}: ${check.state}`))));
    if (!may('admin')) return;
    fill(this.nodes, nodes(await get('/cluster')));
    await this.backup.show();
    const { requests } = await get('/slow' + `?limit=${SLOW}`);
    fill(this.slow, requests.length === 0 ? h('tr', {}, h('td', { colSpan: 5 }, 'No slow request since the server started.'))
      : requests.map((request) => h('tr', {}, h('td', {}, new Date(request.endedAt).toLocaleTimeString('en-GB')),
        h('td', {}, h('a', { href: questionOf(request.target ?? '/') }, h('code', {}, `${request.method} ${request.target ?? request.route}`))),
        h('td.num', {}, `${request.ms.toFixed(1)} ms`),
        h('td', {}, Object.entries(request.phases).map(([name, part]) => `${name} ${part.toFixed(1)}`).join(', ')),
        h('td.num', {}, count(request.entriesRead)))));
    this.slow.querySelector('a')?.focus();
  }

  async tick() {
    this.timer = setTimeout(() => this.tick(), EACH_MS);
    if (!document.hidden) await this.draw();
  }

  async draw() {
    const step = this.span.value;
    const { series } = await get(`/metrics/history?step=${step}`);
    this.charts.forEach((chart, i) => chart.set(Object.values(PLOTS[i][2]).map((name) => series[name]), SPANS[step][1]));
    fill(this.tiles, TILES.map(([title, unit, name]) => {
      const value = series[name].at(-1);
      return h('div.tile', {}, h('span', {}, title), h('b', {}, value === undefined ? '–' : unit(value)));
    }));
  }

  keys() { return {}; }
  back() { this.node.focus(); }
  leave() { clearTimeout(this.timer); }
}

export const open = () => new ServerPage();

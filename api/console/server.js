// What the server does: figures and plots of the last hour or day, its checks,
// slow requests, a backup.
import { h, fill, bytes, count, isTyping } from './dom.js';
import { get } from './api.js';
import { parse, stringify } from './json.js';
import { may } from './session.js';
import { Backup, nodes } from './service.js';
import { parse as parseKey, toFragment } from './key.js';
import { Chart } from './chart.js';

const EACH_MS = 10000; // a new point comes
const SLOW = 60;
const SPANS = { '10s': ['the last hour', 360, 10000], '1m': ['the last day', 1440, 60000] };

const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
const rate = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)}/s`;
const number = (value) => (Number.isInteger(value) || value >= 10 ? count(Math.round(value)) : value.toFixed(1));

// Title, unit, the series of each plot, and what its scale reaches at least.
const PLOTS = [
  ['Requests', rate, { all: 'requestsPerSecond', errors: 'serverErrorsPerSecond' }],
  ['Time of requests', ms, { p50: 'requestP50Ms', p99: 'requestP99Ms' }],
  ['Commits', rate, { commits: 'commitsPerSecond', flushes: 'flushesPerSecond' }],
  ['Connections', number, { open: 'connections', watches: 'watches' }],
  ['Commits that wait', number, { queued: 'commitsQueued' }],
  ['Processor', (value) => `${Math.round(value * 100)} %`, { used: 'cpuSecondsPerSecond' }, 0.1],
];
const TILES = [['Entries', number, 'entries'], ['On disk', bytes, 'storeBytes'], ['Log', bytes, 'logBytes'],
  ['Disk free', bytes, 'diskFreeBytes'], ['Memory', bytes, 'residentBytes'], ['Requests', rate, 'requestsPerSecond']];

const SLOW_COLUMNS = [['Ended', ''], ['Request', ''], ['Times', '.num'], ['Slowest', '.num'], ['Milliseconds', ''], ['Rows read', '.num']];
// The phases of a request, in words.
const PHASES = { handle: 'work', queue: 'wait for the writer', plan: 'plan', apply: 'write', flush: 'disk', turns: 'wait for others', stream: 'send' };

const CUT = 256; // bytes of a target after which the server cuts it

// A key in the path of a request, where %2F is no separator.
const keyInPath = (path) => path.split('/').map(decodeURIComponent)
  .map((part) => (part.startsWith('=') ? parseKey(part)[0] : part));

// The address of what a slow request was about: the question that it asked, its index
// or its entry. null: it was about something else, or its target was cut.
function addressOf(target) {
  if (target === undefined || target.length >= CUT) return null;
  const { pathname, searchParams } = new URL(target, location.origin);
  const given = (name) => searchParams.get(name);
  try {
    const [, room, name] = pathname.split('/');
    if (room === 'indexes' && name) return `#/indexes/${name}`;
    if (room === 'kv') return `#/data/${toFragment(name ? keyInPath(pathname.slice(4)) : parseKey(given('key')))}`;
    if (name || !['list', 'count', 'aggregate'].includes(room)) return null;
    if (given('index')) return `#/indexes/${encodeURIComponent(given('index'))}`;
    const where = given('where') === null ? undefined : parse(given('where'));
    return `#/query/${encodeURIComponent(stringify({ prefix: parseKey(given('prefix') ?? ''), where }))}`;
  } catch { // the request was refused, too
    return null;
  }
}

// Requests that ask the same of other values have one shape: the path without its key, the
// names of the parameters, the prefix or index, and the paths of the conditions.
function shapeOf({ method, target, route }) {
  if (target === undefined || target.length >= CUT) return `${method} ${route} ${target}`;
  const { pathname, searchParams } = new URL(target, location.origin);
  const asked = [...searchParams].map(([name, value]) => (name === 'prefix' || name === 'index' ? `${name}=${value}`
    : name === 'where' ? `where ${value.match(/"path":"[^"]*"/g)}` : name));
  return [method, pathname.startsWith('/kv/') ? pathname.split('/').slice(0, 3).join('/') : pathname, ...asked.sort()].join(' ');
}

// A slow request, as a link where there is something to see.
function slowRequest({ method, target, route }) {
  const text = h('code', {}, `${method} ${target ?? route}`);
  const href = addressOf(target);
  return href === null ? text : h('a', { href }, text);
}

class ServerPage {
  constructor() {
    this.charts = PLOTS.map(([title, unit, series, least]) => new Chart(title, unit, Object.keys(series), (share) => this.charts.forEach((chart) => chart.show(share)), least));
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
      may('admin') ? [h('h2', {}, 'Slow requests'), h('table', {}, h('thead', {}, h('tr', {}, SLOW_COLUMNS.map(([text, kind]) =>
        h(`th${kind}`, { scope: 'col' }, text)))), this.slow), h('h2', {}, 'Backup'), this.backup.node] : null);
  }

  async go() {
    if (this.timer === undefined && may('monitor')) this.tick();
    const { checks } = await get('/readyz?verbose').catch((error) => error.body);
    fill(this.checks, h('p', {}, (checks ?? []).map((check) => h(`span.tag.check-${check.state}`, {}, `${check.name}: ${check.state}`))));
    if (!may('admin')) return;
    fill(this.nodes, nodes(await get('/cluster')));
    await this.backup.show();
    const { requests } = await get('/slow' + `?limit=${SLOW}`);
    const groups = Map.groupBy(requests, shapeOf);
    fill(this.slow, requests.length === 0 ? h('tr', {}, h('td', { colSpan: SLOW_COLUMNS.length }, 'No slow request since the server started.'))
      : [...groups.values()].map((group) => {
        const slowest = group.reduce((a, b) => (b.ms > a.ms ? b : a));
        return h('tr', {}, h('td', {}, new Date(group[0].endedAt).toLocaleTimeString('en-GB')),
          h('td', {}, slowRequest(group[0])), h('td.num', {}, count(group.length)),
          h('td.num', {}, `${slowest.ms.toFixed(1)} ms`),
          h('td', {}, Object.entries(slowest.phases).map(([name, part]) => `${PHASES[name] ?? name} ${part.toFixed(1)}`).join(', ')),
          h('td.num', {}, count(slowest.entriesRead)));
      }));
    // The first of them gets the focus where it is in view: nothing scrolls away by itself.
    const first = this.slow.querySelector('a');
    if (!isTyping()) (first?.getBoundingClientRect().bottom <= innerHeight ? first : this.node).focus();
  }

  async tick() {
    this.timer = setTimeout(() => this.tick(), EACH_MS);
    if (!document.hidden) await this.draw();
  }

  async draw() {
    const step = this.span.value;
    this.startedAt ??= (await get('/version')).startedAt;
    const { series } = await get(`/metrics/history?step=${step}`);
    this.charts.forEach((chart, i) => chart.set(Object.values(PLOTS[i][2]).map((name) => series[name]), ...SPANS[step].slice(1), Date.now(), [this.startedAt]));
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

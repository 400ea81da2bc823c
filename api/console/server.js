// What the server does: figures, plots since this page was opened, slow
// requests, its checks, a backup.
import { h, fill, say, bytes, count } from './dom.js';
import { get, hasToken, send } from './api.js';
import { may } from './session.js';
import { fromFragment, parse } from './key.js';
import { Chart } from './chart.js';

const EACH_MS = 2000;
const SLOW = 20;

// The text of /metrics as [name, labels, value] lines.
export function readMetrics(text) {
  return text.split('\n').filter((line) => line !== '' && line[0] !== '#').map((line) => {
    const [, name, labels, value] = /^([a-zA-Z_:0-9]+)(\{.*\})? (\S+)/.exec(line);
    return [name, labels ?? '', Number(value)];
  });
}
const sum = (lines, name, label = '') => lines.filter(([n, labels]) => n === name && labels.includes(label))
  .reduce((total, [, , value]) => total + value, 0);

// The quantile of what a histogram has counted since `before`.
export function quantile(now, before, name, q) {
  const buckets = new Map();
  for (const [lines, sign] of [[now, 1], [before, -1]]) {
    for (const [n, labels, value] of lines) {
      if (n !== `${name}_bucket`) continue;
      const limit = /le="([^"]+)"/.exec(labels)[1];
      buckets.set(limit, (buckets.get(limit) ?? 0) + sign * value);
    }
  }
  const list = [...buckets].map(([limit, n]) => [limit === '+Inf' ? Infinity : Number(limit), n]).sort((a, b) => a[0] - b[0]);
  const total = list.at(-1)?.[1] ?? 0;
  let low = 0;
  let below = 0;
  for (const [limit, n] of list) {
    if (n >= q * total && total > 0) {
      return limit === Infinity ? low : low + ((limit - low) * (q * total - below)) / Math.max(1, n - below);
    }
    [low, below] = [limit, n];
  }
  return 0;
}

// The question that a slow request asked, for the page Query.
function questionOf(target) {
  const url = new URL(target, location.origin);
  let prefix = [];
  try {
    prefix = url.pathname.startsWith('/kv/') ? fromFragment(url.pathname.slice(4)) : parse(url.searchParams.get('prefix') ?? '');
  } catch { /* all entries */ }
  return `#/query/${encodeURIComponent(JSON.stringify({ prefix }))}`;
}

class ServerPage {
  constructor() {
    const ms = (value) => `${(value * 1000).toPrecision(2)} ms`;
    const rate = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)}/s`;
    this.charts = [new Chart('Requests', rate, ['all', 'errors']), new Chart('Time of requests', ms, ['p50', 'p99']),
      new Chart('Commits', rate, ['commits', 'flushes']), new Chart('Connections', (value) => String(Math.round(value)), ['open', 'watches'])];
    this.tiles = h('div.tiles');
    this.checks = h('div');
    this.slow = h('tbody');
    this.node = h('div.scroll.pane', { tabIndex: 0, role: 'region', 'aria-label': 'Server' },
      may('monitor') ? [this.tiles, h('div.charts', {}, this.charts.map((chart) => chart.node))] : null,
      h('h2', {}, 'Checks'), this.checks,
      may('admin') ? [h('h2', {}, 'Slow requests'), h('table', {}, h('thead', {}, h('tr', {}, ['Ended', 'Request', 'Time', 'Where', 'Read'].map((text) =>
        h('th', { scope: 'col' }, text)))), this.slow), h('h2', {}, 'Backup'), this.backup()] : null);
  }

  // A download cannot send a token: with one the command is shown.
  backup() {
    if (!hasToken()) return h('p', {}, h('a', { href: './backup', download: 'kindex-backup' }, 'Download a backup'));
    return h('p', {}, 'From a shell: ', h('code', {}, `KINDEX_TOKEN=… kindex backup --url ${location.origin}`));
  }

  async go() {
    if (this.timer === undefined && may('monitor')) this.tick();
    const { checks } = await (await send('GET', '/readyz?verbose').catch((error) => ({ json: () => error.body }))).json();
    fill(this.checks, h('p', {}, (checks ?? []).map((check) => h(`span.tag.check-${check.state}`, {}, `${check.name}: ${check.state}`))));
    if (!may('admin')) return;
    const { requests } = await get('/slow' + `?limit=${SLOW}`);
    fill(this.slow, requests.length === 0 ? h('tr', {}, h('td', { colSpan: 5 }, 'None since the server started.'))
      : requests.map((request) => h('tr', {}, h('td', {}, new Date(request.endedAt).toLocaleTimeString('en-GB')),
        h('td', {}, h('a', { href: questionOf(request.target ?? '/') }, h('code', {}, `${request.method} ${request.target ?? request.route}`))),
        h('td.num', {}, `${request.ms.toFixed(1)} ms`),
        h('td', {}, Object.entries(request.phases).map(([name, part]) => `${name} ${part.toFixed(1)}`).join(', ')),
        h('td.num', {}, count(request.entriesRead)))));
    this.slow.querySelector('a')?.focus();
  }

  async tick() {
    this.timer = setTimeout(() => this.tick(), EACH_MS);
    if (document.hidden) return;
    let now;
    try { now = readMetrics(await (await send('GET', '/metrics')).text()); } catch (error) {
      if (error.status !== 401) say(error.text ?? error.message, true);
      return;
    }
    const time = performance.now();
    if (this.before) this.plot(now, this.before, (time - this.time) / 1000);
    Object.assign(this, { before: now, time });
    const hits = sum(now, 'kindex_record_cache_hits_total');
    const reads = hits + sum(now, 'kindex_record_cache_misses_total');
    fill(this.tiles, [['Entries', count(sum(now, 'kindex_keys'))], ['On disk', bytes(sum(now, 'kindex_store_bytes'))],
      ['Log', bytes(sum(now, 'kindex_log_bytes'))], ['Disk free', bytes(sum(now, 'kindex_disk_free_bytes'))],
      ['Cache hits', reads ? `${((hits / reads) * 100).toFixed(1)} %` : '–'],
      ['Memory', bytes(sum(now, 'process_resident_memory_bytes'))]].map(([name, value]) =>
      h('div.tile', {}, h('span', {}, name), h('b', {}, value))));
  }

  plot(now, before, seconds) {
    const rate = (name, label) => Math.max(0, sum(now, name, label) - sum(before, name, label)) / seconds;
    const requests = 'kindex_http_requests_total';
    const time = 'kindex_http_request_duration_seconds';
    this.charts[0].add([rate(requests), rate(requests, 'status="4') + rate(requests, 'status="5')]);
    this.charts[1].add([quantile(now, before, time, 0.5), quantile(now, before, time, 0.99)]);
    this.charts[2].add([rate('kindex_txn_total', 'result="commit"'), rate('kindex_flushes_total')]);
    this.charts[3].add([sum(now, 'kindex_http_connections'), sum(now, 'kindex_watch_streams')]);
  }

  keys() { return {}; }
  back() { this.node.focus(); }
  leave() { clearTimeout(this.timer); }
}

export const open = () => new ServerPage();

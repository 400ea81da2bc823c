// The declared indexes: their states as they change, a new one, and one of them.
import { h, fill, say, bytes, count, duration, isTyping } from './dom.js';
import { icon } from './icons.js';
import { events, get } from './api.js';
import { parse } from './json.js';
import { may } from './session.js';
import { keyParts } from './tree.js';
import { Draft } from './draft.js';
import { openIndex } from './index.js';

const COLUMNS = ['Name', 'Entries under', 'Fields', 'State', 'Entries', 'Size', 'Reads', 'Last read', 'Writes'];
const NUMBERS = ['Entries', 'Size', 'Reads', 'Writes'];

export function fieldText(field) {
  if (typeof field === 'string') return field;
  const what = field.path ?? (field.versionstamp ? 'versionstamp' : `key part ${field.key}`);
  const more = [field.fold && field.fold !== 'none' ? field.fold : '', field.each ? 'each' : '',
    field.order === 'desc' ? 'desc' : ''];
  return [what, ...more].filter(Boolean).join(' ');
}

// An index that is written and not read only costs.
function lastRead(use) {
  if (!use) return '–';
  if (use.lastReadAt) return `${duration(Date.now() - use.lastReadAt)} ago`;
  return use.writes > 0 ? h('span.warn', {}, 'not read, only written') : 'not read';
}

class IndexesPage {
  constructor(app) {
    this.app = app;
    this.abort = new AbortController();
    this.rows = new Map();
    this.turn = 0; // counts what was asked to be shown beside the list
    this.body = h('tbody');
    this.detail = h('section.detail', { 'aria-label': 'Index' });
    this.node = h('div.split.panes', {}, h('section.list', { 'aria-label': 'Indexes' },
      h('header.bar', {}, h('h2', {}, 'Indexes'), h('span.grow'), may('index')
        ? h('button.primary', { type: 'button', onclick: () => this.create() }, 'New', h('kbd', {}, 'n')) : null),
      h('div.scroll', { tabIndex: 0, role: 'region', 'aria-label': 'List of indexes' },
        h('table', {}, h('thead', {}, h('tr', {}, COLUMNS.map((text) =>
          h(NUMBERS.includes(text) ? 'th.num' : 'th', { scope: 'col' }, text)))), this.body))), this.detail);
    this.pane(0);
    this.close('Choose an index, or declare one: an order of entries by their values, that the server keeps right with every write.');
  }

  // Shows the first or second pane where there is room for one.
  pane(number) { this.node.dataset.pane = number; }

  // The detail is what stands below what leads back to the list.
  fillDetail(...nodes) {
    fill(this.detail, h('button.back', { type: 'button', onclick: () => this.back() }, '‹ Indexes'), nodes);
  }

  close(text) { this.fillDetail(h('div.empty', {}, icon('indexes'), h('p', {}, text))); }

  async go(path) {
    const turn = ++this.turn;
    if (!this.loaded) {
      this.loaded = true;
      const { indexes } = await get('/indexes');
      // What needs attention comes first.
      const rank = (index) => ['conflicted', 'failed', 'building'].indexOf(index.state) >>> 0;
      indexes.sort((a, b) => rank(a) - rank(b));
      for (const index of indexes) this.show(index);
      if (indexes.length === 0) fill(this.body, h('tr', {}, h('td', { colSpan: COLUMNS.length }, 'No index is declared.')));
      this.follow();
    }
    if (turn !== this.turn) return; // a new one was begun meanwhile
    let name = path;
    try { name = decodeURIComponent(path); } catch { /* there is no index of this name */ }
    if (name !== '') await this.choose(name);
    else {
      this.pane(0);
      if (!isTyping()) this.back();
    }
  }

  row(index) {
    const { build } = index;
    return h('tr', {}, h('th', { scope: 'row' },
      h('a', { href: `#/indexes/${encodeURIComponent(index.name)}` }, index.name),
      index.unique ? h('span.tag', {}, 'unique') : null, index.store?.aggregate ? h('span.tag', {}, 'totals') : null),
    h('td', {}, h('span.crumbs', {}, index.prefix?.length ? keyParts(index.prefix) : 'all')),
    h('td', {}, (index.fields ?? []).map(fieldText).join(', ')),
    h('td', {}, h(`span.state.${index.state}`, {}, index.state),
      build ? [h('progress', { max: 100, value: build.percent, 'aria-label': 'progress' }),
        ` ${Math.round(build.percent)} %`] : null),
    h('td.num', {}, count(index.entries)), h('td.num', {}, index.bytes === undefined ? '–' : bytes(index.bytes)),
    h('td.num', {}, count(index.use?.reads)),
    h('td', {}, lastRead(index.use)), h('td.num', {}, count(index.use?.writes)));
  }

  show(index) {
    const before = this.rows.get(index.name);
    const known = { ...before?.index, ...index };
    if (!('build' in index)) delete known.build;
    const node = this.row(known);
    const focused = before?.node.contains(document.activeElement);
    if (before) before.node.replaceWith(node);
    else {
      if (this.rows.size === 0) fill(this.body);
      this.body.append(node);
    }
    if (focused) node.querySelector('a').focus();
    this.rows.set(index.name, { index: known, node });
  }

  // One stream for all indexes.
  async follow() {
    try {
      for await (const event of events('/indexes', this.abort.signal)) {
        const index = parse(event.data);
        if (event.type === 'gone') {
          this.rows.get(index.name)?.node.remove();
          this.rows.delete(index.name);
        } else {
          this.show(index);
          if (this.chosen === index.name) this.part?.changed?.(this.rows.get(index.name).index);
        }
      }
    } catch (error) {
      if (error.name !== 'AbortError') say('The states shown are no longer updated: ' + error.message, true);
    }
  }

  async choose(name) {
    this.turn++;
    this.chosen = name;
    const host = h('div.column');
    this.fillDetail(host);
    this.pane(1);
    this.part = null;
    const part = await openIndex(host, name, { gone: () => {
      this.chosen = null;
      this.app.address('indexes', '');
      this.close(`${name} was dropped.`);
      this.back();
    } });
    if (this.chosen !== name) return;
    this.part = part;
    const now = this.rows.get(name)?.index; // what was told while it was read
    if (now) part?.changed(now);
  }

  create() {
    if (!may('index')) return;
    this.turn++;
    this.chosen = null;
    const draft = new Draft({ done: (name) => {
      this.app.address('indexes', encodeURIComponent(name));
      this.choose(name);
    } });
    this.fillDetail(draft.node);
    this.pane(1);
    draft.focus();
  }

  keys() { return { n: () => this.create() }; }
  back() {
    this.pane(0);
    const chosen = this.rows.get(this.chosen)?.node;
    (chosen ?? this.body).querySelector('a')?.focus();
  }

  leave() { this.abort.abort(); }
}

export const open = (app) => new IndexesPage(app);

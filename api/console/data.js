// The entries: the tree of key parts, a list of any length, and one entry.
import { h, fill, say, about } from './dom.js';
import { get, query } from './api.js';
import { fromFragment, parse, same, toFragment, write } from './key.js';
import { Rows } from './rows.js';
import { Pages } from './pages.js';
import { Tree, keyParts } from './tree.js';
import { Entry, hasDrafts } from './entry.js';
import { createEntry, deletePrefix, exportPrefix } from './prefix.js';
import { may } from './session.js';

const ROW_HEIGHT = 28; // pixels, as in the style sheet
const OPEN_MS = 30; // a list that is run through opens where it stops

addEventListener('beforeunload', (event) => { if (hasDrafts()) event.preventDefault(); });

// What is known of a key: {entry, below}; below 0 and no entry: nothing is there.
async function look(key) {
  const { children } = await get('/tree' +
    query({ prefix: key.slice(0, -1), start: key, limit: 1 }));
  const found = children.find((child) => same(child.key, key));
  return found ?? { key, entry: false, below: 0, exact: true };
}

class DataPage {
  constructor(app) {
    this.app = app;
    this.indexes = [];
    this.goto = h('input', { id: 'goto', type: 'text', spellcheck: false, autocomplete: 'off',
      placeholder: 'Go to key  /', 'aria-label': 'Go to key, such as users/ada or orders/=42',
      onkeydown: (event) => { if (event.key === 'Enter') this.goTo(this.goto.value); } });
    this.tree = new Tree({ pick: (key) => this.openPrefix(key),
      enter: (key) => this.enter(key), hidden: (key) => this.isIndex(key) });
    this.group = h('nav.group', { 'aria-label': 'Index entries' });
    this.list = h('section.list', { 'aria-label': 'Entries' });
    const detail = h('section.detail', { 'aria-label': 'Entry' });
    this.entry = new Entry(detail, { changed: () => this.refresh(), back: () => this.focusList() });
    this.entry.close();
    this.node = h('div.data', {}, h('aside', { 'aria-label': 'Keys' },
      h('div.bar', {}, this.goto), this.tree.node, this.group), this.list, detail);
    this.prefix = null;
  }

  isIndex(key) { return this.indexes.some((index) => index.name === key[0]); }

  async load() {
    const { indexes } = await get('/indexes');
    this.indexes = indexes;
    fill(this.group, indexes.length ? h('h3', {}, 'Indexes') : null, indexes.map((index) =>
      h('a', { href: `#/indexes/${encodeURIComponent(index.name)}` }, index.name)));
    this.loaded = await this.tree.load() + 1;
  }

  // The path of the address: of an entry, or of a prefix.
  async go(path) {
    if (!this.loaded) await this.load();
    if (path === '') {
      this.showTop();
      this.tree.node.querySelector('[tabindex="0"]')?.focus();
      return;
    }
    try {
      await this.openKey(fromFragment(path));
    } catch (error) {
      say(error.text ?? error.message, true);
    }
  }

  async goTo(text) {
    let key;
    try { key = parse(text.trim()); } catch (error) { say(error.message, true); return; }
    if (key.length === 0) { this.app.address('data', ''); this.go(''); return; }
    this.app.address('data', toFragment(key));
    await this.openKey(key);
  }

  async openKey(key) {
    const found = await look(key);
    if (found.below !== 0) {
      await this.showPrefix(key);
      if (found.entry) this.entry.open(key);
      else this.entry.close();
      this.focusList();
      return;
    }
    if (key.length > 1) await this.showPrefix(key.slice(0, -1), found.entry ? key : undefined);
    else this.showTop();
    if (found.entry) await this.entry.open(key);
    else this.entry.close(`There is no entry at ${write(key)}, and none below it.`);
    this.focusList();
  }

  showTop() {
    this.prefix = null;
    this.rows = null;
    this.entry.close();
    fill(this.list, h('div.overview', {},
      this.loaded > 1 ? [h('h2', {}, 'Entries'),
        h('p', {}, 'Choose a key on the left, or press / and type one: users/ada, orders/=42.')]
        : [h('h2', {}, 'There are no entries yet'),
          h('p', {}, 'Write the first one from a shell:'),
          h('pre', { tabIndex: 0 }, `curl -X PUT ${location.origin}/kv/users/ada --json '{"name":"Ada"}'`)]));
  }

  openPrefix(key) {
    this.app.address('data', toFragment(key));
    return this.openQuietly(key);
  }

  async openQuietly(key) {
    const turn = this.turn = (this.turn ?? 0) + 1;
    const found = await look(key);
    if (turn !== this.turn) return;
    if (found.below !== 0) await this.showPrefix(key);
    else if (key.length === 1) this.showTop();
    if (found.entry) await this.entry.open(key);
    else this.entry.close();
  }

  async enter(key) {
    await this.openQuietly(key);
    this.focusList();
  }

  // The list of a prefix, at the entry with this key if one is given.
  async showPrefix(prefix, key) {
    const pages = new Pages(prefix, { changed: (from, to) => rows.redraw(from, to),
      resized: () => { rows.setTotal(pages.total); this.describe(); },
      moved: (by) => rows.move(by) });
    const rows = new Rows({ height: ROW_HEIGHT, label: `Entries under ${write(prefix)}`,
      draw: (i) => this.row(pages, i), need: (from, to) => pages.need(from, to),
      pick: (i) => this.pick(pages, i), enter: () => this.entry.focus() });
    await pages.open();
    Object.assign(this, { prefix, pages, rows, title: h('span.tag', {}) });
    fill(this.list, h('header.bar', {}, h('h2.crumbs', {}, keyParts(prefix)), this.title,
      h('span.grow'), this.actions(prefix, pages)), rows.node);
    rows.setTotal(pages.total);
    this.describe();
    this.tree.reveal(prefix);
    if (key === undefined) return;
    const i = await pages.find(key);
    rows.redraw(0, Infinity);
    rows.centre(i);
    rows.mark(i);
  }

  actions(prefix, pages) {
    const button = (text, onclick, kind = 'button') => h(kind, { type: 'button', onclick }, text);
    return [button('Export', () => exportPrefix(prefix, pages.total)),
      may('write') ? [button('Delete all', () => this.deleteAll(prefix), 'button.danger'),
        button(['New', h('kbd', {}, 'n')], () => this.create(), 'button.primary')] : null];
  }

  async create() {
    if (!may('write')) return;
    const key = await createEntry(this.prefix);
    if (!key) return;
    await this.load();
    this.app.address('data', toFragment(key));
    await this.openKey(key);
    this.entry.focus();
  }

  async deleteAll(prefix) {
    if (!await deletePrefix(prefix)) return;
    await this.load();
    this.app.address('data', '');
    this.go('');
  }

  describe() {
    const { pages } = this;
    if (!pages) return;
    this.title.textContent = pages.exact && pages.total === 1 ? '1 entry'
      : `${about(pages.total, pages.exact)} entries`;
  }

  row(pages, i) {
    const entry = pages.at(i);
    if (!entry) return h('div.row', {}, '…');
    const below = entry.key.slice(pages.prefix.length);
    const value = entry.preview ?? `${entry.mediaType ?? entry.kind}, ${entry.size} B`;
    return h('div.row', {}, h('span.key', {}, below.length ? keyParts(below) : h('i', {}, 'itself')),
      h('span.value', {}, value, entry.cut ? ' …' : ''), h('span.size', {}, `${entry.size} B`));
  }

  // The entry of the row opens when it has arrived and the selection rests there.
  pick(pages, i) {
    clearTimeout(this.picking);
    const open = async () => {
      const entry = await pages.entry(i);
      if (!entry || pages !== this.pages || this.rows.selected !== i) return;
      this.app.address('data', toFragment(entry.key), true);
      await this.entry.open(entry.key);
    };
    if (pages.at(i)) open();
    else this.picking = setTimeout(open, OPEN_MS);
  }

  focusList() {
    if (this.rows) this.rows.node.focus();
    else (this.tree.node.querySelector('[tabindex="0"]') ?? this.goto).focus();
  }

  // Reads the list again after a change.
  async refresh() {
    const { pages, rows } = this;
    if (!pages || !rows) return;
    await pages.open();
    pages.clear(pages.base);
    rows.setTotal(pages.total);
    this.describe();
  }

  keys() {
    return { '/': () => { this.goto.focus(); this.goto.select(); }, e: () => this.entry.focus(),
      n: () => this.create(),
      w: () => { if (this.prefix) location.hash = `#/watch/${toFragment(this.prefix)}`; } };
  }

  save() { this.entry.save(); }

  // Is all there, after a token was asked for? Then the text in the field stays.
  isWhole() { return this.entry.state !== null; }

  // Esc: one pane back.
  back() {
    if (this.rows && this.rows.node === document.activeElement) {
      (this.tree.node.querySelector('[tabindex="0"]') ?? this.goto).focus();
    } else {
      this.focusList();
    }
  }

  leave() { clearTimeout(this.picking); }
}

export const open = (app) => new DataPage(app);

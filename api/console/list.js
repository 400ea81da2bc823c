// The entries of a prefix: their number, what can be done with all of them, and
// rows with the beginning of each value, or with chosen members as columns.
import { h, fill, about } from './dom.js';
import { stringify } from './json.js';
import { toFragment, write } from './key.js';
import { Rows } from './rows.js';
import { Pages } from './pages.js';
import { keyParts } from './tree.js';
import { may } from './session.js';

const ROW_HEIGHT = 28; // pixels, as in the style sheet
const OPEN_MS = 30; // a list that is run through opens where it stops

const columns = new Map(); // of prefixes as text: the members shown, while the page is open

export class EntryList {
  // pick(key, tapped): a row rests selected; enter(): the entry gets the focus;
  // back(): to the tree; create(prefix), removed(): entries were made, all were deleted.
  constructor(prefix, { pick, enter, back, create, removed }) {
    Object.assign(this, { prefix, pick, enter, back, create, removed });
    this.count = h('span.tag', {});
    this.titles = h('div.titles', { role: 'presentation' });
    this.node = h('div.entries', {}, h('header.bar', {},
      h('button.back', { type: 'button', onclick: () => back() }, '‹ Keys'),
      h('h2.crumbs', {}, keyParts(prefix)), this.count, h('span.grow'), this.actions()), this.titles);
  }

  // Reads the beginning, and shows it; at the entry with this key if one is given.
  async open(key) {
    const { prefix } = this;
    const fields = columns.get(write(prefix));
    const pages = this.pages = new Pages(prefix, { fields,
      changed: (from, to) => rows.redraw(from, to),
      resized: () => { rows.setTotal(pages.total); this.describe(); }, moved: (by) => rows.move(by) });
    const rows = new Rows({ height: ROW_HEIGHT, label: `Entries under ${write(prefix)}`,
      draw: (i) => this.row(i), need: (from, to) => pages.need(from, to),
      pick: (i, tapped) => this.rest(pages, i, tapped), enter: () => this.enter() });
    await pages.open();
    this.rows?.node.remove();
    this.rows = rows;
    this.shape(fields);
    this.node.append(rows.node);
    rows.setTotal(pages.total);
    this.describe();
    this.key = key;
  }

  // Scrolls to the entry that it was opened at, when it is in the page.
  async settle() {
    const { pages, rows, key } = this;
    if (key === undefined) return;
    const i = await pages.find(key);
    rows.redraw(0, Infinity);
    rows.centre(i);
    rows.mark(i);
  }

  shape(fields) {
    this.titles.hidden = !fields;
    const widths = fields ? `minmax(100px, 2fr) ${'minmax(60px, 2fr) '.repeat(fields.length)}` : '';
    this.node.style.setProperty('--columns', widths);
    fill(this.titles, fields ? [h('span', {}, 'Key'), fields.map((field) => h('span', {}, field))] : null);
  }

  actions() {
    const { prefix } = this;
    const button = (text, onclick, kind = 'button') => h(kind, { type: 'button', onclick }, text);
    return [button('Filter', () => { location.hash = `#/query/${encodeURIComponent(stringify({ prefix }))}`; }),
      button('Columns', () => this.choose()),
      may('watch') ? button(['Watch', h('kbd', {}, 'w')], () => this.watch()) : null,
      button('Export', async () => (await import('./prefix.js')).exportPrefix(prefix, this.pages.total)),
      may('write') ? [button('Delete all', () => this.deleteAll(), 'button.danger'),
        button(['New', h('kbd', {}, 'n')], () => this.create(prefix), 'button.primary')] : null];
  }

  watch() { location.hash = `#/watch/${toFragment(this.prefix)}`; }

  async deleteAll() {
    if (await (await import('./prefix.js')).deletePrefix(this.prefix)) this.removed();
  }

  // Asks which members are shown.
  async choose() {
    const name = write(this.prefix);
    const chosen = await (await import('./columns.js')).chooseColumns(this.prefix, columns.get(name) ?? []);
    if (!chosen) return;
    if (chosen.length > 0) columns.set(name, chosen);
    else columns.delete(name);
    await this.open();
    this.rows.node.focus();
  }

  describe() {
    const { total, exact } = this.pages;
    this.count.textContent = exact && total === 1 ? '1 entry' : `${about(total, exact)} entries`;
  }

  row(i) {
    const { pages } = this;
    const entry = pages.at(i);
    if (!entry) return h('div.row', {}, '…');
    const below = entry.key.slice(pages.prefix.length);
    const key = h('span.key', {}, below.length ? keyParts(below) : h('i', {}, 'itself'));
    if (entry.cells) return h('div.row', {}, key, entry.cells.map((text) => h('span.value', {}, text)));
    const value = entry.preview ?? `${entry.mediaType ?? entry.kind}, ${entry.size} B`;
    return h('div.row', {}, key, h('span.value', {}, value, entry.cut ? ' …' : ''), h('span.size', {}, `${entry.size} B`));
  }

  // The entry of the row opens when it has arrived and the selection rests there.
  rest(pages, i, tapped) {
    clearTimeout(this.picking);
    const open = async () => {
      const entry = await pages.entry(i);
      if (entry && pages === this.pages && this.rows.selected === i) await this.pick(entry.key, tapped);
    };
    if (pages.at(i)) open();
    else this.picking = setTimeout(open, OPEN_MS);
  }

  // Reads the list again after a change.
  async refresh() {
    const { pages, rows } = this;
    await pages.open();
    pages.clear(pages.base);
    rows.setTotal(pages.total);
    this.describe();
  }

  focus() { this.rows.node.focus(); }
  hasFocus() { return this.rows.node === document.activeElement; }
  leave() { clearTimeout(this.picking); }
}

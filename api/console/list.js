// The entries of a prefix: their number, what can be done with all of them, and a table of
// the members that most of them have; those that meet a filter, and in the order of an index.
import { h, fill, about, say, tool } from './dom.js';
import { icon } from './icons.js';
import { get, post, query } from './api.js';
import { stringify } from './json.js';
import { same, toFragment, write } from './key.js';
import { Rows } from './rows.js';
import { Found, Pages } from './pages.js';
import { columnsOf, guessColumns, keepColumns } from './columns.js';
import { readFilter } from './filter.js';
import { keyParts } from './tree.js';
import { may } from './session.js';

const ROW_HEIGHT = 28; // pixels, as in the style sheet
const OPEN_MS = 30; // a list that is run through opens where it stops
const NARROWEST = 48; // pixels of a column
const STEP = 16; // pixels that an arrow key moves the edge of a column

export class EntryList {
  // pick(key, tapped): a row rests selected; enter(): the entry gets the focus;
  // back(): to the tree; create(prefix), removed(): entries were made, all were deleted;
  // asked(filter): another filter is shown.
  constructor(prefix, { pick, enter, back, create, removed, asked }) {
    Object.assign(this, { prefix, pick, enter, back, create, removed, asked, filter: '', order: null });
    this.name = write(prefix);
    this.count = h('span.tag', {});
    this.titles = h('div.titles', { role: 'presentation' });
    this.field = h('input', { name: 'filter', type: 'search', spellcheck: false, autocomplete: 'off', 'aria-label': 'Filter, such as status = open, date in 2026-11',
      placeholder: 'status = open, date in 2026-11' });
    this.answer = h('p.answer.note', { role: 'status', hidden: true });
    this.node = h('div.entries', {}, h('header.bar', {},
      h('button.back', { type: 'button', onclick: () => back() }, '‹ Keys'),
      h('h2.crumbs', {}, keyParts(prefix)), this.count, h('span.grow'), this.actions()),
    h('form.bar.filter', { role: 'search', 'aria-label': 'Filter', onsubmit: (event) => { event.preventDefault(); this.ask(this.field.value); } },
      h('span.find', {}, icon('query'), this.field),
      h('button.plain', { type: 'button', title: 'Write it on the page Query, which has more than a line', onclick: () => this.toQuery() }, 'Query')), this.answer, this.titles);
  }

  // Reads the beginning, and shows it; at the entry with this key if one is given.
  async open(key) {
    const columns = columnsOf(this.name) ?? (this.guessed ??= { fields: await guessColumns(this.prefix), widths: {} });
    const fields = columns.fields.length > 0 ? columns.fields : undefined;
    this.indexes ??= may('read') ? (await get('/indexes')).indexes.filter((index) => index.state === 'ready' && same(index.prefix, this.prefix) && !index.store?.aggregate) : [];
    const calls = { fields, changed: (from, to) => { rows.redraw(from, to); this.align(); }, moved: (by) => rows.move(by),
      resized: () => { rows.setTotal(pages.total); this.describe(); } };
    const request = await this.request();
    const pages = request === null ? new Pages(this.prefix, calls) : new Found(request, calls);
    const rows = new Rows({ height: ROW_HEIGHT, label: `Entries under ${this.name}`,
      draw: (i) => this.row(i), need: (from, to) => pages.need(from, to),
      pick: (i, tapped) => this.rest(pages, i, tapped), enter: () => this.enter() });
    this.pages = pages;
    await pages.open();
    this.rows?.node.remove();
    Object.assign(this, { rows, columns });
    this.shape();
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
    if (i < 0) return;
    rows.redraw(0, Infinity);
    rows.centre(i);
    rows.mark(i);
  }

  // ---- Filter and order -----------------------------------------------------

  // The request for what is asked, and says what answers it; null: all entries in their order.
  async request() {
    const { filter, order, prefix } = this;
    this.answer.hidden = filter === '' && order === null;
    if (filter === '' && order === null) return null;
    const reverse = order?.reverse ? { reverse: true } : {};
    if (filter === '') {
      const { missing } = this.indexes.find(({ name }) => name === order.index) ?? {};
      fill(this.answer, `In the order of ${order.index}${missing === 'null' ? '' : `, which has no entries without a value at ${order.path}`}.`);
      return '/list' + query({ index: order.index, ...reverse });
    }
    const question = { prefix, where: readFilter(filter), ...(order ? { order: [order.path] } : {}) };
    const found = await post('/explain', question);
    const fit = found.indexes.find(({ index }) => index === found.index);
    const request = found.request ?? found.filtered;
    if (!request) throw new Error(order ? `No index has these entries in the order of ${order.path}.` : 'No index and no scan answers this.');
    fill(this.answer, found.request
      ? `Answered by ${found.index ?? 'the order of the keys'}${fit?.rows === undefined ? '' : `: reads ${about(fit.rows, fit.exact)}`}.`
      : `No index answers this: all ${about(found.entries.rows ?? 0, found.entries.exact)} entries are tested.`,
    found.declaration && may('index') ? h('button', { type: 'button', onclick: () => this.declare(found.declaration) }, 'Declare the index') : null);
    return request + query(reverse).replace('?', '&');
  }

  // Shows what meets the filter, a text; '' is no filter.
  async ask(text) {
    const before = this.filter;
    this.filter = text.trim();
    this.field.value = this.filter;
    try {
      await this.open();
      this.asked(this.filter);
    } catch (error) {
      this.filter = before;
      this.answer.hidden = false;
      fill(this.answer, h('span.bad', {}, error.text ?? error.message));
    }
  }

  async declare(declaration) {
    try {
      const index = await post('/indexes', declaration, { headers: { Prefer: 'wait=10' } });
      say(`Index ${index.name} is ${index.state}`);
      this.indexes = undefined;
      await this.open();
    } catch (error) {
      say(error.text ?? error.message, true);
    }
  }

  // The question of the filter, with all that the page Query has for it.
  toQuery() {
    let where;
    try { where = readFilter(this.field.value); } catch { /* begins without */ }
    location.hash = `#/query/${encodeURIComponent(stringify({ prefix: this.prefix, where: where?.length > 0 ? where : undefined }))}`;
  }

  // Orders by a column: up, down, and again as the keys are.
  async sort(path, index) {
    const { order } = this;
    this.order = order?.path !== path ? { path, index } : order.reverse ? null : { ...order, reverse: true };
    try {
      await this.open();
    } catch (error) {
      this.order = order;
      say(error.text ?? error.message, true);
    }
    this.titles.querySelector(`[data-path="${CSS.escape(path)}"]`)?.focus();
  }

  // ---- Columns --------------------------------------------------------------

  shape() {
    const { fields } = this.columns;
    this.titles.hidden = fields.length === 0;
    fill(this.titles, fields.length === 0 ? null : ['', ...fields].map((path) => h('span.title', {}, path === '' ? h('span', {}, 'Key') : this.title(path), this.edge(path))));
    this.widen();
  }

  // The title of a column of numbers is at the right, as they are.
  align() {
    const cells = this.pages.at(0)?.cells;
    [...this.titles.children].slice(1).forEach((node, i) => node.classList.toggle('num', cells?.[i]?.number ?? false));
  }

  // The title of a column, which sorts if an index has its order.
  title(path) {
    const index = this.indexes.find(({ fields }) => fields[0].path === path && !fields[0].each)?.name;
    const name = path.slice(1);
    if (!index) return h('span', { title: 'No index has this order.' }, name);
    const { order } = this;
    const sign = order?.path === path ? (order.reverse ? ' ↓' : ' ↑') : '';
    return h('button.plain', { type: 'button', 'data-path': path, title: `In the order of ${index}`, onclick: () => this.sort(path, index) }, name + sign);
  }

  // The edge of a column, which moves with the pointer or by arrow keys.
  edge(path) {
    const move = (to) => {
      this.columns = { ...this.columns, widths: { ...this.columns.widths, [path]: Math.max(NARROWEST, Math.round(to)) } };
      this.widen();
    };
    const keep = () => keepColumns(this.name, this.columns);
    const width = (node) => node.parentNode.getBoundingClientRect().width;
    return h('span.edge', { role: 'separator', 'aria-orientation': 'vertical', 'aria-valuenow': 0, 'aria-valuemin': NARROWEST, 'aria-valuemax': 9999, tabIndex: 0, 'aria-label': `Width of ${path === '' ? 'Key' : path.slice(1)}`,
      onpointerdown: (event) => {
        const { target, clientX } = event;
        const before = width(target);
        target.setPointerCapture(event.pointerId);
        target.onpointermove = (now) => move(before + now.clientX - clientX);
        target.onpointerup = () => { target.onpointermove = null; keep(); };
      },
      onkeydown: (event) => {
        const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
        if (!by) return;
        event.preventDefault();
        move(width(event.target) + by);
        keep();
      } });
  }

  widen() {
    const { fields, widths } = this.columns;
    const all = fields.length === 0 ? '' : ['', ...fields].map((path) => (widths[path] ? `${widths[path]}px` : `minmax(${path === '' ? 90 : 60}px, 2fr)`)).join(' ');
    this.node.style.setProperty('--columns', all);
    for (const edge of this.titles.querySelectorAll('.edge')) edge.setAttribute('aria-valuenow', Math.round(edge.parentNode.getBoundingClientRect().width));
  }

  // Asks which members are shown.
  async choose() {
    const chosen = await (await import('./columns.js')).chooseColumns(this.prefix, this.columns.fields);
    if (!chosen) return;
    keepColumns(this.name, { fields: chosen, widths: this.columns.widths });
    await this.open();
    this.rows.node.focus();
  }

  // ---- All entries ----------------------------------------------------------

  actions() {
    const { prefix } = this;
    return [tool('Columns', 'columns', () => this.choose()),
      may('watch') ? tool('Watch', 'watch', () => this.watch(), { title: 'Watch  w' }) : null,
      tool('Export', 'down', async () => (await import('./prefix.js')).exportPrefix(prefix, this.pages.total)),
      may('write') ? [tool('Delete all', 'bin', () => this.deleteAll(), { kind: '.danger' }),
        h('button.primary', { type: 'button', onclick: () => this.create(prefix) }, 'New', h('kbd', {}, 'n'))] : null];
  }

  watch() { location.hash = `#/watch/${toFragment(this.prefix)}`; }

  async deleteAll() {
    if (await (await import('./prefix.js')).deletePrefix(this.prefix)) this.removed();
  }

  describe() {
    const { total, exact } = this.pages;
    const more = this.pages instanceof Found && !exact;
    fill(this.count, more ? `${total - 1} or more` : about(total, exact), h('span.word', {}, exact && total === 1 ? ' entry' : ' entries'));
  }

  row(i) {
    const entry = this.pages.at(i);
    if (!entry) return h('div.row', {}, '…');
    const below = entry.key.slice(this.prefix.length);
    const key = h('span.key', {}, below.length ? keyParts(below) : h('i', {}, 'itself'));
    if (entry.cells) return h('div.row', {}, key, entry.cells.map(({ text, number }) => h(number ? 'span.value.num' : 'span.value', {}, text)));
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

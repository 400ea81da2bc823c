// The entries: the tree of key parts, the list of a prefix, and one entry. A phone
// shows one of the three panes at a time. List and entry are loaded when they are
// first shown.
import { h, fill, isTyping, say, tool } from './dom.js';
import { icon } from './icons.js';
import { get, post, query } from './api.js';
import { fromFragment, same, toFragment, write } from './key.js';
import { Tree } from './tree.js';
import { may, mayAt, mayReach } from './session.js';

const PHONE = matchMedia('(max-width: 640px)'); // as in the style sheet

// What is known of a key: {entry, below}. With below 0 and no entry nothing is there, or the
// token may not see it: `text` says which.
async function look(key) {
  if (mayReach(key, 'list')) {
    const { children } = await get('/tree' + query({ prefix: key.slice(0, -1), start: key, limit: 1 }));
    const found = children.find((child) => same(child.key, key));
    if (found) return found;
  }
  const nothing = { key, entry: false, below: 0, text: `There is no entry at ${write(key)}, and none below it.` };
  if (mayAt(key, 'list')) return nothing;
  try {
    const { entries } = await post('/get', { keys: [key] });
    return { ...nothing, entry: entries[0].versionstamp !== null,
      text: `There is no entry at ${write(key)}. This token may not list what is below it.` };
  } catch (error) {
    if (error.status !== 403) throw error;
    return { ...nothing, text: error.text };
  }
}

class DataPage {
  constructor(app) {
    Object.assign(this, { app, indexes: [], list: null, entry: null, turn: 0 });
    this.tree = new Tree({ pick: (key, tapped) => this.openPrefix(key, tapped),
      enter: (key) => this.enter(key), hidden: (key) => this.isIndex(key) });
    this.group = h('nav.group', { 'aria-label': 'Index entries' });
    this.listPane = h('section.list', { 'aria-label': 'Entries' });
    this.detail = h('section.detail', { 'aria-label': 'Entry' });
    this.node = h('div.data.panes', {}, h('aside', { 'aria-label': 'Keys' },
      this.tree.node, this.group), this.listPane, this.detail);
    // A file that is dropped on the page is imported.
    const hasFile = (event) => event.dataTransfer?.types.includes('Files') && may('write');
    this.node.addEventListener('dragover', (event) => { if (hasFile(event)) event.preventDefault(); });
    this.node.addEventListener('drop', (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      this.importFile(event.dataTransfer.files[0]);
    });
    this.close();
    this.show(0);
  }

  // Shows the first, second or third pane where there is room for one.
  show(pane) { this.node.dataset.pane = pane; }

  isIndex(key) { return this.indexes.some((index) => index.name === key[0]); }

  async load() {
    const { indexes } = may('read') ? await get('/indexes') : { indexes: [] };
    this.indexes = indexes;
    fill(this.group, indexes.length ? h('h2', {}, 'Indexes') : null, indexes.map((index) =>
      h('a', { href: `#/indexes/${encodeURIComponent(index.name)}` }, index.name)));
    this.loaded = (may('list') ? await this.tree.load() : 0) + 1;
  }

  // The path of the address: of an entry, or of a prefix.
  async go(path) {
    if (!this.loaded) await this.load();
    if (path === '') {
      this.showTop();
      if (!isTyping()) this.focusTree();
      return;
    }
    try {
      const [place, filter] = path.split('?'); // a ? of a key is written %3F
      const key = fromFragment(place);
      if (filter !== undefined) await this.openFiltered(key, decodeURIComponent(filter));
      else if (PHONE.matches && this.list && same(key, this.list.prefix)) this.focusList(); // as it was left
      else await this.openKey(key);
    } catch (error) {
      say(error.text ?? error.message, true);
    }
  }

  async openKey(key) {
    const turn = ++this.turn;
    const found = await look(key);
    if (turn !== this.turn) return;
    const shown = found.below !== 0 ? key : key.slice(0, -1);
    if (shown.length === 0 || !mayAt(shown, 'list')) this.showTop();
    else await this.showPrefix(shown, found.entry && found.below === 0 ? key : undefined);
    if (turn !== this.turn) return;
    await this.openEntry(found, found.text);
    if (turn !== this.turn) return;
    this.show(found.below === 0 ? 2 : 1);
    if (isTyping()) return;
    if (found.below !== 0 || !PHONE.matches) this.focusList();
    else this.focusBack();
  }

  // The entries under a key that meet a filter (filter.js).
  async openFiltered(key, filter) {
    const turn = ++this.turn;
    if (this.list === null || !same(key, this.list.prefix)) await this.showPrefix(key, undefined, filter);
    else await this.list.ask(filter);
    if (turn !== this.turn) return;
    this.show(1);
    if (!isTyping()) this.focusList();
  }

  showTop() {
    this.list?.leave();
    this.list = null;
    this.close();
    const create = may('write') ? h('p.actions', {}, tool('Import', 'up', () => this.importFile(), { title: 'Entries from a file: NDJSON' }),
      h('button.primary', { type: 'button', onclick: () => this.create() }, 'New', h('kbd', {}, 'n'))) : null;
    const [title, text, shell] = this.loaded > 1 ? ['Entries', 'Choose a key on the left, or press / and type one, or a value that an index has: users/ada, orders/42, ada@example.org.']
      : !mayAt([], 'list') ? ['Entries', may('list') ? 'There are no entries that this token may list.'
        : 'This token may read entries, but not list them: press / and type a key.']
        : ['There are no entries yet', 'Write the first one here, or from a shell:', `curl -X PUT ${location.origin}/kv/users/ada --json '{"name":"Ada"}'`];
    fill(this.listPane, h('div.overview', {}, h('div.start', {}, icon('data'), h('h2', {}, title), h('p', {}, text),
      shell ? h('pre', { tabIndex: 0 }, shell) : null, create)));
    this.show(this.loaded > 1 ? 0 : 1);
  }

  openPrefix(key, tapped) {
    this.app.address('data', toFragment(key));
    return this.openQuietly(key, tapped);
  }

  async openQuietly(key, tapped) {
    const turn = ++this.turn;
    const found = await look(key);
    if (turn !== this.turn) return;
    if (found.below !== 0 && mayAt(key, 'list')) await this.showPrefix(key);
    else if (key.length === 1) this.showTop();
    if (turn !== this.turn) return;
    await this.openEntry(found, found.text);
    if (turn !== this.turn) return;
    this.isLeaf = found.below === 0;
    if (tapped && PHONE.matches) this.step(this.isLeaf ? 2 : 1);
  }

  async enter(key) {
    await this.openQuietly(key);
    if (this.isLeaf) this.focusEntry();
    else this.focusList();
  }

  // Shows a pane by itself, and focuses what leads back.
  step(pane) {
    this.show(pane);
    this.focusBack();
  }

  // Shows the entry that was found, or why it is not there.
  async openEntry(found, text) {
    if (!found.entry) { this.close(text); return; }
    const { turn } = this;
    this.loading ??= import('./entry.js').then(({ Entry }) => {
      this.entry = new Entry(this.detail, { changed: () => this.list?.refresh(),
        back: () => this.focusList(), closed: (why) => this.close(why), sourceOf: (...of) => this.sourceOf(...of) });
    });
    await this.loading;
    if (turn === this.turn) await this.entry.open(found.key);
  }

  // A unique index of pointers stores the last parts of the key, any other has them in its key.
  sourceOf(key, value) {
    const index = this.indexes.find(({ name }) => name === key[0]);
    if (!index || index.store.aggregate) return null;
    if (!index.unique) return [...index.prefix, ...key.slice(1 + index.fields.length)];
    return index.store === 'pointer' ? [...index.prefix, ...[value].flat()] : null;
  }

  close(text) {
    this.entry?.leave();
    fill(this.detail, this.backButton(), h('div.empty', {}, icon('entry'), h('p', {}, text ?? 'Choose an entry to see its value.')));
  }

  backButton() { return h('button.back', { type: 'button', onclick: () => this.focusList() }, '‹ Entries'); }

  // The list of a prefix, at the entry with this key if one is given.
  async showPrefix(prefix, key, filter) {
    const { turn } = this;
    const { EntryList } = await import('./list.js');
    const list = new EntryList(prefix, { back: () => this.focusTree(), enter: () => this.focusEntry(),
      create: () => this.create(), removed: () => this.reload(''),
      asked: (text) => this.app.address('data', toFragment(prefix) + (text === '' ? '' : `?${encodeURIComponent(text)}`)),
      pick: (picked, tapped) => this.pick(picked, tapped) });
    if (filter === undefined) await list.open(key);
    else await list.ask(filter);
    if (turn !== this.turn) return;
    this.list?.leave();
    this.list = list;
    fill(this.listPane, list.node);
    this.tree.reveal(prefix);
    await list.settle();
  }

  // An entry of the list. What was tapped on a phone is one step of Back.
  async pick(key, tapped) {
    const turn = ++this.turn;
    const alone = tapped && PHONE.matches;
    this.app.address('data', toFragment(key), !alone);
    await this.openEntry({ key, entry: true });
    if (turn === this.turn && alone) this.step(2);
  }

  async create() {
    if (!may('write')) return;
    const key = await (await import('./prefix.js')).createEntry(this.list?.prefix);
    if (!key) return;
    await this.reload(toFragment(key));
    this.focusEntry();
  }

  async importFile(file) {
    if (!may('write')) return;
    if (await (await import('./import.js')).importEntries(file)) await this.reload('');
  }

  // Reads the tree again, and opens an address.
  async reload(path) {
    await this.load();
    this.app.address('data', path);
    await this.go(path);
  }

  focusTree() {
    this.show(0);
    if (PHONE.matches) this.app.address('data', '', true);
    (this.tree.node.querySelector('[tabindex="0"]') ?? this.app.main).focus();
  }

  focusList() {
    if (!this.list) { this.focusTree(); return; }
    this.show(1);
    if (PHONE.matches) this.app.address('data', toFragment(this.list.prefix), true);
    this.list.focus();
  }

  focusEntry() {
    if (!this.entry?.state) return;
    this.show(2);
    this.entry.focus();
  }

  // To what leads to the pane before, which only a phone has.
  focusBack() {
    const pane = this.node.children[this.node.dataset.pane];
    pane.querySelector('.back')?.focus();
  }

  keys() {
    return { e: () => this.focusEntry(), n: () => this.create(), w: () => this.list?.watch(), file: () => this.importFile() };
  }

  save() { this.entry?.save(); }

  // Is all there, after a token was asked for? Then the text in the field stays.
  isWhole() { return Boolean(this.entry?.state); }

  // Esc: one pane back.
  back() {
    if (this.list?.hasFocus() || this.node.dataset.pane === '1') this.focusTree();
    else this.focusList();
  }

  leave() {
    this.turn++;
    this.list?.leave();
  }
}

export const open = (app) => new DataPage(app);

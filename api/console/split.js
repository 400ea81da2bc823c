// A page that shows a list (of indexes, rules or queues) beside the chosen item.
import { h, fill, isTyping } from './dom.js';
import { icon } from './icons.js';
import { may } from './session.js';

export class Split {
  // id: of the page; name: heading of the list; one: name of an item; columns: [title, class];
  // scope: needed for a new item; more: other buttons; hint: shown while no item is chosen.
  // Subclasses have load(), which shows all items, row(thing), open(host, name) and
  // newForm(text), which returns a form filled in from the text: {node, focus()}.
  constructor(app, { id, name, one, columns, scope, more, hint }) {
    Object.assign(this, { app, id, name, scope, turn: 0, rows: new Map() }); // turn: number of requests to show an item or form
    this.body = h('tbody');
    this.detail = h('section.detail', { 'aria-label': one });
    this.node = h('div.split.panes', {}, h('section.list', { 'aria-label': name },
      h('header.bar', {}, h('h2', {}, name), h('span.grow'), more, may(scope)
        ? h('button.primary', { type: 'button', onclick: () => this.create() }, 'New', h('kbd', {}, 'n')) : null),
      h('div.scroll', { tabIndex: 0, role: 'region', 'aria-label': `List of ${name.toLowerCase()}` },
        h('table', {}, h('thead', {}, h('tr', {}, columns.map(([text, kind = '']) => h(`th${kind}`, { scope: 'col' }, text)))), this.body))), this.detail);
    this.none = h('tr', {}, h('td', { colSpan: columns.length }, `No ${one.toLowerCase()} is declared.`));
    this.pane(0);
    this.close(hint);
  }

  // Shows the first or second pane if there is room for only one.
  pane(number) { this.node.dataset.pane = number; }

  // Fills the detail pane, below the button that leads back to the list.
  fillDetail(...nodes) {
    fill(this.detail, h('button.back', { type: 'button', onclick: () => this.back() }, `‹ ${this.name}`), nodes);
  }

  close(text) { this.fillDetail(h('div.empty', {}, icon(this.id), h('p', {}, text))); }

  async go(path) {
    const turn = ++this.turn;
    if (!this.loaded) {
      this.loaded = true;
      await this.load();
      if (this.rows.size === 0) fill(this.body, this.none);
    }
    if (turn !== this.turn) return; // something else is to be shown now
    let name = path;
    try { name = decodeURIComponent(path); } catch { /* nothing has this name */ }
    if (name !== '') await this.choose(name);
    else {
      this.pane(0);
      if (!isTyping()) this.back();
    }
  }

  link(name) { return h('a', { href: `#/${this.id}/${encodeURIComponent(name)}` }, name); }

  show(thing) {
    const before = this.rows.get(thing.name)?.node;
    const node = this.row(thing);
    const focused = before?.contains(document.activeElement);
    this.none.remove();
    if (before) before.replaceWith(node);
    else this.body.append(node);
    if (focused) node.querySelector('a').focus();
    this.rows.set(thing.name, { thing, node });
  }

  // Removes an item that no longer exists.
  gone(name) {
    this.rows.get(name)?.node.remove();
    this.rows.delete(name);
  }

  // What is shown of it was dropped here.
  dropped(name) {
    this.chosen = null;
    this.app.address(this.id, '');
    this.close(`${name} was dropped.`);
    this.back();
  }

  async choose(name) {
    this.turn++;
    this.chosen = name;
    const host = h('div.column');
    this.fillDetail(host);
    this.pane(1);
    this.part = null;
    const part = await this.open(host, name);
    if (this.chosen !== name) return;
    this.part = part;
    const now = this.rows.get(name)?.thing; // what was told while it was read
    if (now) part?.changed?.(now);
  }

  // It was declared in the form.
  done(name) {
    this.app.address(this.id, encodeURIComponent(name));
    return this.choose(name);
  }

  create(text = '') {
    if (!may(this.scope)) return;
    this.turn++;
    this.chosen = null;
    const form = this.newForm(text);
    this.fillDetail(form.node);
    this.pane(1);
    form.focus();
  }

  keys() { return { n: (text) => this.create(text) }; }

  back() {
    this.pane(0);
    const chosen = this.rows.get(this.chosen)?.node;
    (chosen ?? this.body).querySelector('a')?.focus();
  }
}

// Tabs over one panel; all: [title, show(panel)]. Resolves to {shown, show(title)} when the first
// is shown.
export async function tabbed(host, head, label, all, first = all[0][0]) {
  const panel = h('div.pane', { role: 'tabpanel', id: 'panel', tabIndex: 0, 'aria-labelledby': `tab-${first}` });
  const buttons = all.map(([title]) => h('button', { type: 'button', role: 'tab', id: `tab-${title}`,
    'aria-controls': 'panel', onclick: () => show(title) }, title));
  const list = h('div.tabs', { role: 'tablist', 'aria-label': label, onkeydown: (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = (buttons.findIndex((button) => button === document.activeElement) + step + all.length) % all.length;
    show(all[at][0]);
    buttons[at].focus();
  } }, buttons);
  const tabs = { shown: first, show };
  async function show(title) {
    tabs.shown = title;
    all.forEach(([other], i) => {
      buttons[i].setAttribute('aria-selected', String(other === title));
      buttons[i].tabIndex = other === title ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', `tab-${title}`);
    try { await all.find(([other]) => other === title)[1](panel); } catch (error) {
      fill(panel, h('p.bad', {}, error.text ?? error.message));
    }
  }
  fill(host, head, list, panel);
  await show(first);
  if (!isTyping() && !panel.contains(document.activeElement)) buttons[all.findIndex(([title]) => title === first)].focus();
  return tabs;
}

// The tree of key parts. Keys are ordered, so the server finds the children of
// a prefix by jumps, and every level is complete.
import { h, fill, about } from './dom.js';
import { get, query } from './api.js';
import { SIGNS, partText, same, typeOf } from './key.js';

const CHILDREN = 100; // of one prefix, before "more"

export const part = (value) => h('span.part.' + typeOf(value), {},
  SIGNS[typeOf(value)] ? h('i', {}, SIGNS[typeOf(value)]) : null,
  partText(value) === '' ? h('i', {}, 'empty') : partText(value));

export const keyParts = (key) =>
  key.map((value, i) => [i > 0 ? h('span.sep', {}, '/') : null, part(value)]);

export class Tree {
  // pick(key, tapped): an item was chosen, and whether by a pointer; enter(key):
  // entered; hidden(key): left out at the top.
  constructor({ pick, enter, hidden }) {
    Object.assign(this, { pick, enter, hidden });
    this.node = h('ul.tree', { role: 'tree', 'aria-label': 'Keys',
      onkeydown: (event) => this.press(event) });
  }

  async load() {
    const items = await this.items([], 1);
    fill(this.node, items);
    if (items.length > 0) items[0].tabIndex = 0;
    return items.length;
  }

  async items(prefix, level, cursor) {
    const page = await get('/tree' + query({ prefix, limit: CHILDREN, cursor }));
    const items = page.children.filter((child) => level > 1 || !this.hidden(child.key))
      .map((child) => this.item(child, level));
    if (page.cursor) items.push(this.more(prefix, level, page.cursor));
    return items;
  }

  more(prefix, level, cursor) {
    const item = h('li', { role: 'treeitem', 'aria-level': level, tabIndex: -1,
      onclick: async (event) => {
        event.stopPropagation();
        const items = await this.items(prefix, level, cursor);
        item.replaceWith(...items);
        if (items.length > 0) this.focus(items[0]);
      } }, h('div.label.more', {}, 'more …'));
    item.leaf = true;
    return item;
  }

  item(child, level) {
    const leaf = child.below === 0;
    const item = h('li', { role: 'treeitem', 'aria-expanded': leaf ? undefined : 'false',
      'aria-level': level, tabIndex: -1, onclick: (event) => this.click(event, item),
      ondblclick: (event) => { event.stopPropagation(); this.toggle(item); } },
    h('div.label', {}, h('span.twist', { 'aria-hidden': 'true' }), part(child.key.at(-1)),
      h('span.grow'), h('span.count', {}, leaf ? '' :
        child.below === null ? '?' : about(child.below, child.exact)),
      child.entry && !leaf ? h('span.dot', { title: 'also an entry' }, '•') : null));
    Object.assign(item, { key: child.key, leaf });
    return item;
  }

  click(event, item) {
    event.stopPropagation();
    if (event.target.closest('.twist')) {
      this.focus(item);
      this.toggle(item);
      return;
    }
    this.choose(item, true);
    this.toggle(item, true);
  }

  focus(item) {
    for (const other of this.node.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
  }

  mark(item) {
    for (const other of this.node.querySelectorAll('[aria-selected=true]')) {
      other.setAttribute('aria-selected', 'false');
    }
    item?.setAttribute('aria-selected', 'true');
  }

  choose(item, tapped = false) {
    this.mark(item);
    this.focus(item);
    if (item.key) this.pick(item.key, tapped);
  }

  // Marks the item of a key, if it is drawn.
  reveal(key) {
    const all = [...this.node.querySelectorAll('[role=treeitem]')];
    const item = all.find((other) => other.key && same(other.key, key));
    this.mark(item);
    if (!item) return;
    for (const other of all) other.tabIndex = -1;
    item.tabIndex = 0;
    item.scrollIntoView({ block: 'nearest' });
  }

  async toggle(item, open) {
    if (item.leaf) return;
    const isOpen = item.getAttribute('aria-expanded') === 'true';
    if (open === isOpen) return;
    item.setAttribute('aria-expanded', String(!isOpen));
    item.querySelector('ul')?.remove();
    if (isOpen) return;
    const level = Number(item.getAttribute('aria-level')) + 1;
    const group = h('ul', { role: 'group' }, await this.items(item.key, level));
    if (item.getAttribute('aria-expanded') === 'true') item.append(group);
  }

  press(event) {
    const item = event.target.closest('[role=treeitem]');
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [...this.node.querySelectorAll('[role=treeitem]')];
    const at = all.indexOf(item);
    const step = (other) => other && this.choose(other);
    const parent = item.parentElement.closest('[role=treeitem]');
    const act = {
      ArrowDown: () => step(all[at + 1]),
      ArrowUp: () => step(all[at - 1]),
      Home: () => step(all[0]),
      End: () => step(all.at(-1)),
      ArrowRight: () => this.toggle(item, true),
      ArrowLeft: () => (item.getAttribute('aria-expanded') === 'true'
        ? this.toggle(item, false) : step(parent)),
      Enter: () => (item.key ? this.enter(item.key) : item.click()),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

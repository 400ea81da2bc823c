// The box at the top of every page: what a text may mean, found while it is typed. A key, or
// what keys begin with; a value of an index; an index, a page, a command.
import { h, fill, about } from './dom.js';
import { icon } from './icons.js';
import { get, post, query } from './api.js';
import { memberOf, mistake, parse as parseJson } from './json.js';
import { writeFilter } from './filter.js';
import { parse, same, toFragment } from './key.js';
import { may, mayAt, mayReach } from './session.js';
import { keyParts } from './tree.js';

const WAIT_MS = 60; // after a key, before the server is asked
const INDEXES_MAX = 8; // asked for a text
const EACH = 4; // found in one place
const SHOWN = 12;
const PREVIEW = 2048; // bytes of a value, in which the indexed member is read
const AFTER = '\u{10ffff}'; // after all texts that begin with what stands before it

// What a JSON pointer leads to.
const at = (value, path) => path.split('/').slice(1).reduce((found, name) =>
  memberOf(found, name.replaceAll('~1', '/').replaceAll('~0', '~')), value);

const isNumber = (part) => typeof part === 'string' && /^(0|[1-9]\d*)$/.test(part) && Number.isSafeInteger(Number(part));

export class Search {
  // commands(text): [name, icon, run] of what the pages offer; go(hash).
  constructor(box, { commands, go }) {
    Object.assign(this, { box, commands, go, results: [], chosen: 0 });
    this.list = h('ul.found', { id: 'found', role: 'listbox', 'aria-label': 'Found', hidden: true,
      onmousedown: (event) => event.preventDefault(), // the focus stays in the box
      onclick: (event) => this.run(this.results[event.target.closest('li')?.dataset.number]) });
    box.after(this.list);
    box.addEventListener('input', () => this.typed());
    box.addEventListener('keydown', (event) => this.press(event));
    box.addEventListener('blur', () => this.close());
  }

  open() {
    this.indexes = undefined; // they may have changed
    this.search();
  }

  // Cancels the search: no timer and no answer opens the list after this.
  close() {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.asked = null;
    this.list.hidden = true;
    this.box.setAttribute('aria-expanded', 'false');
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(), WAIT_MS);
  }

  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.results.length > 0) this.choose((this.chosen + step + this.results.length) % this.results.length);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Runs what is found for the text as it is now, also where the answers are still to come.
  async enter() {
    clearTimeout(this.timer);
    if (this.box.value.trim() !== this.asked) this.search();
    const { abort } = this;
    await this.pending;
    if (abort?.signal.aborted === false) this.run(this.results[this.chosen]);
  }

  run(result) {
    if (!result?.run) return;
    this.box.value = '';
    this.box.blur();
    result.run();
  }

  search() {
    const text = this.box.value.trim();
    if (text === this.asked || document.activeElement !== this.box) return;
    this.asked = text;
    this.abort?.abort();
    const { signal } = this.abort = new AbortController();
    this.pending = this.find(text, signal).then((results) => { if (!signal.aborted) this.show(results); });
  }

  // The best comes first: what is exactly the text, then what begins with it.
  async find(text, signal) {
    const words = text.toLowerCase().split(/\s+/);
    const offered = this.commands(text).filter(([name]) => words.every((word) => name.toLowerCase().includes(word)))
      .map(([name, sign, run]) => ({ sign, label: name, exact: name.toLowerCase() === text.toLowerCase(), run }));
    if (text === '') return offered;
    const { keys, error, fallback } = this.readKeys(text);
    const quiet = (promise) => promise.catch(() => []);
    const indexes = await quiet(this.declared());
    const found = (await Promise.all([...keys.map((key) => quiet(this.around(key, indexes, signal))),
      ...indexes.filter((index) => this.answers(index)).slice(0, INDEXES_MAX).map((index) => quiet(this.values(index, text, signal)))])).flat();
    const named = indexes.filter(({ name }) => name.includes(text))
      .map(({ name }) => ({ sign: 'indexes', label: name, note: 'index', exact: name === text, run: () => this.go(`#/indexes/${encodeURIComponent(name)}`) }));
    const all = [...found, ...named, ...offered];
    const ranked = [...all.filter(({ exact }) => exact), ...all.filter(({ exact }) => !exact)].slice(0, SHOWN);
    if (ranked.length === 0 && error) return [{ sign: 'close', label: error }];
    return fallback && !ranked.some(({ key, exact }) => key && exact) ? [...ranked, fallback] : ranked;
  }

  // The keys that a text may be: orders/42 may mean the number.
  readKeys(text) {
    try {
      const key = parse(text);
      const numbered = key.map((part) => (isNumber(part) ? Number(part) : part));
      const fallback = { sign: 'entry', label: ['Go to ', h('span.crumbs', {}, keyParts(key))], note: 'not there',
        run: () => this.go(`#/data/${toFragment(key)}`) };
      return { keys: same(key, numbered) ? [key] : [key, numbered], fallback };
    } catch (error) {
      return { keys: [], error: error.message };
    }
  }

  async declared() {
    this.indexes ??= may('read') ? get('/indexes').then(({ indexes }) => indexes) : Promise.resolve([]);
    return this.indexes;
  }

  // The key, if it is there, and those that begin with it.
  async around(key, indexes, signal) {
    if (!mayReach(key, 'list')) {
      const { entries } = await post('/get', { keys: [key] }, { signal });
      return entries[0].versionstamp === null ? [] : [this.entry(key, 'entry', true)];
    }
    const last = key.at(-1);
    const { children } = await get('/tree' + query({ prefix: key.slice(0, -1), start: key, limit: EACH + 1 }), { signal });
    return children.filter((child) => same(child.key, key) || (typeof last === 'string' && String(child.key.at(-1)).startsWith(last)))
      .filter((child) => same(child.key, key) || key.length > 1 || !indexes.some(({ name }) => name === child.key[0]))
      .map((child) => this.entry(child.key, child.below === 0 ? 'entry' : child.below === null ? 'keys' : `${about(child.below, child.exact)} below`, same(child.key, key)));
  }

  entry(key, note, exact) {
    return { key, exact, sign: note === 'entry' ? 'entry' : 'folder', label: h('span.crumbs', {}, keyParts(key)), note,
      run: () => this.go(`#/data/${toFragment(key)}`) };
  }

  // Has it entries in the order of a value, which may be listed?
  answers({ state, fields, prefix, store }) {
    return (state === 'ready' || state === 'migrating') && fields?.[0]?.path !== undefined && !store?.aggregate && mayAt(prefix, 'list') && mayAt(prefix, 'read');
  }

  // Entries whose first field in the index is the text, or begins with it.
  async values(index, text, signal) {
    const [{ path, fold, order }] = index.fields;
    const number = mistake(text) === null ? parseJson(text) : text;
    const list = (range) => get('/list' + query({ index: index.name, limit: EACH, preview: PREVIEW, ...range }), { signal });
    const pages = await Promise.all([list(order === 'desc' ? { prefix: [text] } : { start: [text], end: [text + AFTER] }), typeof number === 'number' ? list({ prefix: [number] }) : { entries: [] }]);
    const entries = pages.flatMap((page) => page.entries).filter((entry) => entry.key);
    const valueOf = ({ preview, cut }) => (cut || !preview ? undefined : at(parseJson(preview), path));
    const folded = (value) => (fold && fold !== 'none' && typeof value === 'string' ? value.toLowerCase() : value);
    const isExact = (value) => folded(value) === folded(text) || value === number;
    if (index.unique) {
      return entries.map((entry) => ({ ...this.entry(entry.key, `${path.slice(1)} ${valueOf(entry) ?? ''}`, isExact(valueOf(entry))), key: undefined, sign: 'entry' }));
    }
    // Many entries may have the value: they are a list.
    const values = [...new Set(entries.map(valueOf).filter((value) => value !== undefined && typeof value !== 'object'))];
    return values.map((value) => ({ exact: isExact(value), sign: 'indexes', label: [h('span.crumbs', {}, keyParts(index.prefix)), ` ${path.slice(1)} = ${value}`], note: 'entries',
      run: () => this.go(`#/data/${toFragment(index.prefix)}?${encodeURIComponent(writeFilter([{ path, eq: value }]))}`) }));
  }

  show(results) {
    this.results = results;
    fill(this.list, results.length === 0 ? h('li.note', { role: 'option', 'aria-disabled': 'true' }, 'Nothing is found.') : results.map(({ sign, label, note }, i) =>
      h('li', { id: `found-${i}`, role: 'option', 'data-number': i }, icon(sign), h('span.grow', {}, label), note ? h('span.note', {}, note) : null)));
    this.list.hidden = false;
    this.box.setAttribute('aria-expanded', 'true');
    this.choose(0);
  }

  choose(number) {
    this.chosen = number;
    [...this.list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === number)));
    this.list.children[number]?.scrollIntoView({ block: 'nearest' });
    if (this.results.length > 0) this.box.setAttribute('aria-activedescendant', `found-${number}`);
    else this.box.removeAttribute('aria-activedescendant');
  }
}

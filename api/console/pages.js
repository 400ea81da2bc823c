// The entries of a prefix by their number, in pages. Neighbours of known pages
// are exact; a jump asks for the entry at that share of the range, so that its
// number is an estimate. Where pages meet they are compared: an entry that an
// estimate would hide makes the pages after it be read again.
import { get, query, send } from './api.js';
import { ExactNumber, memberOf, parse, stringify } from './json.js';
import { same } from './key.js';

const PAGE = 200; // entries
const PAGES_MAX = 30; // pages in memory
const PREVIEW = 240; // bytes of a value
const SETTLE_MS = 50; // a moving scroll bar asks for nothing

// A member of a value as a cell: its text, and whether it is a number.
const cell = (value) => ({ text: value === undefined ? '' : typeof value === 'string' ? value : stringify(value),
  number: typeof value === 'number' || value instanceof ExactNumber });
const nameOf = (field) => field.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');

// The entries of a request, {entries, cursor}: with the members that `fields` asks for, as
// `cells`, or with the beginning of each value.
export async function readPage(target, fields, signal) {
  if (!fields) return get(target + query({ preview: PREVIEW }).replace('?', '&'), { signal });
  const page = parse(await (await send('GET', target + query({ fields }).replace('?', '&'), { signal })).text(), true);
  return { cursor: page.cursor, entries: page.entries.map(({ key, value, typed }) =>
    ({ key, cells: fields.map((field) => cell(memberOf(value ?? typed?.value, nameOf(field)))) })) };
}

export class Pages {
  // changed(from, to): rows have arrived; resized(): `total` has changed;
  // moved(by): all entries have other numbers. `fields`: JSON pointers of members
  // to read instead of the beginning of each value.
  constructor(prefix, { changed, resized, moved, fields }) {
    Object.assign(this, { prefix, changed, resized, moved, fields, total: 0, exact: true, from: 0 });
    this.clear(0);
  }

  // Forgets all; `base` is the number of an entry with which a page begins.
  clear(base) {
    this.base = base % PAGE;
    this.known = new Map();
    this.asked = new Map();
    this.turn = (this.turn ?? 0) + 1;
  }

  pageOf(i) { return Math.floor((i - this.base) / PAGE); }
  start(page) { return Math.max(0, this.base + page * PAGE); }
  end(page) { return this.base + (page + 1) * PAGE; }
  at(i) { return this.known.get(this.pageOf(i))?.[i - this.start(this.pageOf(i))]; }

  async count(more) {
    return get('/count' + query({ prefix: this.prefix, ...more }));
  }

  async open() {
    const { count, exact } = await this.count({ estimate: true });
    Object.assign(this, { total: count, exact });
  }

  async list(more) {
    return (await readPage('/list' + query({ prefix: this.prefix, limit: PAGE, ...more }), this.fields)).entries;
  }

  // The number of the entry with this key, or of the next one.
  async find(key, precisely) {
    const { count } = await this.count({ end: key, estimate: precisely ? undefined : true });
    const entries = await this.list({ start: key });
    this.clear(count); // from here on without a pause, so that the list can move with it
    if (entries.length > 0) this.known.set(this.pageOf(count), entries);
    if (count + entries.length > this.total) this.resize(count + entries.length);
    return count;
  }

  resize(total) {
    this.total = total;
    this.resized();
  }

  // Reads what is missing of these rows, when the list stands still.
  need(from, to) {
    clearTimeout(this.timer);
    this.upward = from < this.from;
    this.from = from;
    const missing = [];
    for (let page = this.pageOf(from); page <= this.pageOf(Math.max(from, to - 1)); page++) {
      if (!this.known.has(page)) missing.push(page);
    }
    if (missing.length === 0) return;
    // At the end the last page comes first: the one before is found from it.
    if (this.end(missing.at(-1)) >= this.total && !this.known.has(missing[0] - 1)) missing.reverse();
    const near = missing.some((page) => this.isNear(page));
    this.timer = setTimeout(async () => {
      for (const page of missing) await this.read(page);
    }, near ? 0 : SETTLE_MS);
  }

  isNear(page) {
    return this.start(page) === 0 || this.known.has(page - 1) || this.known.has(page + 1);
  }

  // The entry with this number, when it is there; undefined: there is no such entry.
  async entry(i) {
    if (!this.at(i)) await this.read(this.pageOf(i));
    return this.at(i);
  }

  async read(page) {
    if (this.known.has(page)) return;
    if (!this.asked.has(page)) {
      const turn = this.turn;
      this.asked.set(page, this.fetch(page).finally(() => {
        if (turn === this.turn) this.asked.delete(page);
      }));
    }
    await this.asked.get(page);
  }

  async fetch(page) {
    const turn = this.turn;
    const before = this.known.get(page - 1);
    const after = this.known.get(page + 1);
    const chains = [
      before?.length > 0 ? () => this.forward(page, before) : null,
      after?.length > 0 ? () => this.backward(page, after) : null,
    ].filter(Boolean);
    // What was in view keeps its numbers: the side that the list comes from counts.
    const chain = this.upward ? chains.at(-1) : chains[0];
    const entries = chain ? await chain() : await this.jump(page);
    if (entries === null || turn !== this.turn) return;
    this.known.set(page, entries);
    this.forget(page);
    this.changed(this.start(page), this.end(page));
  }

  // The page after a known one. One entry more shows whether the next one fits.
  async forward(page, before) {
    const limit = this.end(page) - this.start(page);
    const found = (await this.list({ start: before.at(-1).key, limit: limit + 2 })).slice(1);
    const next = this.known.get(page + 1);
    const fits = !next || (found[limit] && same(found[limit].key, next[0].key));
    if (!fits) this.drop((other) => other > page);
    const end = this.start(page) + Math.min(found.length, limit);
    if (found.length <= limit && end !== this.total) this.resize(end);
    if (found.length > limit && end >= this.total) this.resize(end + found.length - limit);
    return found.slice(0, limit);
  }

  // The page before a known one. At the first row it shows whether the numbers
  // were right; if not, they are counted.
  async backward(page, after) {
    const limit = this.start(page + 1) - this.start(page);
    const first = after[0].key;
    const found = await this.list({ end: first, reverse: true, limit: limit + 1 });
    const right = this.start(page) === 0 ? found.length === limit : found.length > limit;
    const next = this.known.get(page - 1);
    if (next && !(found[limit] && same(found[limit].key, next.at(-1).key))) {
      this.drop((other) => other < page);
    }
    if (right) return found.slice(0, limit).reverse();
    const number = this.start(page + 1);
    this.moved(await this.find(first, true) - number);
    return null;
  }

  drop(which) {
    for (const page of [...this.known.keys()]) if (which(page)) this.known.delete(page);
  }

  // A page with no known neighbour.
  async jump(page) {
    const start = this.start(page);
    const limit = this.end(page) - start;
    if (start === 0) return this.list({ limit });
    if (this.end(page) >= this.total) {
      return (await this.list({ reverse: true, limit: this.total - start })).reverse();
    }
    return this.list({ share: start / this.total, limit });
  }

  forget(page) {
    const far = [...this.known.keys()].sort((a, b) => Math.abs(b - page) - Math.abs(a - page));
    for (const other of far.slice(0, Math.max(0, far.length - PAGES_MAX))) this.known.delete(other);
  }
}

// What a request found, one page after another, for the same rows. `total` grows by a row
// as long as there is more.
export class Found {
  constructor(request, { changed, resized, fields }) {
    Object.assign(this, { request, changed, resized, fields, prefix: [], entries: [], total: 0, exact: false });
  }

  at(i) { return this.entries[i]; }
  clear() {}
  get base() { return 0; }

  async open() {
    Object.assign(this, { entries: [], cursor: undefined });
    await this.more();
  }

  async more() {
    const { request, cursor } = this;
    const target = request + (request.includes('?') ? '&' : '?') + query({ limit: PAGE, cursor }).slice(1);
    const page = await readPage(target, this.fields);
    const from = this.entries.length;
    this.entries.push(...page.entries);
    Object.assign(this, { cursor: page.cursor, exact: page.cursor === null, total: this.entries.length + (page.cursor === null ? 0 : 1) });
    if (from > 0) { this.resized(); this.changed(from, Infinity); }
  }

  need(from, to) {
    if (to <= this.entries.length || this.exact || this.asked) return;
    this.asked = this.more().finally(() => { this.asked = null; });
  }

  async entry(i) {
    if (!this.at(i) && !this.exact) await (this.asked ?? this.more());
    return this.at(i);
  }

  async find(key) { return this.entries.findIndex((entry) => same(entry.key, key)); }
}

// The values of an index with the number of their entries, or the groups of an index of
// totals with their counts and sums.
import { h, fill, about, count } from './dom.js';
import { get, query } from './api.js';
import { keyParts } from './tree.js';
import { sumsOf } from './store.js';

const PAGE = 50; // values or groups
const GROUPS_MAX = 10000; // which the server adds up in one answer

const numbers = (texts) => texts.map((text) => h('td.num', {}, text));
const line = (title, texts) => h('tr', {}, h('th', { scope: 'row' }, title), numbers(texts));

// A table that grows by pages. head: [title, class]; read(cursor) resolves to {rows, cursor}.
export async function table(host, { head, foot, read, empty = 'The index has no entries.' }) {
  const body = h('tbody');
  let cursor;
  const add = async () => {
    const page = await read(cursor);
    body.append(...page.rows);
    cursor = page.cursor;
    more.hidden = !cursor;
  };
  const more = h('button', { type: 'button', onclick: add }, 'More');
  await add();
  const titles = head.map(([text, kind = '']) => h(`th${kind}`, { scope: 'col' }, text));
  fill(host, body.childElementCount === 0 ? h('p', {}, empty)
    : [h('table', {}, h('thead', {}, h('tr', {}, titles)), body, foot ? h('tfoot', {}, foot) : null), more]);
}

function values(host, { name }) {
  return table(host, { head: [['Value'], ['Entries', '.num']], read: async (cursor) => {
    const page = await get('/tree' + query({ index: name, limit: PAGE, cursor }));
    return { cursor: page.cursor, rows: page.children.map(({ key, entry, below, exact }) =>
      line(keyParts(key.slice(-1)), [below === null ? '?' : about(below + entry, exact)])) };
  } });
}

async function totals(host, { name, store, fields, entries }) {
  const sums = sumsOf(store);
  const texts = (total) => [count(total.count), ...sums.map((path) => total.sum[path])];
  let foot = null;
  if (fields.length > 0 && entries > 0 && entries <= GROUPS_MAX) {
    const all = await get('/aggregate' + query({ index: name }));
    foot = line(`All ${count(all.groups)}`, texts(all));
  }
  await table(host, { head: [['Group'], ['Entries', '.num'], ...sums.map((path) => [`Sum of ${path}`, '.num'])], foot, read: async (cursor) => {
    const page = await get('/list' + query({ index: name, limit: PAGE, cursor }));
    return { cursor: page.cursor, rows: page.entries.map(({ key, value }) =>
      line(key.length > 1 ? h('span.crumbs', {}, keyParts(key.slice(1))) : 'All', texts(value))) };
  } });
}

export async function showValues(host, index) {
  if (index.state === 'building') fill(host, h('p', {}, 'The index can be read once it is built.'));
  else if (index.store.aggregate) await totals(host, index);
  else await values(host, index);
}

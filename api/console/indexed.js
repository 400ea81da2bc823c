// Which index entries an entry has, and why an index leaves it out.
import { h } from './dom.js';
import { get, post } from './api.js';
import { ExactNumber, memberOf, parse } from './json.js';
import { begins, parse as parseKey, toFragment, write } from './key.js';
import { form } from './dialog.js';
import { keyParts } from './tree.js';

const member = (value, path) => path.slice(1).split('/').reduce((now, name) =>
  memberOf(now, name.replaceAll('~1', '/').replaceAll('~0', '~')), value);
const isPart = (value) => ['string', 'boolean', 'number'].includes(typeof value) || value instanceof ExactNumber;

// The conditions that find the entry by the fields of the index; otherwise {why} it has
// no value for them, or a {note}.
function conditionsOf(index, value) {
  const where = [];
  for (const { path, fold, each } of index.fields) {
    if (path === undefined || each) return { note: 'not looked up here: a field is a key part, a versionstamp or the elements of an array' };
    const found = member(value, path);
    if (found === undefined || found === null) return { why: `it has no value at ${path}` };
    if (!isPart(found)) return { why: `its value at ${path} is no text, number or boolean` };
    where.push({ path, eq: found, ...(fold && fold !== 'none' ? { fold } : {}) });
  }
  return { where };
}

// The key of the index entry. The server says how the values are written in it.
async function keyIn(index, key, where) {
  const { indexes } = await post('/explain', { prefix: index.prefix, where });
  const request = indexes.find((fit) => fit.index === index.name && fit.answers)?.request;
  if (!request) return null;
  const values = parseKey(new URL(request, location.origin).searchParams.get('prefix') ?? '');
  return [index.name, ...values, ...(index.unique ? [] : key.slice(index.prefix.length))];
}

// {key} of the index entry, {why} the index leaves the entry out, or a {note} in its place.
async function lookUp(index, key, value) {
  if (index.store.aggregate) return { note: 'stores totals, not entries' };
  const { where, ...found } = conditionsOf(index, value);
  if (!where) return found;
  const at = await keyIn(index, key, where);
  if (at === null) return index.state === 'ready' ? { why: 'no key can have its values, for example because they are too long' }
    : { note: `does not answer yet: it is ${index.state}` };
  const { entries } = await post('/get', { keys: [at] });
  return entries[0].versionstamp ? { key: at }
    : { why: 'its values are too long for a key, it does not meet the condition of the index, or it was changed meanwhile' };
}

// Shows the indexes over a key. `text` is the stored value, as JSON.
export async function showIndexes(key, kind, text) {
  const { indexes } = await get('/indexes');
  const over = indexes.filter((index) => begins(key, index.prefix) && key.length > index.prefix.length &&
    (index.depth === undefined || key.length - index.prefix.length === index.depth));
  const parsed = kind === 'JSON' || kind === 'typed' ? parse(text) : undefined;
  const value = kind === 'typed' && parsed.type === 'object' ? parsed.value : parsed;
  const rows = await Promise.all(over.map(async (index) => {
    const found = await lookUp(index, key, value).catch((error) => ({ note: error.text ?? error.message }));
    return h('tr', {}, h('th', { scope: 'row' }, h('a', { href: `#/indexes/${encodeURIComponent(index.name)}` }, index.name)),
      h('td', {}, found.key ? h('a', { href: `#/data/${toFragment(found.key)}` }, keyParts(found.key)) : found.note ?? `leaves it out: ${found.why}`));
  }));
  const dialog = form({ id: 'indexed', title: `Indexes of ${write(key)}`, action: 'Close', cancel: null, submit: () => true,
    body: rows.length === 0 ? h('p', {}, 'No index is declared for entries with this key.') : h('table', {}, h('tbody', {}, rows)) });
  addEventListener('hashchange', () => document.getElementById('indexed')?.close(), { once: true });
  await dialog;
}

// Which members of the values a list shows as columns.
import { h } from './dom.js';
import { get, query } from './api.js';
import { parse, stringify, tokens } from './json.js';
import { form } from './dialog.js';

const LOOKED_AT = 50; // entries in which members are looked for
const PREVIEW = 4096; // bytes of each
const COLUMNS_MAX = 6; // shown
const GUESSED_MAX = 5; // shown where none were chosen

// The members of the outer object of a text, which may be cut, as [name, kind of its value].
export function members(text) {
  const found = [];
  let depth = 0;
  let string = null;
  let named = false;
  try {
    for (const [kind, start, end] of tokens(text)) {
      if (depth === 0 && kind !== '{') return found;
      if (named) found.at(-1)[1] = kind;
      named = kind === ':' && depth === 1;
      if (kind === '{' || kind === '[') depth++;
      if (kind === '}' || kind === ']') depth--;
      if (named) found.push([parse(string), '']);
      string = kind === 's' ? text.slice(start, end) : null;
    }
  } catch { /* cut here */ }
  return found;
}

const pointer = (name) => '/' + name.replaceAll('~', '~0').replaceAll('/', '~1');

const KEPT = 'kindex-columns';
const kept = new Map(Object.entries(parse(sessionStorage.getItem(KEPT) ?? '{}'))); // of prefixes as text

// {fields, widths} of a prefix: the members shown, and widths in pixels by column; undefined: the ones that are guessed.
export const columnsOf = (name) => kept.get(name);
export function keepColumns(name, columns) {
  kept.set(name, columns);
  sessionStorage.setItem(KEPT, stringify(Object.fromEntries(kept)));
}

const look = async (prefix) => (await get('/list' + query({ prefix, limit: LOOKED_AT, preview: PREVIEW }))).entries;

// The members that most of the first entries have, in the order in which they are written: JSON
// pointers, none if the values are no objects with the same members.
export async function guessColumns(prefix) {
  const entries = await look(prefix);
  const found = new Map();
  for (const { preview } of entries) {
    for (const [name, kind] of new Map(members(preview ?? ''))) if (!'{['.includes(kind)) found.set(name, (found.get(name) ?? 0) + 1);
  }
  return [...found].filter(([, times]) => times > entries.length / 2).map(([name]) => pointer(name)).slice(0, GUESSED_MAX);
}

// Resolves to JSON pointers, or undefined if nothing was chosen.
export async function chooseColumns(prefix, shown) {
  const found = new Set();
  for (const { preview } of await look(prefix)) for (const [name] of members(preview ?? '')) found.add(pointer(name));
  for (const field of shown) found.add(field);
  const boxes = [...found].map((field) => h('input', { type: 'checkbox', name: 'column', value: field, checked: shown.includes(field) }));
  if (boxes.length > 0) boxes[0].autofocus = true;
  let chosen;
  await form({ id: 'columns', title: 'Columns', action: 'Show', body: boxes.length === 0
    ? h('p', {}, 'No value of the first entries is an object with members.')
    : h('fieldset', {}, h('legend', {}, `Members of the first entries, at most ${COLUMNS_MAX}`),
      boxes.map((box) => h('label.check', {}, box, h('code', {}, box.value)))),
  submit: () => {
    const picked = boxes.filter((box) => box.checked).map((box) => box.value);
    if (picked.length > COLUMNS_MAX) throw new Error(`Choose at most ${COLUMNS_MAX} members.`);
    chosen = picked;
  } });
  return chosen;
}

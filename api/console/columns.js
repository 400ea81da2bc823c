// Which members of the values a list shows as columns.
import { h } from './dom.js';
import { get, query } from './api.js';
import { parse, tokens } from './json.js';
import { form } from './dialog.js';

const LOOKED_AT = 50; // entries in which members are looked for
const PREVIEW = 4096; // bytes of each
const COLUMNS_MAX = 6; // shown

// The names in the outer object of a text, which may be cut.
export function names(text) {
  const found = [];
  let depth = 0;
  let string = null;
  try {
    for (const [kind, start, end] of tokens(text)) {
      if (depth === 0 && kind !== '{') return found;
      if (kind === '{' || kind === '[') depth++;
      if (kind === '}' || kind === ']') depth--;
      if (kind === ':' && depth === 1) found.push(parse(string));
      string = kind === 's' ? text.slice(start, end) : null;
    }
  } catch { /* cut here */ }
  return found;
}

const pointer = (name) => '/' + name.replaceAll('~', '~0').replaceAll('/', '~1');

// Resolves to JSON pointers, or undefined if nothing was chosen.
export async function chooseColumns(prefix, shown) {
  const { entries } = await get('/list' + query({ prefix, limit: LOOKED_AT, preview: PREVIEW }));
  const found = new Set(shown);
  for (const { preview } of entries) for (const name of names(preview ?? '')) found.add(pointer(name));
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

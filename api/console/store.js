// What the entries of an index store: a pointer, a copy of the value or of some members,
// or totals of groups.
import { h } from './dom.js';

const STORES = [['pointer', 'a pointer to the entry'], ['value', 'a copy of the value'], ['fields', 'some members of the value'],
  ['aggregate', 'totals: how many entries, and sums']];

const words = (text) => text.split(/[\s,]+/).filter(Boolean);
const memberText = (field) => field.path ?? field;

// "/total:2" is a sum with two decimals.
const sumText = (sum) => memberText(sum) + (sum.scale ? `:${sum.scale}` : '');
function readSum(word) {
  const [, path, scale] = /^(.*?)(?::(\d+))?$/.exec(word);
  return { path, scale: Number(scale ?? 0) };
}

export const sumsOf = (store) => (store.aggregate?.sum ?? []).map(memberText);

// To put after "it stores".
export function storeText(store) {
  if (store.fields) return store.fields.map(memberText).join(' ');
  return store.aggregate ? ['totals', ...store.aggregate.sum?.map(sumText) ?? []].join(' ') : store;
}

// Fields to choose it: {nodes, value(), isTotals()}.
export function storeFields(store = 'pointer') {
  const kind = typeof store === 'string' ? store : Object.keys(store)[0];
  const input = (name, placeholder, value) => h('input', { name, placeholder, value: value.join(' '), spellcheck: false, autocomplete: 'off' });
  const fields = input('fields', '/name /city', (store.fields ?? []).map(memberText));
  const sums = input('sums', '/total:2 /quantity', (store.aggregate?.sum ?? []).map(sumText));
  const more = { fields: h('label', {}, 'Members', fields), aggregate: h('label', {}, 'Sums of numbers, with their decimals', sums) };
  const select = h('select', { name: 'store' }, STORES.map(([value, text]) => h('option', { value, selected: value === kind }, text)));
  const show = () => { for (const name of Object.keys(more)) more[name].hidden = name !== select.value; };
  select.addEventListener('input', show);
  show();
  return { nodes: [h('label', {}, 'Its entries store ', select), Object.values(more)],
    isTotals: () => select.value === 'aggregate',
    value: () => ({ fields: { fields: words(fields.value) },
      aggregate: { aggregate: { count: true, sum: words(sums.value).map(readSum) } } }[select.value] ?? select.value) };
}

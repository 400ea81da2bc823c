// Two changed versions of one JSON text, put together where they changed
// different members. Arrays count as one value. What is taken is cut from the
// source texts, so that nothing else of them changes.
import { compact, parse, tokens } from './json.js';

// The members of an object: a map from name to the places of the name and the
// value; null for any other value.
export function members(text) {
  const found = new Map();
  let depth = 0;
  let name = null; // [start, end] of a name, until its value has ended
  let value = 0;
  let previous = '';
  for (const [kind, start, end] of tokens(text)) {
    if (depth === 0 && kind !== '{') return null;
    if (kind === '}' || kind === ']') depth--;
    if (name !== null && ((depth === 1 && kind === ',') || depth === 0)) {
      found.set(parse(text.slice(...name)), { name, value: [value, previous] });
      name = null;
    } else if (depth === 1 && kind === 's' && name === null) {
      name = [start, end];
      value = 0;
    } else if (name !== null && value === 0 && kind !== ':') {
      value = start;
    }
    if (kind === '{' || kind === '[') depth++;
    previous = end;
  }
  return found;
}

const cut = (text, place) => text.slice(...place);
const alike = (a, b) => (a === null || b === null ? a === b : compact(a) === compact(b));

// The object with these members, as [source, comma and white space before it].
function write(text, all, list) {
  const places = [...all.values()];
  const end = text.lastIndexOf('}');
  const first = places[0]?.name[0] ?? end;
  const last = places.at(-1)?.value[1] ?? end;
  const body = list.map(([source, before], i) => (i > 0 ? before : '') + source).join('');
  return text.slice(0, first) + body + text.slice(last);
}

// The merged text, begun from theirs, and the names that mine has changed; null:
// both have changed the same member, or one of them is no object.
export function merge(base, theirs, mine) {
  const [b, t, m] = [base, theirs, mine].map(members);
  if (!b || !t || !m) return null;
  const list = [];
  const names = [];
  let before = 0; // the end of the value before
  let comma = `,${/\{(\s*)/.exec(theirs)[1]}`;
  for (const name of new Set([...t.keys(), ...b.keys(), ...m.keys()])) {
    const [old, now, own] = [[base, b], [theirs, t], [mine, m]].map(([text, all]) =>
      (all.has(name) ? cut(text, all.get(name).value) : null));
    const place = t.get(name);
    if (place && before > 0) comma = theirs.slice(before, place.name[0]);
    if (place) before = place.value[1];
    let value = now;
    if (!alike(old, own) && !alike(now, own)) {
      names.push(name);
      if (alike(old, now)) value = own;
      else value = [old, now, own].includes(null) ? null : merge(old, now, own)?.text ?? null;
      if (value === null && !alike(old, now)) return null;
    }
    if (value === null) continue;
    const label = place ? theirs.slice(place.name[0], place.value[0]) : mine.slice(m.get(name).name[0], m.get(name).value[0]);
    list.push([label + value, comma]);
  }
  return { text: write(theirs, t, list), names };
}

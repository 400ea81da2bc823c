// JSON as text. Nothing here makes values of it: so no number is rounded, no
// member is dropped, and what is not edited keeps its bytes.

const TOKEN = new RegExp([
  /[ \t\n\r]+/, /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/,
  /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/, /true|false|null/, /[{}[\],:]/,
].map((part) => part.source).join('|'), 'y');

const KIND = { '"': 's', t: 'w', f: 'w', n: 'w' };

// The tokens but white space, as [kind, start, end]: s string, n number, w word,
// or the sign itself. Throws {at, message} at the first that is not one.
export function* tokens(text) {
  for (let at = 0; at < text.length;) {
    TOKEN.lastIndex = at;
    if (!TOKEN.test(text)) throw { at, message: `${JSON.stringify(text[at])} is not expected` };
    const end = TOKEN.lastIndex;
    const sign = text[at];
    if (!' \t\n\r'.includes(sign)) {
      const kind = KIND[sign] ?? ('{}[],:'.includes(sign) ? sign : 'n');
      yield [kind, at, end];
    }
    at = end;
  }
}

// Each state: what may follow, by kind of token, and the state after it.
function follow(state, kind, open) {
  const enter = (end) => open.push({ end, names: new Set() });
  const close = () => { open.pop(); return open.length > 0 ? 'next' : 'end'; };
  if (state === 'value' || state === 'element') {
    if (kind === ']' && state === 'element') return close();
    if (kind === '{') { enter('}'); return 'member'; }
    if (kind === '[') { enter(']'); return 'element'; }
    return 'snw'.includes(kind) ? (open.length > 0 ? 'next' : 'end') : null;
  }
  if (state === 'name' || state === 'member') {
    if (kind === '}' && state === 'member') return close();
    return kind === 's' ? 'colon' : null;
  }
  if (state === 'colon') return kind === ':' ? 'value' : null;
  if (state === 'next') {
    if (kind === ',') return open.at(-1).end === '}' ? 'name' : 'value';
    return kind === open.at(-1).end ? close() : null;
  }
  return null;
}

const WANTED = { value: 'a value', element: 'a value or "]"', name: 'a name in quotes',
  member: 'a name in quotes or "}"', colon: '":"', end: 'the end' };
export const DEPTH_MAX = 64; // as on the server

// null, or the first mistake: {at, message}.
export function mistake(text) {
  const open = [];
  let state = 'value';
  const wanted = () => (state === 'next' ? `"," or "${open.at(-1).end}"` : WANTED[state]);
  try {
    for (const [kind, start, end] of tokens(text)) {
      const after = follow(state, kind, open);
      if (after === null) return { at: start, message: `${wanted()} is expected here` };
      if (open.length > DEPTH_MAX) return { at: start, message: `more than ${DEPTH_MAX} levels` };
      const wrong = lacks(text.slice(start, end), kind, after === 'colon' ? open.at(-1).names : null);
      if (wrong) return { at: start, message: wrong };
      state = after;
    }
  } catch (error) {
    if (error instanceof Error) throw error;
    return error;
  }
  return state === 'end' ? null : { at: text.length, message: `${wanted()} is missing at the end` };
}

// What the server refuses beside the grammar: half of a surrogate pair, which has
// no UTF-8; a name that its object has already; a number that no double holds.
function lacks(token, kind, names) {
  if (kind === 'n') return Number.isFinite(Number(token)) ? null : 'a number beyond 1.8e308';
  if (kind !== 's') return null;
  const plain = !token.includes('\\') ? token.slice(1, -1) : JSON.parse(token);
  if (!plain.isWellFormed()) return 'half of a surrogate pair';
  if (names?.has(plain)) return 'this name is in the object already';
  names?.add(plain);
  return null;
}

// "line 2, column 5" of a place in the text.
export function place(text, at) {
  const before = text.slice(0, at).split('\n');
  return `line ${before.length}, column ${before.at(-1).length + 1}`;
}

// ---- White space ------------------------------------------------------------

// The same document with line breaks. The text must have no mistake.
export function format(text, indent = '  ') {
  const out = [];
  let depth = 0;
  let previous = '';
  const line = () => out.push('\n', indent.repeat(depth));
  for (const [kind, start, end] of tokens(text)) {
    if (kind === '}' || kind === ']') {
      depth--;
      if (previous !== '{' && previous !== '[') line();
    } else if (previous === '{' || previous === '[' || previous === ',') {
      line();
    }
    out.push(text.slice(start, end));
    if (kind === '{' || kind === '[') depth++;
    if (kind === ':') out.push(' ');
    previous = kind;
  }
  return out.join('');
}

// The same document without white space.
export function compact(text) {
  const out = [];
  for (const [, start, end] of tokens(text)) out.push(text.slice(start, end));
  return out.join('');
}

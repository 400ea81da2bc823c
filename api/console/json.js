// JSON as text, and the one reader and writer of documents. A value that is shown or edited
// stays text, so it keeps its bytes; no number is ever rounded.

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

const HALF_PAIR = /[\ud800-\udfff]/u; // as one character, only without its other half

// What the server refuses beside the grammar: half of a surrogate pair, which has
// no UTF-8; a name that its object has already; a number that no double holds.
function lacks(token, kind, names) {
  if (kind === 'n') return Number.isFinite(Number(token)) ? null : 'a number beyond 1.8e308';
  if (kind !== 's') return null;
  const plain = !token.includes('\\') ? token.slice(1, -1) : JSON.parse(token);
  if (HALF_PAIR.test(plain)) return 'half of a surrogate pair';
  if (names?.has(plain)) return 'this name is in the object already';
  names?.add(plain);
  return null;
}

// "line 2, column 5" of a place in the text.
export function place(text, at) {
  const before = text.slice(0, at).split('\n');
  return `line ${before.length}, column ${before.at(-1).length + 1}`;
}

// ---- Documents --------------------------------------------------------------

// A number that would come back with another value from a double. It keeps its text.
export class ExactNumber {
  #text;

  constructor(text) { this.#text = text; }

  toString() { return this.#text; }
}

const NUMBER = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

// A form of a number that only numbers of the same value have.
function decimal(text) {
  const [, sign, whole, fraction = '', power = '0'] = NUMBER.exec(text);
  const digits = (whole + fraction).replace(/^0+/, '');
  let length = digits.length;
  while (digits[length - 1] === '0') length--;
  if (length === 0) return '0';
  return `${sign}${digits.slice(0, length)}e${Number(power) - fraction.length + digits.length - length}`;
}

// Does a double have the value of this number, so that it can be written again?
export function isExact(text) {
  const back = String(Number(text));
  return back === text || (NUMBER.test(back) && decimal(back) === decimal(text));
}

// The value of a JSON text, in which a number that is not exact is an ExactNumber; with
// `asWritten` also one that JavaScript would write in another way, such as 1.10. Throws a
// SyntaxError.
export function parse(text, asWritten = false) {
  const all = tokens(text);
  const next = () => all.next().value ?? ['', text.length];
  const fail = (at) => { throw new SyntaxError(`a mistake at ${place(text, at)}`); };
  function* list(close, read) {
    let token = next();
    if (token[0] === close) return;
    for (;; token = next()) {
      yield read(token);
      const [kind, at] = next();
      if (kind === close) return;
      if (kind !== ',') fail(at);
    }
  }
  const value = ([kind, start, end]) => {
    if (kind === '{') return Object.fromEntries(list('}', member));
    if (kind === '[') return [...list(']', value)];
    const source = text.slice(start, end);
    if (kind === 's' || kind === 'w') return JSON.parse(source);
    if (kind !== 'n') fail(start);
    const number = Number(source);
    return (asWritten ? String(number) === source : isExact(source)) ? number : new ExactNumber(source);
  };
  const member = (name) => {
    const [kind, at] = next();
    if (name[0] !== 's' || kind !== ':') fail(at);
    return [value(name), value(next())];
  };
  try {
    const found = value(next());
    if (!all.next().done) fail(text.length);
    return found;
  } catch (error) {
    if (error instanceof Error) throw error;
    return fail(error.at);
  }
}

// The own member of an object, or the element of an array; otherwise undefined.
export const memberOf = (value, name) => (value !== null && typeof value === 'object' &&
  Object.prototype.propertyIsEnumerable.call(value, name) ? value[name] : undefined);

// The JSON text of a value; an ExactNumber is written as it was read.
export function stringify(value) {
  if (value instanceof ExactNumber) return String(value);
  if (Array.isArray(value)) return `[${value.map((element) => stringify(element) ?? 'null').join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join()}}`;
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

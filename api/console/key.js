// Keys: their parts as the interface writes them ("text", 42,
// {"type":"bigint","value":"1"}), and as text in the form of addresses:
// users/=42/=true.
import { ExactNumber, isExact, parse as parseJson } from './json.js';

const TYPES = { bigint: 'bigint', number: 'number', Uint8Array: 'bytes' };
const SPECIAL = ['NaN', '-NaN', 'Infinity', '-Infinity', '-0'];

export const typeOf = (part) =>
  (part !== null && typeof part === 'object' ? TYPES[part.type] ?? 'other' : typeof part);

// A sign in front of a part shows its type.
export const SIGNS = { string: '', number: '#', bigint: '', boolean: '', bytes: '0x', other: '!' };

export function partText(part) {
  switch (typeOf(part)) {
  case 'bigint': return part.value + 'n';
  case 'bytes': return part.value;
  case 'number': return String(part.value ?? part);
  default: return String(part);
  }
}

export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
export const begins = (key, prefix) =>
  key.length >= prefix.length && same(key.slice(0, prefix.length), prefix);

// ---- Reading ----------------------------------------------------------------

function refuseNumber(text) {
  throw new Error(`${text} is not exact as a number: write a bigint such as =42n, or a text`);
}

function typedPart(text) {
  if (/^-?\d+n$/.test(text)) return { type: 'bigint', value: text.slice(0, -1) };
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^b64:[A-Za-z0-9_-]*$/.test(text)) return { type: 'Uint8Array', value: text.slice(4) };
  if (SPECIAL.includes(text)) return { type: 'number', value: text };
  if (/^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) {
    if (!isExact(text)) refuseNumber(text);
    return Number(text);
  }
  throw new Error(`=${text} is no part of a key: write =42, =42n, =true, =b64:AQID or ="text"`);
}

const QUOTED = /="(?:[^"\\]|\\.)*"(?=\/|$)/y;

// The parts of a text such as users/=42, or of a JSON array. Throws an Error
// that says what is wrong.
export function parse(text) {
  if (text === '') return [];
  if (text.startsWith('[')) {
    let parts;
    try {
      parts = parseJson(text);
    } catch (error) {
      throw new Error(`This is not a JSON array: ${error.message}`);
    }
    for (const part of parts) if (part instanceof ExactNumber) refuseNumber(part);
    return parts;
  }
  const parts = [];
  let plain = false; // the last segment has no quotes
  for (let at = 0; at <= text.length;) {
    QUOTED.lastIndex = at;
    const quoted = QUOTED.exec(text);
    const slash = text.indexOf('/', quoted ? QUOTED.lastIndex : at);
    const end = slash < 0 ? text.length : slash;
    const segment = text.slice(at, end);
    plain = quoted === null;
    if (quoted) parts.push(parseJson(segment.slice(1)));
    else if (segment.startsWith('=')) parts.push(typedPart(segment.slice(1)));
    else parts.push(segment);
    at = end + 1;
  }
  if (parts.length > 1 && plain && parts.at(-1) === '') parts.pop(); // users/ is the prefix users
  return parts;
}

// ---- Writing ----------------------------------------------------------------

const NEEDS_QUOTES = /^[=[]|^\s|\s$|\/|^$|[\u0000-\u001f\u007f]/;

function writePart(part) {
  switch (typeOf(part)) {
  case 'string': return NEEDS_QUOTES.test(part) ? '=' + JSON.stringify(part) : part;
  case 'bigint': return `=${part.value}n`;
  case 'bytes': return `=b64:${part.value}`;
  default: return '=' + String(part.value ?? part);
  }
}

export const write = (key) => key.map(writePart).join('/');

// The same in the fragment of an address.
export const toFragment = (key) =>
  encodeURIComponent(write(key)).replace(/%(2F|3D|3A|40|2C)/g, decodeURIComponent);
export const fromFragment = (text) => parse(decodeURIComponent(text));

// A question in one line: status = open, date in 2026-11, total >= 10, tags has new.
import { mistake, parse, stringify } from './json.js';

const SIGNS = { '=': 'eq', '==': 'eq', '!=': 'ne', '≠': 'ne', '>=': 'ge', '≥': 'ge', '<=': 'le', '≤': 'le', '>': 'gt', '<': 'lt' };
const CONDITION = /^(\/?[^\s=!<>≠≥≤]+)\s*(==?|!=|>=|<=|[<>≠≥≤]|\s(?:in|has|exists|missing)\b)\s*(.*)$/u;
const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/;

// The parts of a text between commas, or "and", that are in no quotes and no brackets.
function split(text) {
  const parts = [''];
  let depth = 0;
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"|,|\sand\s|[^]/giu)) {
    if ('[{'.includes(piece)) depth++;
    if (']}'.includes(piece)) depth--;
    if (depth === 0 && (piece === ',' || /^\sand\s$/i.test(piece))) parts.push('');
    else parts[parts.length - 1] += piece;
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}

// A value as JSON, or else the text itself.
export const operand = (text) => (mistake(text) === null ? parse(text) : text);

// The first text after all that begin with this year, month or day.
function next([, year, month, day]) {
  const two = (number) => String(number).padStart(2, '0');
  if (day) return new Date(Date.UTC(year, month - 1, Number(day) + 1)).toISOString().slice(0, 10);
  if (month) return Number(month) === 12 ? `${Number(year) + 1}-01` : `${year}-${two(Number(month) + 1)}`;
  return String(Number(year) + 1);
}

function within(text) {
  const date = DATE.exec(text);
  if (date) return { ge: text, lt: next(date) };
  if (text.includes('..')) {
    const [from, to] = text.split('..');
    return { ge: operand(from.trim()), le: operand(to.trim()) };
  }
  const list = text.startsWith('[') ? operand(text) : text.split('|').map((one) => operand(one.trim()));
  return { in: list };
}

function condition(text) {
  const [, name, sign, value] = CONDITION.exec(text) ?? [];
  if (!name) throw new Error(`"${text}" is no condition: write status = open, total >= 10, date in 2026-11, city in Oslo|Rome, tags has new, email exists`);
  const path = name.startsWith('/') ? name : '/' + name.replaceAll('.', '/');
  const word = sign.trim();
  if (word === 'exists' || word === 'missing') return { path, exists: word === 'exists' };
  if (value === '') throw new Error(`After ${name} ${word} a value is missing.`);
  if (word === 'has') return { path, each: true, eq: operand(value) };
  return { path, ...(word === 'in' ? within(value) : { [SIGNS[word]]: operand(value) }) };
}

// The conditions of a text. Throws an Error that says what is wrong.
export const readFilter = (text) => split(text).map(condition);

// The same as a text, for conditions of one comparison each.
export function writeFilter(where) {
  const shown = (value) => (typeof value === 'string' && mistake(value) !== null && !/[,|"]/.test(value) ? value : stringify(value));
  const signs = Object.fromEntries(Object.entries(SIGNS).reverse().map(([sign, op]) => [op, sign]));
  return where.flatMap(({ path, each, fold, ...ops }) => Object.entries(ops).map(([op, value]) => {
    if (op === 'exists') return `${path} ${value ? 'exists' : 'missing'}`;
    if (op === 'in') return `${path} in ${stringify(value)}`;
    return `${path} ${each ? 'has' : signs[op]} ${shown(value)}`;
  })).join(', ');
}

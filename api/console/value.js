// Values as text.
import { compact, format, mistake } from './json.js';

const FORMAT_MAX = 262144; // characters; longer texts are shown as they are
const HEX_MAX = 8192; // bytes shown

// How a text is shown, and written again: what has no white space gets some for
// the eye and loses it when it is saved; any other text stays as it is.
export function layout(text) {
  const small = text.length <= FORMAT_MAX && mistake(text) === null;
  if (!small || compact(text) !== text) return { shown: text, stored: (edited) => edited };
  return { shown: format(text), stored: compact };
}

// Bytes as lines of hexadecimal digits and characters.
export function dump(content) {
  const lines = [];
  for (let at = 0; at < Math.min(content.length, HEX_MAX); at += 16) {
    const row = [...content.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·'));
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(48)} ${text.join('')}`);
  }
  return lines.join('\n');
}

const JSON_TYPES = { 'application/json': 'JSON', 'application/vnd.kindex.typed+json': 'typed' };

// How a value is edited, by its media type and bytes: 'JSON', 'typed', 'text' or 'bytes'.
export function kindOf(type, content) {
  const [essence] = type.split(';');
  if (JSON_TYPES[essence]) return JSON_TYPES[essence];
  if (!essence.startsWith('text/') || content.includes(13)) return 'bytes'; // a field loses CR
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
    return 'text';
  } catch {
    return 'bytes';
  }
}

export const decode = (content) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(content);

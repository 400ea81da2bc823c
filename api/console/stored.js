// An entry as it is stored: read whole, and the mutation that stores it once more.
import { query, send } from './api.js';
import { stringify } from './json.js';
import { decode, kindOf } from './value.js';

export async function read(key) {
  const response = await send('GET', '/kv' + query({ key }));
  const content = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get('Content-Type') ?? '';
  return { key, content, type, kind: kindOf(type, content),
    etag: response.headers.get('ETag'),
    expiresAt: Number(response.headers.get('Kindex-Expires-At')) || null };
}

export const versionstampOf = ({ etag }) => etag.replaceAll('"', '');

// Bytes in base64url, as the interface has them.
function base64(content) {
  let binary = '';
  for (const byte of content) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// The mutation, as a text, since a JSON value keeps its bytes.
export function mutationOf({ key, kind, type, content, expiresAt }) {
  const value = kind === 'JSON' ? `"value":${decode(content)}` : kind === 'typed' ? `"typed":${decode(content)}`
    : `"typed":${stringify({ type: 'Uint8Array', value: base64(content), mediaType: type })}`;
  return `{"type":"set","key":${stringify(key)},${expiresAt === null ? '' : `"expiresAt":${expiresAt},`}${value}}`;
}

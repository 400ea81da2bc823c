// Requests to the server that the page came from. The access token is in the
// memory of this module, and in sessionStorage only if its owner asks for that.
import { parse, stringify } from './json.js';

const KEPT = 'kindex-token';
const TOKEN = /^[\x21-\x7e]+$/; // what a header can carry

let token = sessionStorage.getItem(KEPT);

// Text that no header can carry is no token. null forgets it.
export function setToken(text, keep) {
  token = text !== null && TOKEN.test(text) ? text : null;
  if (token !== null && keep) sessionStorage.setItem(KEPT, token);
  else sessionStorage.removeItem(KEPT);
  return token !== null;
}
export const hasToken = () => token !== null;

// A problem document of the server, or a request without an answer (status 0).
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The server answered ${status}.`);
    this.status = status;
    this.body = body;
    this.code = body.code;
    this.hint = body.hint ?? '';
  }

  get text() {
    return `${this.message} ${this.hint}`.trim();
  }
}

// The query of an address; an object is written as JSON. Members that are
// undefined are left out.
export function query(members) {
  const parts = Object.entries(members)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) =>
      `${name}=${encodeURIComponent(typeof value === 'object' ? stringify(value) : value)}`);
  return parts.length > 0 ? '?' + parts.join('&') : '';
}

export const requests = { last_ms: 0 };
let refused = () => {};
// Calls the function after an answer 401.
export const onRefused = (call) => { refused = call; };

async function refuse(response, used) {
  const text = await response.text();
  let body = {};
  try { body = parse(text); } catch { body = { detail: text || undefined }; }
  if (response.status === 401 && used === token) refused(); // another one may have come meanwhile
  throw new Problem(response.status, body ?? {});
}

// The response; throws a Problem for any other than 2xx and 304. The target begins with '/'.
export async function send(method, target, { body, headers, signal } = {}) {
  const all = { ...headers };
  const used = token;
  if (used !== null) all.Authorization = `Bearer ${used}`;
  if (body !== undefined && all['Content-Type'] === undefined) {
    all['Content-Type'] = 'application/json';
  }
  const started = performance.now();
  let response;
  try {
    response = await fetch('.' + target, { method, body, headers: all, signal,
      cache: 'no-store', credentials: 'omit', redirect: 'error' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem(0, { detail: 'The server does not answer.', hint: 'Is it running?' });
  }
  requests.last_ms = performance.now() - started;
  if (!response.ok) await refuse(response, used);
  return response;
}

// The document of an answer. Numbers that a double does not hold are in it as they were sent.
export async function get(target, options) {
  return parse(await (await send('GET', target, options)).text());
}

export async function post(target, document, options = {}) {
  const body = typeof document === 'string' || document === undefined ? document : stringify(document);
  const text = await (await send(options.method ?? 'POST', target, { ...options, body })).text();
  return text === '' ? null : parse(text);
}

// ---- Events -----------------------------------------------------------------

function readEvent(text) {
  const event = { type: 'message', data: '', id: undefined };
  for (const line of text.split('\n')) {
    const at = line.indexOf(':');
    const value = line.slice(at + 1).replace(/^ /, '');
    if (line.startsWith('event:')) event.type = value;
    else if (line.startsWith('data:')) event.data += value;
    else if (line.startsWith('id:')) event.id = value;
  }
  return event;
}

// Server-sent events, by fetch, because EventSource cannot send a token.
export async function* events(target, signal) {
  const response = await send('GET', target,
    { headers: { Accept: 'text/event-stream' }, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      const event = readEvent(rest.slice(0, end));
      if (event.data !== '' || event.type !== 'message') yield event;
    }
  }
}

// What is done with all entries of a prefix, and with a new one.
import { h, say, count } from './dom.js';
import { hasToken, post, query, send, get } from './api.js';
import { mistake, place } from './json.js';
import { parse, write } from './key.js';
import { confirm, form } from './dialog.js';

const EXPORT_MAX = 100000; // entries that a page saves; more is for the command line
const SAMPLE = 5;

let kept = null; // {key, value}: of a new entry whose user was signed out

addEventListener('beforeunload', (event) => { if (kept) event.preventDefault(); });

// Asks for a key and a value; resolves to the key of the new entry, or undefined.
export async function createEntry(prefix) {
  const key = h('input', { name: 'key', autofocus: true, spellcheck: false, autocomplete: 'off',
    value: kept?.key ?? (prefix?.length ? write(prefix) + '/' : '') });
  const value = h('textarea.text', { name: 'value', spellcheck: false, rows: 8, value: kept?.value ?? '' });
  kept = null;
  let made;
  await form({ id: 'new-entry', title: 'New entry', action: 'Create', body: [h('label', {}, 'Key, such as users/ada', key),
    h('label', {}, 'Value, as JSON', value)], submit: async () => {
    const parts = parse(key.value.trim());
    if (parts.length === 0) throw new Error('The key is missing.');
    const bad = mistake(value.value);
    if (bad) throw new Error(`The value: ${place(value.value, bad.at)}: ${bad.message}`);
    await send('PUT', '/kv' + query({ key: parts }), { body: value.value, headers: { 'If-None-Match': '*' } });
    made = parts;
  }, refuse: (error) => (error.status === 412 ? 'There is an entry with this key already.' : undefined),
  left: () => {
    if (value.value === '') return;
    kept = { key: key.value, value: value.value };
    say('Your unfinished entry is kept: New opens it.');
  } });
  if (made) say(`Created ${write(made)}`);
  return made;
}

// Deletes all entries of a prefix, after its name was typed. True: it was done.
export async function deletePrefix(prefix) {
  const [{ count: n }, { entries }] = await Promise.all([get('/count' + query({ prefix })),
    get('/list' + query({ prefix, limit: SAMPLE, keys: true }))]);
  const yes = await confirm({ title: `Delete ${count(n)} ${n === 1 ? 'entry' : 'entries'}?`, action: `Delete ${count(n)}`,
    type: write(prefix), body: [h('p', {}, 'All entries under ', h('code', {}, write(prefix)), ', such as'),
      h('ul', {}, entries.map((entry) => h('li', {}, h('code', {}, write(entry.key))))),
      h('p', {}, 'This cannot be undone. If you may need the entries, export them first.')] });
  if (!yes) return false;
  let deleted = 0;
  for (let more = true; more;) {
    const result = await post('/list' + query({ prefix }), undefined, { method: 'DELETE' });
    deleted += result.deleted;
    more = result.more;
    if (more) say(`Deleted ${count(deleted)} of ${count(n)}`);
  }
  say(`Deleted ${count(deleted)} entries`);
  return true;
}

// Saves the entries of a prefix as lines, as kindex import takes them.
export async function exportPrefix(prefix, total) {
  if (total > EXPORT_MAX) {
    say(`Too many entries for the browser. Save them from a shell: kindex export --url ${location.origin}${hasToken() ? ' (with KINDEX_TOKEN)' : ''}`, true);
    return;
  }
  const response = await send('GET', '/list' + query({ prefix }), { headers: { Accept: 'application/x-ndjson' } });
  const address = URL.createObjectURL(await response.blob());
  const name = write(prefix).replace(/[^A-Za-z0-9_-]+/g, '-');
  h('a', { href: address, download: `${name || 'entries'}.ndjson` }).click();
  URL.revokeObjectURL(address);
}

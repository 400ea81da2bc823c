// Entries with the same value in a unique index: shown beside each other, until one of them
// stays. What is deleted here stays in sight while the index does, and may be kept instead.
import { h, fill, say, count, isTyping } from './dom.js';
import { get, post, query } from './api.js';
import { stringify } from './json.js';
import { toFragment, write } from './key.js';
import { may } from './session.js';
import { keyParts } from './tree.js';
import { decode, dump, layout } from './value.js';
import { mutationOf, read, versionstampOf } from './stored.js';
import { marked } from './conflict.js';
import { confirm } from './dialog.js';
import { download } from './bytes.js';

const GROUPS = 20; // on a page
const KEYS_MAX = 20; // shown of a group, and deleted at a time
const TEXT_MAX = 65536; // characters shown of a value

const shown = ({ kind, content }) => (kind === 'bytes' ? dump(content) : layout(decode(content)).shown).slice(0, TEXT_MAX);
const pane = (key, content) => h('pre', { tabIndex: 0, role: 'region', 'aria-label': `Value of ${write(key)}` }, content);
const check = (entry) => ({ key: entry.key, versionstamp: versionstampOf(entry) });
const link = (key) => h('a', { href: `#/data/${toFragment(key)}` }, keyParts(key));

// ---- One group --------------------------------------------------------------

// Deletes all but one in one commit, if all are still as they were shown.
async function keepOne(entries, kept) {
  await post('/atomic', { checks: entries.map(check),
    mutations: entries.filter((entry) => entry !== kept).map(({ key }) => ({ type: 'delete', key })) });
}

const ask = (kept, others) => confirm({ title: `Delete ${others.length === 1 ? 'this entry' : `these ${others.length} entries`}?`, action: 'Delete',
  body: [h('ul', {}, others.map(({ key }) => h('li', {}, h('code', {}, write(key))))),
    h('p', {}, h('code', {}, write(kept.key)), ' stays. What is deleted can be kept instead while this page shows it.')] });

// Its values are read when it comes into view; without them nothing can be deleted.
// done(kept, others) after a deletion.
function groupForm({ value, keys: all }, done) {
  const keys = all.slice(0, KEYS_MAX);
  const name = `keep-${write(value)}`;
  const note = h('p.bad', { role: 'alert' });
  const button = may('write') ? h('button.danger', { type: 'submit', disabled: true }, keys.length > 2 ? 'Delete the others' : 'Delete the other') : null;
  const sections = keys.map((key) => h('section', {}, h('label.check', {}, h('input', { type: 'radio', name }), 'keep ', link(key))));
  let entries = [];
  const load = async () => {
    try {
      entries = await Promise.all(keys.map(read));
      const texts = entries.map(shown);
      texts.forEach((text, i) => {
        sections[i].querySelector('pre')?.remove();
        sections[i].append(pane(keys[i], marked(text, texts[i === 0 ? 1 : 0] ?? text)));
      });
      if (button) button.disabled = keys.length < 2;
    } catch (error) { note.textContent = error.text ?? error.message; }
  };
  const submit = async () => {
    const kept = entries[sections.findIndex((section) => section.querySelector('input').checked)];
    const others = entries.filter((entry) => entry !== kept);
    note.textContent = kept ? '' : 'Choose the entry that stays.';
    if (!kept || !await ask(kept, others)) return;
    try {
      await keepOne(entries, kept);
      done(kept, others);
    } catch (error) {
      await load(); // what is stored now, if one has changed
      note.textContent = error.text ?? error.message;
    }
  };
  const node = h('form', { onsubmit: (event) => { event.preventDefault(); submit(); } },
    h('fieldset', {}, h('legend', {}, 'All have ', keyParts(value)), h('div.sides', {}, sections),
      all.length > keys.length ? h('p.note', {}, `${count(all.length - keys.length)} more have it, and are shown next.`) : null), note, button);
  new IntersectionObserver(([{ isIntersecting }], observer) => {
    if (!isIntersecting) return;
    observer.disconnect();
    load();
  }).observe(node);
  return node;
}

// ---- What was deleted -------------------------------------------------------

// Stores the deleted entry again in place of the one that was kept, in one commit.
async function keepInstead(pair, pairs) {
  const { deleted, kept } = pair;
  const { versionstamp } = await post('/atomic', `{"checks":${stringify([check(kept), { key: deleted.key, versionstamp: null }])},` +
    `"mutations":[${stringify({ type: 'delete', key: kept.key })},${mutationOf(deleted)}]}`);
  const now = { ...deleted, etag: versionstamp };
  for (const other of pairs) if (other.kept === kept) other.kept = now;
  pair.deleted = kept;
}

function deletedNode(pair, pairs, again) {
  const { deleted, kept } = pair;
  const instead = async () => {
    try {
      await keepInstead(pair, pairs);
      say(`Kept ${write(deleted.key)}, deleted ${write(kept.key)}`);
      again();
    } catch (error) { say(error.text ?? error.message, true); }
  };
  return h('details', {}, h('summary', {}, keyParts(deleted.key)), pane(deleted.key, shown(deleted)),
    h('div.actions', {}, h('button', { type: 'button', onclick: () => download(deleted) }, 'Save as a file'),
      h('button', { type: 'button', onclick: instead }, `Keep it instead of ${write(kept.key)}`)));
}

// The groups of an index. `pairs`: what was deleted here, each with what was kept, which
// begins as an empty list and is changed.
export async function duplicates(host, name, pairs) {
  const page = await get(`/indexes/${encodeURIComponent(name)}/conflicts` + query({ limit: GROUPS }));
  const again = () => duplicates(host, name, pairs);
  const done = (kept, others) => {
    pairs.unshift(...others.map((deleted) => ({ deleted, kept })));
    say(`Kept ${write(kept.key)}, deleted ${count(others.length)}`);
    again();
  };
  fill(host, page.conflicts.length === 0 ? h('p', {}, 'No value is used twice.') : page.conflicts.map((group) => groupForm(group, done)),
    page.cursor ? h('p.note', {}, 'There are more: they are shown when these are resolved.') : null,
    pairs.length > 0 ? [h('h3', {}, 'Deleted here'), pairs.map((pair) => deletedNode(pair, pairs, again))] : null);
  if (!isTyping()) host.querySelector('input, summary')?.focus();
}

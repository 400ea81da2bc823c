// One entry: read, changed, and stored on condition that no other client has
// changed it. Text that is not saved is kept until it is saved or reverted.
import { h, fill, say, bytes, duration } from './dom.js';
import { Problem, query, requests, send } from './api.js';
import { format, mistake, place } from './json.js';
import { write } from './key.js';
import { keyParts } from './tree.js';
import { dump, layout } from './value.js';
import { Field } from './field.js';
import { confirm } from './dialog.js';

const JSON_TYPES = { 'application/json': 'JSON', 'application/vnd.kindex.typed+json': 'typed' };

const drafts = new Map(); // of keys: {text, etag}

export const hasDrafts = () => drafts.size > 0;

async function read(key) {
  const response = await send('GET', '/kv' + query({ key }));
  const content = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get('Content-Type') ?? '';
  return { key, content, type, kind: JSON_TYPES[type.split(';')[0]],
    etag: response.headers.get('ETag'),
    expiresAt: response.headers.get('Kindex-Expires-At') };
}

export class Entry {
  // changed(key): it was stored or deleted. back(): the focus goes elsewhere.
  constructor(host, { changed, back }) {
    Object.assign(this, { host, changed, back, turn: 0, key: null, state: null });
    host.addEventListener('keydown', (event) => this.press(event));
  }

  press(event) {
    if (event.key === 'Escape' && !event.defaultPrevented) {
      event.preventDefault();
      this.back();
    }
  }

  close(text) {
    this.turn++;
    Object.assign(this, { key: null, state: null, field: null });
    fill(this.host, h('p.empty', {}, text ?? 'Choose an entry to see its value.'));
  }

  async open(key) {
    const turn = ++this.turn;
    this.key = key;
    let state;
    try {
      state = await read(key);
    } catch (error) {
      if (turn !== this.turn || !(error instanceof Problem)) throw error;
      this.close(error.status === 404 ? 'This entry is gone: it was deleted, or has expired.'
        : error.text);
      return;
    }
    if (turn === this.turn) this.draw(state);
  }

  draw(state) {
    this.state = state;
    this.note = h('span.note', { role: 'status' });
    this.conflict = h('div.conflict', { hidden: true });
    const head = h('header.bar', {}, h('h2.crumbs', {}, keyParts(state.key)), h('span.grow'),
      h('span.tag', {}, state.kind ?? state.type.split(';')[0]));
    const expiry = state.expiresAt === null ? 'expires never'
      : `expires in ${duration(new Date(state.expiresAt) - Date.now())}`;
    const facts = `${bytes(state.content.length)} · ${expiry} · ${state.etag.replaceAll('"', '')}`;
    const remove = h('button.danger', { type: 'button', onclick: () => this.remove() }, 'Delete');
    state.facts = facts;
    this.note.textContent = facts;
    if (state.kind === 'JSON') this.drawJson(head, remove);
    else this.drawOther(head, remove);
  }

  drawOther(head, remove) {
    const { state } = this;
    this.field = null;
    const text = state.kind ? layout(new TextDecoder().decode(state.content)).shown
      : dump(state.content);
    fill(this.host, head, h('pre.text', { tabIndex: 0, role: 'region', 'aria-label': 'Value' }, text),
      h('footer.bar', {}, this.note, h('span.grow'), remove));
  }

  drawJson(head, remove) {
    const { state } = this;
    state.base = new TextDecoder().decode(state.content);
    Object.assign(state, layout(state.base));
    this.field = new Field({ text: state.shown, label: `Value of ${write(state.key)}`,
      changed: () => this.check() });
    this.saveButton = h('button.primary', { type: 'button', onclick: () => this.save() },
      'Save', h('kbd', {}, 'Ctrl S'));
    fill(this.host, head, this.conflict, this.field.node, h('footer.bar', {}, this.saveButton,
      h('button', { type: 'button', onclick: () => this.revert() }, 'Revert'),
      h('button', { type: 'button', onclick: () => this.format() }, 'Format'),
      this.note, h('span.grow'), remove));
    const draft = drafts.get(write(state.key));
    if (draft) {
      Object.assign(state, { etag: draft.etag, shown: draft.shown });
      this.field.text = draft.text;
    }
    this.check();
  }

  check() {
    const { state, field } = this;
    const { text } = field;
    const bad = mistake(text);
    const same = text === state.shown;
    this.saveButton.disabled = bad !== null || same;
    this.note.classList.toggle('bad', bad !== null);
    if (same) drafts.delete(write(state.key));
    else drafts.set(write(state.key), { text, etag: state.etag, shown: state.shown });
    this.note.textContent = bad ? `${place(text, bad.at)}: ${bad.message}`
      : same ? state.facts : 'changed, not saved';
  }

  revert() {
    drafts.delete(write(this.state.key));
    this.open(this.state.key);
  }

  format() {
    const bad = mistake(this.field.text);
    if (bad) return this.field.select(bad.at);
    this.field.text = format(this.field.text);
    return this.check();
  }

  focus() {
    const target = this.field?.node ?? this.host.querySelector('pre');
    target?.focus();
  }

  async save() {
    const { state, field } = this;
    if (!field || this.saveButton.disabled) return;
    this.saveButton.disabled = true;
    try {
      await send('PUT', '/kv' + query({ key: state.key, ttl: state.expiresAt ? 'keep' : undefined }),
        { body: state.stored(field.text), headers: { 'Content-Type': state.type,
          'If-Match': state.etag } });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.status === 412) return this.compare();
      this.saveButton.disabled = false;
      this.note.classList.add('bad');
      this.note.textContent = error.text;
      return undefined;
    }
    drafts.delete(write(state.key));
    say(`Saved ${write(state.key)} in ${requests.last_ms.toFixed(1)} ms`);
    this.changed(state.key);
    const focused = this.host.contains(document.activeElement);
    await this.open(state.key);
    if (focused) this.focus();
    return undefined;
  }

  // The entry was changed by another client after it was opened here.
  async compare() {
    const { state, field } = this;
    const now = await read(state.key).catch(() => null);
    const theirs = now?.kind === 'JSON' ? layout(new TextDecoder().decode(now.content)).shown : '';
    const pane = (title, text) => h('section', {}, h('h4', {}, title), h('pre', { tabIndex: 0 }, text));
    const keep = h('button', { type: 'button', onclick: () => {
      this.conflict.hidden = true;
      state.etag = now?.etag ?? state.etag;
      this.saveButton.disabled = false;
      this.save();
    } }, 'Keep mine');
    const take = h('button', { type: 'button', onclick: () => this.revert() }, 'Take theirs');
    fill(this.conflict, h('h3', {}, 'This entry was changed by another client since you opened it'),
      h('div.three', {}, pane('You opened', state.shown),
        pane('Stored now', now ? theirs : 'It was deleted.'), pane('Yours', field.text)),
      h('div.actions', {}, keep, take));
    this.conflict.hidden = false;
    keep.focus();
  }

  async remove() {
    const { state } = this;
    const yes = await confirm({ title: 'Delete this entry?', action: 'Delete',
      body: h('p', {}, h('code', {}, write(state.key)), ' – this cannot be undone.') });
    if (!yes) return;
    try {
      await send('DELETE', '/kv' + query({ key: state.key }), { headers: { 'If-Match': state.etag } });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.status === 412 ? 'Not deleted: another client has changed it.' : error.text, true);
      return;
    }
    drafts.delete(write(state.key));
    say(`Deleted ${write(state.key)}`);
    this.close('Deleted.');
    this.changed(state.key);
    this.back();
  }
}

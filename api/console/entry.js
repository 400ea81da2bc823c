// One entry: read, changed, and stored on condition that no other client has
// changed it. Text that is not saved is kept until it is saved or reverted.
import { h, fill, say, bytes, duration } from './dom.js';
import { Problem, query, requests, send } from './api.js';
import { format, mistake, place } from './json.js';
import { write } from './key.js';
import { may } from './session.js';
import { keyParts } from './tree.js';
import { decode, dump, kindOf, layout } from './value.js';
import { Field } from './field.js';
import { confirm, form } from './dialog.js';
import { showConflict } from './conflict.js';


const drafts = new Map(); // of keys: {text, etag}

export const hasDrafts = () => drafts.size > 0;

async function read(key) {
  const response = await send('GET', '/kv' + query({ key }));
  const content = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get('Content-Type') ?? '';
  return { key, content, type, kind: kindOf(type, content),
    etag: response.headers.get('ETag'),
    expiresAt: Number(response.headers.get('Kindex-Expires-At')) || null };
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
      h('span.tag', {}, state.kind === 'bytes' || state.kind === 'text' ? state.type.split(';')[0] : state.kind));
    const expiry = state.expiresAt === null ? 'expires never'
      : `expires in ${duration(state.expiresAt - Date.now())}`;
    const facts = `${bytes(state.content.length)} · ${expiry} · ${state.etag.replaceAll('"', '')}`;
    state.facts = facts;
    this.note.textContent = facts;
    const more = may('write') ? [h('button', { type: 'button', onclick: () => this.setExpiry() }, 'Expiry'),
      h('button.danger', { type: 'button', onclick: () => this.remove() }, 'Delete')] : null;
    if (state.kind === 'bytes') this.drawBytes(head, more);
    else this.drawText(head, more);
  }

  drawBytes(head, more) {
    const { state } = this;
    this.field = null;
    const file = h('input.hidden', { type: 'file', tabIndex: -1, 'aria-label': 'File with the new bytes',
      onchange: async () => this.store(await file.files[0].arrayBuffer()) });
    fill(this.host, head, h('pre.text', { tabIndex: 0, role: 'region', 'aria-label': 'Value' }, dump(state.content)),
      h('footer.bar', {}, h('button', { type: 'button', onclick: () => this.download() }, 'Download'), file,
        may('write') ? h('button', { type: 'button', onclick: () => file.click() }, 'Replace by a file') : null,
        this.note, h('span.grow'), more));
  }

  download() {
    const address = URL.createObjectURL(new Blob([this.state.content], { type: 'application/octet-stream' }));
    h('a', { href: address, download: write(this.state.key).replace(/[^A-Za-z0-9._-]+/g, '-') }).click();
    URL.revokeObjectURL(address);
  }

  drawText(head, more) {
    const { state } = this;
    const isText = state.kind === 'text';
    const text = decode(state.content);
    Object.assign(state, isText ? { shown: text, stored: (edited) => edited } : layout(text));
    this.field = new Field({ text: state.shown, label: `Value of ${write(state.key)}`, json: !isText,
      readOnly: !may('write'), changed: () => this.check() });
    this.saveButton = h('button.primary', { type: 'button', onclick: () => this.save() },
      'Save', h('kbd', {}, 'Ctrl S'));
    fill(this.host, head, this.conflict, this.field.node, h('footer.bar', {}, this.saveButton,
      h('button', { type: 'button', onclick: () => this.revert() }, 'Revert'),
      isText ? null : h('button', { type: 'button', onclick: () => this.format() }, 'Format'),
      this.note, h('span.grow'), more));
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
    const bad = state.kind === 'text' ? null : mistake(text);
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
    if (!this.field || this.saveButton.disabled) return;
    this.saveButton.disabled = true;
    await this.store(this.state.stored(this.field.text));
  }

  // Stores a body if no other client has changed the entry; keeps its time to live, or
  // sets another one.
  async store(body, ttl) {
    const { state } = this;
    try {
      await send('PUT', '/kv' + query({ key: state.key, ttl: ttl ?? (state.expiresAt ? 'keep' : undefined) }),
        { body, headers: { 'Content-Type': state.type, 'If-Match': state.etag } });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.status === 412 && this.field) { this.compare(); return; }
      if (this.saveButton) this.saveButton.disabled = false;
      this.note.classList.add('bad');
      this.note.textContent = error.status === 412 ? 'Not saved: another client has changed it.' : error.text;
      return;
    }
    drafts.delete(write(state.key));
    say(`Saved ${write(state.key)} in ${requests.last_ms.toFixed(1)} ms`);
    this.changed(state.key);
    const focused = this.host.contains(document.activeElement);
    await this.open(state.key);
    if (focused) this.focus();
  }

  // The entry was changed by another client after it was opened here.
  async compare() {
    const { state, field } = this;
    const now = await read(state.key).catch((error) => {
      if (error.status !== 404) throw error;
      return null;
    });
    const theirs = now === null ? null : layout(decode(now.content)).shown;
    showConflict(this.conflict, { base: state.shown, theirs, mine: field.text,
      theirsTaken: () => this.revert(), close: () => { this.check(); this.focus(); },
      take: (text) => {
        this.conflict.hidden = true;
        this.focus();
        field.text = text;
        if (now === null) this.again(text);
        else { state.etag = now.etag; this.store(state.stored(text)); }
      } });
  }

  // The entry was deleted meanwhile: it is made again.
  async again(text) {
    const { state } = this;
    await send('PUT', '/kv' + query({ key: state.key }), { body: state.stored(text),
      headers: { 'Content-Type': state.type, 'If-None-Match': '*' } });
    drafts.delete(write(state.key));
    this.changed(state.key);
    await this.open(state.key);
    this.focus();
  }

  async setExpiry() {
    const { state } = this;
    const field = h('input', { name: 'ttl', autofocus: true, autocomplete: 'off', spellcheck: false, placeholder: '30m, 12h, 7d, none' });
    let ttl;
    await form({ id: 'expiry', title: 'Time to live', action: 'Set', body: [h('p', {}, state.expiresAt
      ? `It expires at ${new Date(state.expiresAt).toLocaleString('en-GB')}.` : 'It does not expire.'),
    h('label', {}, 'It expires after', field)], submit: () => {
      ttl = field.value.trim();
      if (!/^(\d+(ms|s|m|h|d)|none)$/.test(ttl)) throw new Error('Write a time such as 30m, 12h or 7d, or none.');
    } });
    if (ttl !== undefined) await this.store(state.content, ttl);
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

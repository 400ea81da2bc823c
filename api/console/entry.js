// One entry: read, changed, and stored on condition that no other client has
// changed it. Text that is not saved is kept until it is saved or reverted.
import { h, fill, say, bytes, duration, tool } from './dom.js';
import { Problem, query, requests, send } from './api.js';
import { format, mistake, parse, place } from './json.js';
import { toFragment, write } from './key.js';
import { may } from './session.js';
import { keyParts } from './tree.js';
import { decode, layout } from './value.js';
import { read } from './stored.js';
import { bytesView } from './bytes.js';
import { COLOUR_MAX, Field, outline } from './field.js';
import { confirm } from './dialog.js';
import { showConflict } from './conflict.js';
import { counterForm, numberOf } from './counter.js';
import { chooseExpiry } from './expiry.js';
import { dateField } from './date.js';

const UNDO_MS = 30000; // a change of one entry can be taken back

const drafts = new Map(); // of keys: {text, etag}

addEventListener('beforeunload', (event) => { if (drafts.size > 0) event.preventDefault(); });

export class Entry {
  // changed(key): it was stored or deleted. back(): the focus goes elsewhere.
  // closed(why): it is no longer shown. sourceOf(key, value): of an index entry, the key of
  // the entry that it stands for.
  constructor(host, { changed, back, closed, sourceOf }) {
    Object.assign(this, { host, changed, back, closed, sourceOf, turn: 0, key: null, state: null });
    host.addEventListener('keydown', (event) => this.press(event));
  }

  press(event) {
    if (event.key === 'Escape' && !event.defaultPrevented) {
      event.preventDefault();
      this.back();
    }
  }

  leave() {
    this.turn++;
    Object.assign(this, { key: null, state: null, field: null });
  }

  async open(key) {
    const turn = ++this.turn;
    this.key = key;
    let state;
    try {
      state = await read(key);
    } catch (error) {
      if (turn !== this.turn || !(error instanceof Problem)) throw error;
      this.closed(error.status === 404 ? 'This entry is gone: it was deleted, or has expired.'
        : error.text);
      return;
    }
    if (turn === this.turn) this.draw(state);
  }

  draw(state) {
    this.state = state;
    this.note = h('span.note', { role: 'status' });
    this.conflict = h('div.conflict', { hidden: true });
    const head = h('header.bar', {}, h('button.back', { type: 'button', onclick: () => this.back() }, '‹ Entries'),
      h('h2.crumbs', {}, keyParts(state.key)), h('span.grow'), this.source(state),
      h('button', { type: 'button', onclick: async () => (await import('./indexed.js')).showIndexes(state.key, state.kind, decode(state.content)) }, 'Indexes'),
      h('span.tag', {}, state.kind === 'bytes' || state.kind === 'text' ? state.type.split(';')[0] : state.kind));
    const expiry = state.expiresAt === null ? 'expires never'
      : `expires in ${duration(state.expiresAt - Date.now())}`;
    const facts = `${bytes(state.content.length)} · ${expiry} · ${state.etag.replaceAll('"', '')}`;
    state.facts = facts;
    this.note.textContent = facts;
    const more = may('write') ? [tool('Expiry', 'clock', () => this.setExpiry()), tool('Delete', 'bin', () => this.remove(), { kind: '.danger' })] : null;
    if (state.kind === 'bytes') this.drawBytes(head, more);
    else this.drawText(head, more);
  }

  // What an index entry stands for, as a link.
  source({ key, kind, content }) {
    const source = kind === 'JSON' ? this.sourceOf(key, parse(decode(content))) : null;
    return source && h('a', { href: `#/data/${toFragment(source)}` }, 'Its entry');
  }

  drawBytes(head, more) {
    this.field = null;
    const { shown, buttons } = bytesView(this.state, may('write') ? (content) => this.store(content) : null);
    fill(this.host, head, shown, h('footer.bar', {}, this.note, buttons, h('span.grow'), more));
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
    fill(this.host, head, this.counter(text), this.date(), this.conflict, this.field.box, h('footer.bar', {}, this.note, this.saveButton,
      h('button', { type: 'button', onclick: () => this.revert() }, 'Revert'),
      isText ? null : h('button', { type: 'button', onclick: () => this.format() }, 'Format'),
      isText || state.shown.length > COLOUR_MAX ? null : h('button', { type: 'button', 'aria-pressed': 'false', onclick: (event) => this.fold(event.currentTarget) }, 'Fold'),
      h('span.grow'), more));
    const draft = drafts.get(write(state.key));
    if (draft) {
      Object.assign(state, { etag: draft.etag, shown: draft.shown });
      this.field.text = draft.text;
    }
    this.check();
  }

  // A date has a field with a calendar, which writes into the text.
  date() {
    const { kind, shown } = this.state;
    return kind !== 'typed' || !may('write') ? null : dateField(shown, (text) => {
      this.field.text = text;
      this.check();
    });
  }

  // A KvU64 has buttons that change it in one mutation.
  counter(text) {
    const { key, kind } = this.state;
    const digits = kind === 'typed' && may('write') ? numberOf(text) : null;
    if (digits === null) return null;
    return counterForm(key, digits, { refused: (error) => say(error.text ?? error.message, true),
      done: async (label) => {
        say(`Changed ${write(key)} by ${label}`);
        this.changed(key);
        await this.open(key);
        [...this.host.querySelectorAll('.counter button')].find((button) => button.textContent === label)?.focus();
      } });
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

  // Shows the text with parts that fold, or the field again.
  fold(button) {
    const { box, text } = this.field;
    const bad = mistake(text);
    if (bad) { this.field.select(bad.at); return; }
    const folded = button.getAttribute('aria-pressed') === 'false';
    button.setAttribute('aria-pressed', String(folded));
    this.outline?.remove();
    box.hidden = folded;
    if (folded) box.after(this.outline = outline(text, `Folded value of ${write(this.state.key)}`));
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
    let response;
    try {
      response = await send('PUT', '/kv' + query({ key: state.key, ttl: ttl ?? (state.expiresAt ? 'keep' : undefined) }),
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
    say(`Saved ${write(state.key)} in ${requests.last_ms.toFixed(1)} ms`, false, this.undo(state, { 'If-Match': response.headers.get('etag') }));
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

  // An action that stores what was there before: the same bytes, type and time of expiry, unless
  // another client has written the entry since.
  undo(state, condition) {
    const { key, content, type, expiresAt } = state;
    const run = async () => {
      const left = expiresAt === null ? Infinity : expiresAt - Date.now();
      try {
        if (left <= 0) throw new Error(`Not taken back: ${write(key)} would have expired since.`);
        await send('PUT', '/kv' + query({ key, ttl: expiresAt === null ? undefined : `${left}ms` }), { body: content, headers: { 'Content-Type': type, ...condition } });
      } catch (error) {
        say(error.status === 412 ? `Not taken back: another client has written ${write(key)} since.` : error.text ?? error.message, true);
        return;
      }
      say(`Taken back: ${write(key)} is as it was`);
      this.changed(key);
      if (this.key === null || write(this.key) === write(key)) await this.open(key);
    };
    return { name: 'Undo', run, ms: UNDO_MS };
  }

  async setExpiry() {
    const { state } = this;
    const ttl = await chooseExpiry(state.expiresAt);
    if (ttl !== undefined) await this.store(state.content, ttl);
  }

  async remove() {
    const { state } = this;
    const yes = await confirm({ title: 'Delete this entry?', action: 'Delete',
      body: h('p', {}, h('code', {}, write(state.key)), ` – this can be taken back for ${UNDO_MS / 1000} seconds.`) });
    if (!yes) return;
    try {
      await send('DELETE', '/kv' + query({ key: state.key }), { headers: { 'If-Match': state.etag } });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.status === 412 ? 'Not deleted: another client has changed it.' : error.text, true);
      return;
    }
    drafts.delete(write(state.key));
    say(`Deleted ${write(state.key)}`, false, this.undo(state, { 'If-None-Match': '*' }));
    this.closed('Deleted.');
    this.changed(state.key);
    this.back();
  }
}

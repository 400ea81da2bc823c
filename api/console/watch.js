// What changes under a prefix, as it happens.
import { h, fill, say } from './dom.js';
import { events, query } from './api.js';
import { parse, stringify } from './json.js';
import { fromFragment, parse as parseKey, toFragment, write } from './key.js';
import { keyParts } from './tree.js';

const LINES_MAX = 500;
const VALUE_MAX = 200; // characters shown

class WatchPage {
  constructor(app) {
    this.app = app;
    this.paused = false;
    this.prefix = h('input', { name: 'prefix', 'aria-label': 'Prefix', placeholder: 'prefix, such as users',
      spellcheck: false, autocomplete: 'off' });
    this.state = h('span.note', { role: 'status' });
    this.tail = h('ol.tail', { tabIndex: 0, 'aria-label': 'Changes, newest first' });
    this.pause = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.toggle() }, 'Pause');
    this.node = h('div.column', {}, h('form.bar', { onsubmit: (event) => { event.preventDefault(); this.ask(); } },
      h('h2', {}, 'Watch'), this.prefix, h('button.primary', { type: 'submit' }, 'Watch'), this.pause, this.state), this.tail);
    this.seen = () => { if (!document.hidden && this.current) this.start(this.current); else this.abort?.abort(); };
    document.addEventListener('visibilitychange', this.seen);
  }

  go(path) {
    if (path === '') { this.prefix.focus(); return; }
    try {
      const key = fromFragment(path);
      this.prefix.value = write(key);
      this.start(key);
      this.tail.focus();
    } catch (error) { say(error.message, true); }
  }

  ask() {
    try {
      const key = parseKey(this.prefix.value.trim());
      this.app.address('watch', toFragment(key));
      this.start(key);
    } catch (error) { say(error.message, true); }
  }

  toggle() {
    this.paused = !this.paused;
    this.pause.setAttribute('aria-pressed', String(this.paused));
  }

  line(...parts) {
    this.tail.prepend(h('li', {}, h('time', {}, new Date().toLocaleTimeString('en-GB')), parts));
    while (this.tail.childElementCount > LINES_MAX) this.tail.lastChild.remove();
  }

  async start(key) {
    this.abort?.abort();
    const abort = this.abort = new AbortController();
    this.current = key;
    fill(this.tail);
    this.state.textContent = 'connecting';
    try {
      for await (const event of events('/watch' + query({ prefix: key }), abort.signal)) {
        this.state.textContent = this.paused ? 'paused' : 'watching';
        if (event.type === 'reset') this.line(h('span.note', {}, 'from here on every change is shown'));
        else if (!this.paused) this.show(event.data);
      }
      this.state.textContent = 'ended';
    } catch (error) {
      if (error.name !== 'AbortError') this.state.textContent = error.text ?? error.message;
    }
  }

  show(data) {
    for (const entry of parse(data, true).entries ?? []) {
      const value = stringify(entry.value ?? entry.typed);
      this.line(h(entry.versionstamp ? 'span.op.set' : 'span.op.del', {}, entry.versionstamp ? 'set' : 'gone'),
        h('a', { href: `#/data/${toFragment(entry.key)}` }, keyParts(entry.key)),
        entry.versionstamp && value ? h('span.value', {}, value.slice(0, VALUE_MAX)) : null);
    }
  }

  keys() { return {}; }
  back() { this.prefix.focus(); }
  leave() {
    document.removeEventListener('visibilitychange', this.seen);
    this.abort?.abort();
  }
}

export const open = (app) => new WatchPage(app);

// Access tokens: those that are there, and new ones by preset.
import { h, fill, isTyping, say } from './dom.js';
import { get, post, send, setToken } from './api.js';
import { holder, isOpen, loadSession, may } from './session.js';
import { parse, write } from './key.js';
import { confirm, form } from './dialog.js';

const PRESETS = [['read and list', ['read', 'list']], ['read, list and watch', ['read', 'list', 'watch']],
  ['read and write', ['read', 'write', 'list', 'watch']],
  ['all, for an operator', ['read', 'write', 'list', 'watch', 'index', 'admin', 'monitor']], ['metrics only', ['monitor']]];
const OPERATOR = 3; // the first token must have all
const DAYS = 90;

const grantText = (grant) => `${grant.scopes.join(', ')} ${grant.prefix.length ? `under ${write(grant.prefix)}` : 'for all keys'}`;
const day = (ms) => (ms === undefined ? 'never' : new Date(ms).toISOString().slice(0, 10));

class AccessPage {
  constructor(app) {
    this.app = app;
    this.body = h('tbody');
    this.node = h('div.scroll.pane', { tabIndex: 0, role: 'region', 'aria-label': 'Access' },
      h('header.bar', {}, h('h2', {}, 'Access tokens'), h('span.grow'), may('admin')
        ? h('button.primary', { type: 'button', onclick: () => this.create() }, 'New', h('kbd', {}, 'n')) : null),
      isOpen() ? h('p.warn', {}, 'This server needs no token: every program on this machine has all rights. Once the first token is created, every request needs a token; you are then signed in with the first.') : null,
      holder() ? h('p', {}, `You use ${holder().name}${holder().issuer ? `, the subject ${holder().sub} of ${holder().issuer}` : ''}: ${holder().grants.map(grantText).join('; ')}; expires: ${day(holder().expiresAt)}.`) : null,
      may('admin') ? h('table', {}, h('thead', {}, h('tr', {}, ['Name', 'May', 'Created', 'Expires', ''].map((text) =>
        (text ? h('th', { scope: 'col' }, text) : h('td'))))), this.body) : null);
  }

  async go() {
    if (!may('admin')) return;
    const { tokens } = await get('/tokens');
    fill(this.body, tokens.length === 0 ? h('tr', {}, h('td', { colSpan: 5 }, 'There are no tokens.')) : tokens.map((token) =>
      h('tr', {}, h('th', { scope: 'row' }, token.name), h('td', {}, token.grants.map(grantText).join('; ')),
        h('td', {}, token.createdAt === undefined ? '–' : day(token.createdAt)), h('td', {}, day(token.expiresAt)),
        h('td', {}, token.fixed ? 'in a file' : h('button.danger', { type: 'button', 'aria-label': `Revoke ${token.name}`,
          onclick: () => this.revoke(token) }, 'Revoke')))));
    if (!isTyping()) this.node.focus();
  }

  async revoke(token) {
    const yes = await confirm({ title: `Revoke ${token.name}?`, action: 'Revoke',
      body: h('p', {}, 'Programs that use this token lose access at once.') });
    if (!yes) return;
    await send('DELETE', `/tokens/${token.id}`);
    say(`Revoked ${token.name}`);
    this.go();
  }

  // The words of the text are its name and its prefix.
  async create(text = '') {
    if (!may('admin')) return;
    const first = isOpen();
    const [called, under] = text.split(/\s+/);
    const name = h('input', { name: 'name', value: called, required: true, autofocus: true, autocomplete: 'off', spellcheck: false });
    const prefix = h('input', { name: 'prefix', value: under ?? '', autocomplete: 'off', spellcheck: false, placeholder: 'all keys' });
    const preset = h('select', { name: 'preset' }, PRESETS.map(([text], i) => h('option', { value: i, selected: i === (first ? OPERATOR : 0) }, text)));
    const days = h('input', { name: 'days', type: 'number', min: 0, value: first ? 0 : DAYS });
    let made;
    await form({ id: 'new-token', title: 'New access token', action: 'Make it',
      body: [h('label', {}, 'Name', name), h('label', {}, 'For keys under', prefix), h('label', {}, 'It may', preset),
        h('label', {}, 'Expires after (days, 0 = never)', days)],
      submit: async () => {
        const grants = [{ scopes: PRESETS[preset.value][1], prefix: parse(prefix.value.trim()) }];
        const ttl = Number(days.value) > 0 ? { ttl: `${days.value}d` } : {};
        made = await post('/tokens', { name: name.value, grants, ...ttl });
      } });
    if (!made) return;
    // From the first token on every request needs one.
    if (first && setToken(made.token)) await loadSession();
    await this.show(made);
    if (first) this.app.restart();
    else this.go();
  }

  // The secret is shown once, and not kept.
  async show({ name, token }) {
    const lines = [`export KINDEX_TOKEN=${token}`, `export DENO_KV_ACCESS_TOKEN=${token}`];
    let copied = false;
    await form({ id: 'secret', title: `The token ${name}`, action: 'Copy', cancel: 'Close',
      body: [h('p', {}, 'The token is shown only now: the server keeps only its hash.'),
        h('pre', { tabIndex: 0, role: 'region', 'aria-label': 'The token', oncopy: () => { copied = true; } }, lines.join('\n'))],
      mayClose: () => copied || confirm({ title: 'Close without a copy?', action: 'Close',
        body: h('p', {}, 'The token was not copied and will not be shown again.') }),
      submit: async () => {
        if (!navigator.clipboard) throw new Error('The browser does not let this page copy: select the text and copy it.');
        await navigator.clipboard.writeText(token);
        say('Copied');
      } });
  }

  keys() { return { n: (text) => this.create(text) }; }
  back() { this.node.focus(); }
}

export const open = (app) => new AccessPage(app);

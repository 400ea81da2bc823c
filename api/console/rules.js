// The declared rules. For each rule: the entries that violate it, the totals of its quota, and a
// form that declares or changes it and shows the result of a dry run while the user types.
import { h, fill, say, bytes, count } from './dom.js';
import { get, post, query, send } from './api.js';
import { format, mistake, parse as parseJson, stringify } from './json.js';
import { parse, toFragment, write } from './key.js';
import { may } from './session.js';
import { keyParts } from './tree.js';
import { confirm } from './dialog.js';
import { Split, tabbed } from './split.js';
import { table } from './values.js';

const SETTLE_MS = 200; // after the last key
const POLL_MS = 1000; // while entries are being checked
const PAGE = 50; // violations
const TOTALS = 1000; // shown of a quota

const at = (name, more = '') => `/rules/${encodeURIComponent(name)}${more}`;
const link = (key) => h('a', { href: `#/data/${toFragment(key)}` }, h('span.crumbs', {}, key.length ? keyParts(key) : 'all'));

// What it demands, in words.
function demands({ schema, bounds = {}, ttl = {}, quota }) {
  const limits = [quota?.entries && `${count(quota.entries)} entries`, quota?.bytes && bytes(quota.bytes)].filter(Boolean).join(', ');
  return [schema === undefined ? '' : 'schema', bounds.min === undefined ? '' : `at least ${bounds.min}`, bounds.max === undefined ? '' : `at most ${bounds.max}`,
    ttl.default ? `lives ${ttl.default}` : '', ttl.max ? `lives at most ${ttl.max}` : '', ttl.from ? `expires at ${ttl.from}` : '',
    limits && `${limits}${quota.depth ? ` each at depth ${quota.depth}` : ''}${quota.over === 'warn' ? ', warns' : ''}`].filter(Boolean).join('; ');
}

// ---- Violations and totals --------------------------------------------------

const violation = ({ key, pointer, found, expected }) => h('tr', {}, h('th', { scope: 'row' }, link(key)), h('td', {}, h('code', {}, pointer || '–')),
  h('td', {}, found === undefined ? '–' : h('code', {}, stringify(found))), h('td', {}, expected));

const VIOLATIONS = [['Entry'], ['Member'], ['Found'], ['Expected']];

async function violations(host, { name, state }) {
  await table(host, { head: VIOLATIONS, empty: state === 'checking' ? 'The entries are being checked.' : 'All entries obey the rule.', read: async (cursor) => {
    const page = await get(at(name, '/violations') + query({ limit: PAGE, cursor }));
    return { cursor: page.cursor, rows: page.violations.map(violation) };
  } });
  if (host.querySelector('tbody')) {
    host.prepend(h('p.note', {}, 'These entries were there before the rule. Correct and save each of them, change the rule, or drop it: it is ready when none is left.'));
  }
}

const share = (used, limit) => (limit === undefined ? null : h('meter', { min: 0, max: limit, value: used, 'aria-label': 'share of the limit' }));

async function usage(host, { name, prefix }) {
  const { usage: totals, more } = await get('/usage' + query({ prefix, limit: TOTALS }));
  const own = totals.filter((total) => total.rule === name);
  fill(host, own.length === 0 ? h('p', {}, 'There are no entries.') : h('table', {}, h('thead', {}, h('tr', {}, ['Entries under', 'Entries', 'Bytes'].map((text, i) =>
    h(i > 0 ? 'th.num' : 'th', { scope: 'col' }, text)))), h('tbody', {}, own.map((total) => h('tr', {}, h('th', { scope: 'row' }, link(total.prefix)),
    h('td.num', {}, count(total.entries), total.limit.entries ? ` of ${count(total.limit.entries)}` : '', share(total.entries, total.limit.entries)),
    h('td.num', {}, bytes(total.bytes), total.limit.bytes ? ` of ${bytes(total.limit.bytes)}` : '', share(total.bytes, total.limit.bytes)))))),
  more ? h('p.note', {}, `There are more: the first ${count(TOTALS)} are shown. From a shell: `, h('code', {}, 'kindex usage')) : null);
}

// ---- The form ---------------------------------------------------------------

// Members that are given; undefined without any.
function some(members) {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}

class Form {
  // The form of a rule, or of a new rule for a prefix. Calls done(name) after declaring it.
  constructor({ rule, prefix: begun = '', done }) {
    const { name = '', prefix = [], depth, schema, bounds = {}, ttl = {}, quota = {} } = rule ?? {};
    Object.assign(this, { rule, done, turn: 0, fields: {} });
    const field = (id, label, value = '', placeholder = '') => {
      this.fields[id] = h('input', { name: id, value: String(value), placeholder, spellcheck: false, autocomplete: 'off' });
      return h('label', {}, label, this.fields[id]);
    };
    this.fields.schema = h('textarea', { name: 'schema', rows: 5, spellcheck: false, value: schema === undefined ? '' : format(stringify(schema)),
      placeholder: '{"type":"object","required":["email"]}' });
    this.fields.over = h('select', { name: 'over' }, [['refuse', 'is refused'], ['warn', 'is written with a warning']].map(([value, text]) =>
      h('option', { value, selected: value === (quota.over ?? 'refuse') }, text)));
    this.result = h('div.estimate', { role: 'status' });
    const group = (title, ...nodes) => h('fieldset', {}, h('legend', {}, title), nodes);
    this.node = h('form.pane', { 'aria-label': rule ? 'Change the rule' : 'New rule', oninput: (event) => this.typed(event),
      onsubmit: (event) => { event.preventDefault(); this.declare(); } }, rule ? null : h('h2', {}, 'New rule'),
    field('prefix', 'Entries under', rule ? write(prefix) : begun, 'users'), rule ? null : field('name', 'Name'), field('depth', 'Only keys with so many parts below', depth, 'any number'),
    group('The value', h('label', {}, 'JSON Schema', this.fields.schema), h('div.sides', {}, field('min', 'A number, at least', bounds.min), field('max', 'at most', bounds.max))),
    group('Time to live', h('div.sides', {}, field('default', 'If a write says nothing', ttl.default, '30d'), field('longest', 'At most', ttl.max, '90d')),
      field('member', 'From a member of the value', ttl.from, '/expiresAt')),
    group('Quota', h('div.sides', {}, field('entries', 'Entries, at most', quota.entries), field('bytes', 'Bytes, at most', quota.bytes, '10GiB')),
      field('each', 'For each group of keys with so many parts in common', quota.depth, 'one for all'), h('label', {}, 'A write beyond it ', this.fields.over)),
    this.result, h('div.actions', {}, h('button.primary', { type: 'submit' }, rule ? 'Change' : 'Declare')));
    this.name = name;
    if (begun !== '') this.typed({ target: this.fields.prefix });
  }

  focus() { this.fields.prefix.focus(); }

  document() {
    const text = (id) => this.fields[id].value.trim() || undefined;
    // The server refuses a text that is no number, with the reason.
    const number = (id) => { const it = text(id); return it !== undefined && mistake(it) === null ? parseJson(it) : it; };
    const quota = some({ entries: number('entries'), bytes: number('bytes'), depth: number('each') });
    const schema = text('schema');
    const bad = schema === undefined ? null : mistake(schema);
    if (bad) throw new Error(`The schema is no JSON: ${bad.message}`);
    return { prefix: parse(text('prefix') ?? ''), depth: number('depth'), schema: schema === undefined ? undefined : parseJson(schema),
      bounds: some({ min: number('min'), max: number('max') }), ttl: some({ default: text('default'), max: text('longest'), from: text('member') }),
      quota: quota && { ...quota, over: this.fields.over.value } };
  }

  typed(event) {
    if (event.target === this.fields.name) this.named = true;
    if (!this.rule) {
      if (!this.named) this.fields.name.value = `${this.fields.prefix.value.trim().replace(/[^A-Za-z0-9_-]/g, '_')}_rule`;
      this.name = this.fields.name.value;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.attempt(), SETTLE_MS);
  }

  put(more) { return post(at(this.name, more), this.document(), { method: 'PUT' }); }
  refuse(error) { fill(this.result, h('p.bad', { role: 'alert' }, error.text ?? error.message)); }

  async attempt() {
    const turn = ++this.turn;
    try {
      const { read, violations: wrong, examples } = await this.put('?dry=1');
      if (turn !== this.turn) return;
      fill(this.result, h('p', {}, `Entries: ${count(read)}. `, h(wrong > 0 ? 'span.warn' : 'span', {}, wrong > 0 ? `Violations: ${count(wrong)}.` : 'All obey it.')),
        examples.length > 0 ? h('table', {}, h('thead', {}, h('tr', {}, VIOLATIONS.map(([text]) => h('th', { scope: 'col' }, text)))), h('tbody', {}, examples.map(violation))) : null);
    } catch (error) {
      if (turn === this.turn) this.refuse(error);
    }
  }

  async declare() {
    this.turn++;
    clearTimeout(this.timer);
    try {
      const rule = await this.put('');
      say(`Rule ${rule.name} is ${rule.state}`);
      this.done(rule.name);
    } catch (error) {
      this.refuse(error);
    }
  }
}

// ---- The page ---------------------------------------------------------------

class RulesPage extends Split {
  constructor(app) {
    super(app, { id: 'rules', name: 'Rules', one: 'Rule', columns: [['Name'], ['Entries under'], ['Demands'], ['State'], ['Violations', '.num']], scope: 'index',
      hint: 'Choose a rule, or declare one: what the values under a prefix must be, how long they live, and how many there may be.' });
  }

  async load() {
    const { rules } = await get('/rules');
    for (const rule of rules) this.show(rule);
    for (const name of this.rows.keys()) if (!rules.some((rule) => rule.name === name)) this.gone(name);
    this.part?.changed(this.rows.get(this.chosen)?.thing);
    clearTimeout(this.timer);
    if (rules.some(({ state }) => state === 'checking')) this.timer = setTimeout(() => this.load(), POLL_MS);
  }

  row(rule) {
    const { name, prefix, state } = rule;
    return h('tr', {}, h('th', { scope: 'row' }, this.link(name)), h('td', {}, h('span.crumbs', {}, prefix.length ? keyParts(prefix) : 'all')),
      h('td', {}, demands(rule)), h('td', {}, h(`span.state.${state}`, {}, state)), h('td.num', {}, count(rule.violations)));
  }

  async open(host, name) {
    let rule;
    try { rule = await get(at(name)); } catch (error) {
      fill(host, h('p.empty', {}, error.text ?? error.message));
      return null;
    }
    const state = h(`span.state.${rule.state}`, {}, rule.state);
    const declared = async () => { await this.load(); await this.done(name); };
    const all = [['Violations', (panel) => violations(panel, rule)], ...(rule.quota ? [['Usage', (panel) => usage(panel, rule)]] : []),
      ...(may('index') ? [['Change', (panel) => fill(panel, new Form({ rule, done: declared }).node)]] : []),
      ['Declaration', (panel) => fill(panel, h('pre.text', { tabIndex: 0, role: 'region', 'aria-label': 'Declaration' }, format(stringify(rule))))]];
    const tabs = await tabbed(host, h('header.bar', {}, h('h2', {}, name), state, h('span.grow'), may('index')
      ? h('button.danger', { type: 'button', onclick: () => this.drop(name) }, 'Drop') : null), 'About the rule', all, rule.quota && rule.state === 'ready' ? 'Usage' : 'Violations');
    return { changed(now) {
      if (!now || now.state === rule.state) return;
      rule = now;
      state.className = `state ${now.state}`;
      state.textContent = now.state;
      if (tabs.shown === 'Violations') tabs.show('Violations');
    } };
  }

  async drop(name) {
    const yes = await confirm({ title: `Drop ${name}?`, action: 'Drop', body: h('p', {}, 'The entries stay as they are, and writes that violate the rule are accepted from then on.') });
    if (!yes) return;
    await send('DELETE', at(name));
    this.gone(name);
    this.dropped(name);
  }

  newForm(prefix) {
    return new Form({ prefix, done: async (name) => { await this.load(); await this.done(name); } });
  }

  leave() { clearTimeout(this.timer); }
}

export const open = (app) => new RulesPage(app);

// A question to the entries: which index answers it, what it finds, and the
// declaration of an index that is missing.
import { h, fill, say, about } from './dom.js';
import { get, post, query } from './api.js';
import { may } from './session.js';
import { mistake, parse, stringify } from './json.js';
import { parse as parseKey, toFragment, write } from './key.js';
import { keyParts } from './tree.js';

const OPERATORS = [['eq', '='], ['ne', '≠'], ['gt', '>'], ['ge', '≥'], ['lt', '<'], ['le', '≤'], ['in', 'in'], ['exists', 'exists']];
const FOUND = 50; // entries shown

// A value as JSON, or else the text itself.
function operand(text) {
  return mistake(text) === null ? parse(text) : text;
}

// The question in an address, such as {prefix, where, order, run}; `run`: its entries
// were shown. Throws for any other text.
function readQuestion(path) {
  if (path === '') return { prefix: [] };
  const { prefix = [], where, order = [], run } = parse(decodeURIComponent(path));
  const conditions = where === undefined ? undefined : [where].flat();
  if (![prefix, order].every(Array.isArray) || conditions?.some((condition) => typeof condition?.path !== 'string')) throw new SyntaxError();
  return { prefix, where: conditions, order, run };
}

// A condition as one with a single comparison each, which is what a row has.
function single(condition) {
  const given = OPERATORS.map(([op]) => op).filter((op) => Object.hasOwn(condition, op));
  const { path, fold, each } = condition;
  return given.map((op) => ({ path, more: { fold, each }, op, value: condition[op] }));
}

class QueryPage {
  constructor(app) {
    this.app = app;
    this.prefix = h('input', { name: 'prefix', spellcheck: false, autocomplete: 'off' });
    this.order = h('input', { name: 'order', spellcheck: false, autocomplete: 'off' });
    this.conditions = h('div');
    this.answer = h('section.pane', { 'aria-label': 'Answer', 'aria-live': 'polite' });
    this.node = h('div.scroll', {}, h('form.pane.question', { 'aria-label': 'Question',
      onsubmit: (event) => { event.preventDefault(); this.ask(); } },
    h('h2', {}, 'Question'), h('label', {}, 'Entries under', this.prefix), this.conditions,
    h('label', {}, 'In the order of', this.order),
    h('div.actions', {}, h('button', { type: 'button', onclick: () => this.add().path.focus() }, 'Add a condition'),
      h('button.primary', { type: 'submit' }, 'Explain'))), this.answer);
    this.rows = [];
  }

  add({ path = '', more, op = 'eq', value } = {}) {
    const row = {
      more,
      path: h('input', { 'aria-label': 'Field, such as /city', placeholder: '/city', value: path,
        spellcheck: false, autocomplete: 'off' }),
      op: h('select', { 'aria-label': 'Comparison' }, OPERATORS.map(([name, sign]) =>
        h('option', { value: name, selected: name === op }, sign))),
      value: h('input', { 'aria-label': 'Value, as JSON or text', placeholder: 'Oslo', spellcheck: false, autocomplete: 'off',
        value: value === undefined ? '' : stringify(value) }),
    };
    this.rows.push(row);
    this.conditions.append(h('div.condition', {}, row.path, row.op, row.value));
    return row;
  }

  // The path is a question as JSON. One with conditions, even none, was asked: its address
  // shows what it showed then.
  async go(path) {
    let question = { prefix: [] };
    try { question = readQuestion(path); } catch { say('The address of this page has no valid query.', true); }
    const { prefix, where, order = [], run } = question;
    this.prefix.value = write(prefix);
    this.order.value = order.join(' ');
    this.rows = [];
    fill(this.conditions);
    for (const condition of where ?? []) for (const one of single(condition)) this.add(one);
    if (this.rows.length === 0) this.add();
    fill(this.answer);
    if (prefix.length) this.rows[0].path.focus();
    else this.prefix.focus();
    if (where) await this.ask(run);
  }

  question() {
    const where = this.rows.filter((row) => row.path.value.trim() !== '').map((row) => ({ path: row.path.value.trim(), ...row.more,
      [row.op.value]: row.op.value === 'exists' ? row.value.value !== 'false' : operand(row.value.value) }));
    const order = this.order.value.split(/[\s,]+/).filter(Boolean);
    return { prefix: parseKey(this.prefix.value.trim()), where, ...(order.length > 0 ? { order } : {}) };
  }

  // Explains the question, and with `run` also shows what it finds.
  async ask(run) {
    try {
      const question = this.question();
      this.address(question);
      const answer = await post('/explain', question);
      this.show(answer, question);
      const target = answer.request ?? answer.filtered;
      if (run && target) await this.run(target, question);
    } catch (error) {
      fill(this.answer, h('p.bad', {}, error.text ?? error.message));
    }
  }

  address(question) { this.app.address('query', encodeURIComponent(stringify(question)), true); }

  show({ entries, indexes, request, filtered, declaration }, question) {
    const line = (name, fit) => h('tr', {}, h('td', {}, fit.answers ? '✓' : '✗'), h('th', { scope: 'row' }, name),
      h('td', {}, fit.rows === undefined ? '' : `reads ${about(fit.rows, fit.exact)}`),
      h('td', {}, (fit.reasons ?? []).map((reason) => reason.detail).join(' ')));
    const declare = declaration && may('index') ? h('button.primary', { type: 'button',
      onclick: () => this.declare(declaration) }, 'Declare this') : null;
    // Indexes of other prefixes say nothing about this question.
    const near = indexes.filter(({ reasons }) => !reasons?.every(({ code }) => code === 'other-prefix'));
    const target = request ?? filtered;
    const run = target ? h(declare ? 'button' : 'button.primary', { type: 'button', onclick: () => this.run(target, question) }, request ? 'Run' : 'Run it, testing all entries') : null;
    fill(this.answer, h('table', {}, h('tbody', {}, near.map((fit) => line(fit.index, fit)), line('the entries', entries))),
      target ? h('p', {}, h('code', {}, `GET ${target}`)) : null,
      declaration ? h('p', {}, 'An index in this order would answer it: ',
        h('code', {}, `${declaration.name} ${declaration.fields.map((field) => field.path ?? field).join(', ')}`)) : null,
      h('div.actions', {}, run, declare), this.found = h('div', { role: 'region', 'aria-label': 'Found entries', tabIndex: -1 }));
    (declare ?? run)?.focus();
  }

  async run(request, question) {
    this.address({ ...question, run: true });
    const page = await get(request + (request.includes('?') ? '&' : '?') + query({ limit: FOUND, preview: 200 }).slice(1));
    fill(this.found, h('p', {}, `${page.entries.length}${page.cursor ? ' or more' : ''} found`),
      h('table', {}, h('tbody', {}, page.entries.map((entry) => h('tr', {},
        h('th', { scope: 'row' }, h('a', { href: `#/data/${toFragment(entry.key)}` }, keyParts(entry.key))),
        h('td', {}, h('code', {}, entry.preview ?? entry.kind)))))));
    this.found.querySelector('a')?.focus();
  }

  async declare(declaration) {
    try {
      const index = await post('/indexes', declaration, { headers: { Prefer: 'wait=10' } });
      say(`Index ${index.name} is ${index.state}`);
      await this.ask();
    } catch (error) {
      say(error.text ?? error.message, true);
    }
  }

  keys() { return {}; }
  back() { this.prefix.focus(); }
}

export const open = (app) => new QueryPage(app);

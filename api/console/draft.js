// The declaration of a new index or of totals, tried while it is typed.
import { h, fill, say } from './dom.js';
import { Problem, post } from './api.js';
import { parse } from './key.js';
import { estimateFacts } from './change.js';
import { storeFields } from './store.js';

const SETTLE_MS = 200; // after the last key

// "/age:desc" has the greater values first.
const DESC = ':desc';
const readField = (word) => (word.endsWith(DESC)
  ? { path: word.slice(0, -DESC.length), order: 'desc' } : { path: word });

// "users /city /age:desc" and a name for it.
function readLine(text) {
  const [prefix, ...words] = text.trim().split(/[\s,]+/);
  return { prefix: parse(prefix ?? ''), fields: words.map(readField) };
}

const nameFor = ({ prefix, fields }) => {
  const words = [...prefix.filter((part) => typeof part === 'string'),
    ...fields.length > 0 ? ['by', ...fields.map(({ path }) => path.split('/').at(-1))] : ['total']];
  return words.join('_').replace(/[^A-Za-z0-9_-]/g, '_');
};

export class Draft {
  // line: what is typed already; done(name) after it was declared.
  constructor({ line, done }) {
    this.done = done;
    this.turn = 0;
    const input = (name, label) => {
      const field = h('input', { name, spellcheck: false, autocomplete: 'off' });
      this[name] = field;
      return h('label', {}, label, field);
    };
    const check = (name, label) => {
      this[name] = h('input', { type: 'checkbox', name });
      return h('label.check', {}, this[name], label);
    };
    this.store = storeFields();
    this.result = h('div.estimate', { role: 'status' });
    this.node = h('form.pane', { 'aria-label': 'New index',
      oninput: (event) => this.typed(event), onsubmit: (event) => { event.preventDefault(); this.declare(); } },
    h('h2', {}, 'New index'),
    input('line', 'Entries under, and fields: users /city /age:desc'),
    input('indexName', 'Name'), this.store.nodes,
    h('div', {}, check('unique', 'unique'), check('fold', 'ignore case'),
      check('nulls', 'also without a value')), this.result,
    h('div.actions', {}, h('button.primary', { type: 'submit' }, 'Declare')));
    this.line.value = line;
    if (line !== '') this.typed({ target: this.line });
  }

  focus() { this.line.focus(); }

  document() {
    const { prefix, fields } = readLine(this.line.value);
    return { name: this.indexName.value, prefix, unique: this.unique.checked && !this.store.isTotals(),
      store: this.store.value(), missing: this.nulls.checked ? 'null' : 'skip',
      fields: fields.map((field) => (this.fold.checked ? { ...field, fold: 'lower' } : field)) };
  }

  typed(event) {
    if (event.target === this.indexName) this.named = true;
    this.unique.disabled = this.store.isTotals(); // totals have no entries of their own
    try {
      if (!this.named) this.indexName.value = nameFor(readLine(this.line.value));
    } catch { /* the attempt says what is wrong */ }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.attempt(), SETTLE_MS);
  }

  refuse(error) {
    if (error instanceof Problem || !error.status) {
      fill(this.result, h('p.bad', {}, error.text ?? error.message));
    }
  }

  async attempt() {
    const turn = ++this.turn;
    try {
      const { estimate, warnings = [] } = await post('/indexes?dry=1', this.document());
      if (turn !== this.turn) return;
      fill(this.result, estimateFacts(estimate),
        warnings.map((text) => h('p.warn', {}, text)));
    } catch (error) {
      if (turn === this.turn) this.refuse(error);
    }
  }

  async declare() {
    this.turn++;
    clearTimeout(this.timer);
    try {
      const index = await post('/indexes', this.document());
      say(`Index ${index.name} is ${index.state}`);
      this.done(index.name);
    } catch (error) {
      this.refuse(error);
    }
  }
}

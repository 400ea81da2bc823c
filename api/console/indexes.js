// The declared indexes: their states as they change, a new one, and one of them.
import { h, fill, say, bytes, count, duration } from './dom.js';
import { events, get, post } from './api.js';
import { parse } from './json.js';
import { toFragment } from './key.js';
import { may } from './session.js';
import { keyParts } from './tree.js';
import { Draft } from './draft.js';
import { openIndex } from './index.js';
import { Split } from './split.js';

const COLUMNS = [['Name'], ['Entries under'], ['Fields'], ['State'], ['Entries', '.num'], ['Size', '.num'], ['Reads', '.num'], ['Last read'], ['Writes', '.num']];

export function fieldText(field) {
  if (typeof field === 'string') return field;
  const what = field.path ?? (field.versionstamp ? 'versionstamp' : `key part ${field.key}`);
  const more = [field.fold && field.fold !== 'none' ? field.fold : '', field.each ? 'each' : '',
    field.order === 'desc' ? 'desc' : ''];
  return [what, ...more].filter(Boolean).join(' ');
}

// An index that is written and not read only costs.
function lastRead(use) {
  if (!use) return '–';
  if (use.lastReadAt) return `${duration(Date.now() - use.lastReadAt)} ago`;
  return use.writes > 0 ? h('span.warn', {}, 'not read, only written') : 'not read';
}

// ---- Indexes that an application keeps by hand ------------------------------

const HOLDS = { key: 'the key of the entry', parts: 'the last parts of its key', copy: 'a copy of it', members: 'some members of it', empty: 'nothing' };

function foundNode({ declaration, prefix, holds, entries, agree, samples, ...found }, adopt) {
  const wrong = ['missing', 'dangling', 'stale', 'duplicate'].filter((kind) => found[kind] > 0).map((kind) => `${count(found[kind])} ${kind}`);
  const note = h('p.bad', { role: 'alert' });
  const press = () => adopt(declaration).catch((error) => { note.textContent = error.text ?? error.message; });
  return h('fieldset', {}, h('legend', {}, keyParts(prefix)), h('p', {}, `An index of ${declaration.prefix.join('/')} by ${declaration.fields.map(fieldText).join(', ')}, whose entries hold ${HOLDS[holds]}. `,
    `${count(agree)} of ${count(entries)} are right`, wrong.length > 0 ? h('span.warn', {}, `: ${wrong.join(', ')}`) : '', '.'),
  samples.length > 0 ? h('ul', {}, samples.map(({ damage, indexKey }) => h('li', {}, `${damage} `, h('a', { href: `#/data/${toFragment(indexKey)}` }, keyParts(indexKey))))) : null, note,
  h('p', {}, h('code', {}, `${declaration.name}${declaration.unique ? ', unique' : ''}`), ' ', declaration.adopt ? 'takes these entries over, and keeps them right with every write.' : 'is declared beside them: the entries stay.'),
  h('div.actions', {}, h('button', { type: 'button', 'aria-label': `${declaration.adopt ? 'Adopt' : 'Declare'} ${declaration.name}`, onclick: press }, declaration.adopt ? 'Adopt' : 'Declare')));
}

// ---- The page ---------------------------------------------------------------

class IndexesPage extends Split {
  constructor(app) {
    super(app, { id: 'indexes', name: 'Indexes', one: 'Index', columns: COLUMNS, scope: 'index',
      more: may('index') ? h('button', { type: 'button', onclick: () => this.discover() }, 'Found in your data') : null,
      hint: 'Choose an index, or declare one: an order of entries by their values, that the server keeps right with every write.' });
    this.abort = new AbortController();
  }

  async load() {
    const { indexes } = await get('/indexes');
    // What needs attention comes first.
    const rank = (index) => ['conflicted', 'failed', 'building'].indexOf(index.state) >>> 0;
    indexes.sort((a, b) => rank(a) - rank(b));
    for (const index of indexes) this.show(index);
    this.follow();
  }

  row(index) {
    const { build } = index;
    return h('tr', {}, h('th', { scope: 'row' },
      this.link(index.name),
      index.unique ? h('span.tag', {}, 'unique') : null, index.store?.aggregate ? h('span.tag', {}, 'totals') : null),
    h('td', {}, h('span.crumbs', {}, index.prefix?.length ? keyParts(index.prefix) : 'all')),
    h('td', {}, (index.fields ?? []).map(fieldText).join(', ')),
    h('td', {}, h(`span.state.${index.state}`, {}, index.state),
      build ? [h('progress', { max: 100, value: build.percent, 'aria-label': 'progress' }),
        ` ${Math.round(build.percent)} %`] : null),
    h('td.num', {}, count(index.entries)), h('td.num', {}, index.bytes === undefined ? '–' : bytes(index.bytes)),
    h('td.num', {}, count(index.use?.reads)),
    h('td', {}, lastRead(index.use)), h('td.num', {}, count(index.use?.writes)));
  }

  // An event has only what has changed.
  show(index) {
    const known = { ...this.rows.get(index.name)?.thing, ...index };
    if (!('build' in index)) delete known.build;
    super.show(known);
  }

  // One stream for all indexes.
  async follow() {
    try {
      for await (const event of events('/indexes', this.abort.signal)) {
        const index = parse(event.data);
        if (event.type === 'gone') {
          this.gone(index.name);
        } else {
          this.show(index);
          if (this.chosen === index.name) this.part?.changed?.(this.rows.get(index.name).thing);
        }
      }
    } catch (error) {
      if (error.name !== 'AbortError') say('The states shown are no longer updated: ' + error.message, true);
    }
  }

  async discover() {
    const turn = ++this.turn;
    this.chosen = null;
    const host = h('div.pane', { tabIndex: 0, role: 'region', 'aria-label': 'Found in your data' }, h('h2', {}, 'Found in your data'), h('p', { role: 'status' }, 'Entries are compared with one another: a million take about 4 seconds.'));
    this.fillDetail(host);
    this.pane(1);
    host.focus();
    const { indexes, surveyed, leftOut, failed } = await post('/indexes/discover').catch((error) => ({ indexes: [], failed: error.text ?? error.message }));
    if (turn !== this.turn) return;
    const adopt = async (declaration) => {
      const made = await post('/indexes', declaration);
      say(`Index ${made.name} is ${made.state}`);
      await this.done(made.name);
    };
    fill(host, h('h2', {}, 'Found in your data'), failed ? h('p.bad', { role: 'alert' }, failed)
      : h('p', { role: 'status' }, `${count(surveyed)} entries were compared. `, indexes.length === 0 ? 'None of them are an index of others.' : '', leftOut > 0 ? `${count(leftOut)} groups of keys were left out.` : ''),
    indexes.map((one) => foundNode(one, adopt)));
  }

  open(host, name) { return openIndex(host, name, { gone: () => this.dropped(name) }); }
  newForm(line) { return new Draft({ line, done: (name) => this.done(name) }); }
  leave() { this.abort.abort(); }
}

export const open = (app) => new IndexesPage(app);

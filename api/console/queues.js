// The queues: the number of jobs in each state, the jobs in the order in which they are due, and
// the dead jobs, which can be retried.
import { h, fill, say, count } from './dom.js';
import { get, post, query } from './api.js';
import { stringify } from './json.js';
import { begins, parse, toFragment, write } from './key.js';
import { may } from './session.js';
import { keyParts } from './tree.js';
import { confirm } from './dialog.js';
import { Split, tabbed } from './split.js';
import { mutationOf, read, versionstampOf } from './stored.js';
import { table } from './values.js';

const COUNTED = 20; // queues whose jobs are counted when the list is shown
const EACH_MS = 5000; // between counts of the jobs of the chosen queue
const PAGE = 50; // jobs
const SCANNED = 1000; // index entries per request when looking for dead jobs in their queue
const SCANS_MAX = 10;
const RETRIED_MAX = 1000; // jobs per click
const DEAD = 9007199254740991; // the time at which a dead job is due

const COUNTS = [['due', 'Due'], ['leased', 'Claimed'], ['waiting', 'Due later'], ['dead', 'Dead'], ['attempts', 'Attempts, at most']];
const at = (name) => `/queues/${encodeURIComponent(name)}`;
const link = (key) => h('a', { href: `#/data/${toFragment(key)}` }, h('span.crumbs', {}, keyParts(key)));

// The job of an entry of the queue's index: its key, and when it is due.
const jobOf = ({ prefix, fields }, { key }) => ({ key: [...prefix, ...key.slice(1 + fields.length)], due: key[fields.length] });

function dueText(due) {
  if (due === DEAD) return h('span.bad', {}, 'dead');
  return due <= Date.now() ? 'now' : `${new Date(due).toLocaleString('en-GB')}, or claimed until then`;
}

const jobs = (host, declaration) => table(host, { head: [['Job'], ['Due']], empty: 'There are no jobs.', read: async (cursor) => {
  const page = await get('/list' + query({ prefix: [declaration.name], limit: PAGE, keys: true, cursor }));
  return { cursor: page.cursor, rows: page.entries.map((entry) => jobOf(declaration, entry)).map(({ key, due }) =>
    h('tr', {}, h('th', { scope: 'row' }, link(key)), h('td', {}, dueText(due)))) };
} });

// ---- Dead jobs --------------------------------------------------------------

// A dead job is {from, to}: its present key, and the key under which it is retried. Dead jobs have
// moved to the prefix for dead jobs, under their key and a versionstamp, or stayed in their queue.
async function deadJobs({ name, prefix, fields, queue }, stayed, limit) {
  const found = [];
  if (queue.dead) {
    const page = await get('/list' + query({ prefix: queue.dead, limit, keys: true }));
    for (const { key } of page.entries) {
      const to = key.slice(queue.dead.length, -1);
      if (begins(to, prefix)) found.push({ from: key, to });
    }
  }
  let cursor;
  for (let scans = 0; found.length < limit && stayed > 0 && scans < SCANS_MAX; scans++) {
    const page = await get('/list' + query({ prefix: [name], reverse: true, limit: SCANNED, keys: true, cursor }));
    const here = page.entries.map((entry) => jobOf({ prefix, fields }, entry)).filter(({ due }) => due === DEAD);
    found.push(...here.map(({ key }) => ({ from: key, to: key })));
    stayed -= here.length;
    if (!(cursor = page.cursor)) break;
  }
  return found.slice(0, limit);
}

// Stores the job again in one commit, unless another client has written it since.
async function retry({ from, to }) {
  const entry = await read(from);
  const moved = stringify(from) !== stringify(to);
  const checks = [{ key: from, versionstamp: versionstampOf(entry) }, ...(moved ? [{ key: to, versionstamp: null }] : [])];
  const mutations = [...(moved ? [stringify({ type: 'delete', key: from })] : []), mutationOf({ ...entry, key: to })];
  await post('/atomic', `{"checks":${stringify(checks)},"mutations":[${mutations.join()}]}`);
}

async function dead(host, declaration, counts, again) {
  const found = await deadJobs(declaration, counts.dead, PAGE);
  if (found.length === 0) { fill(host, h('p', {}, 'No job is dead.')); return; }
  const note = h('p', { role: 'status' });
  const run = async (all) => {
    let done = 0;
    const wrong = [];
    for (const job of all) {
      try { await retry(job); done++; } catch (error) { wrong.push(`${write(job.to)}: ${error.text ?? error.message}`); }
      note.textContent = `${count(done)} of ${count(all.length)}`;
    }
    if (wrong.length > 0) say(`Not retried: ${count(wrong.length)}. ${wrong[0]}`, true);
    if (done > 0) say(`${done === 1 ? 'One job is' : `${count(done)} jobs are`} due again`);
    again();
  };
  const every = async () => {
    const all = await deadJobs(declaration, counts.dead, RETRIED_MAX);
    const jobs = `${all.length === RETRIED_MAX ? 'the first ' : ''}${all.length === 1 ? 'one job' : `${count(all.length)} jobs`}`;
    if (await confirm({ title: `Retry ${jobs}?`, action: 'Retry', body: h('p', {}, `${all.length === 1 ? 'It is' : 'They are'} due at once, with no attempt counted.`) })) await run(all);
  };
  fill(host, may('write') ? h('div.actions', {}, h('button', { type: 'button', onclick: every }, 'Retry all')) : null, note,
    h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Job'), h('td'))), h('tbody', {}, found.map((job) => h('tr', {},
      h('th', { scope: 'row' }, link(job.from)), h('td.num', {}, may('write') ? h('button', { type: 'button', 'aria-label': `Retry ${write(job.to)}`,
        onclick: () => run([job]) }, 'Retry') : null))))));
}

// ---- The form ---------------------------------------------------------------

// The form of a new queue for a prefix. Calls done(name) after declaring it.
function form(prefix, done) {
  const field = (name, label, placeholder, value = '') => h('label', {}, label, h('input', { name, placeholder, value, spellcheck: false, autocomplete: 'off' }));
  const result = h('p.bad', { role: 'alert' });
  const text = (name) => node.elements[name].value.trim();
  const declare = async () => {
    try {
      const prefix = parse(text('prefix'));
      const queue = { lease: text('lease') || undefined, retries: text('retries').split(/[\s,]+/).filter(Boolean), dead: text('dead') === '' ? undefined : parse(text('dead')) };
      const made = await post('/indexes', { name: text('queueName') || `${text('prefix').replace(/[^A-Za-z0-9_-]/g, '_')}_due`, prefix,
        fields: text('fields').split(/[\s,]+/).filter(Boolean).map((path) => ({ path })), queue });
      say(`Queue ${made.name} is ${made.state}`);
      done(made.name);
    } catch (error) { result.textContent = error.text ?? error.message; }
  };
  const node = h('form.pane', { 'aria-label': 'New queue', onsubmit: (event) => { event.preventDefault(); declare(); } }, h('h2', {}, 'New queue'),
    field('prefix', 'Jobs under', 'mail', prefix), field('queueName', 'Name', 'mail_due'), field('fields', 'Member with the time when a job is due', '/due', '/due'),
    field('lease', 'A claim has a job for', '60s'), field('retries', 'Pauses after failed attempts', '1s 60s', '1s 60s'),
    field('dead', 'Dead jobs are moved under', 'dead/mail: they stay without it'), result,
    h('div.actions', {}, h('button.primary', { type: 'submit' }, 'Declare')));
  return { node, focus() { node.elements.prefix.focus(); } };
}

// ---- The page ---------------------------------------------------------------

class QueuesPage extends Split {
  constructor(app) {
    super(app, { id: 'queues', name: 'Queues', one: 'Queue', columns: [['Name'], ['Jobs under'], ['State'], ...COUNTS.slice(0, 4).map(([, text]) => [text, '.num'])], scope: 'index',
      hint: 'Choose a queue, or declare one: entries under a prefix that programs claim as jobs, each by one of them at a time.' });
  }

  async load() {
    const { queues } = await get('/queues');
    for (const queue of queues) this.show(queue);
    for (const { name } of queues.slice(0, COUNTED)) get(at(name)).then((counts) => this.show(counts)).catch(() => {}); // the list stands without them
  }

  row(queue) {
    const { name, state, declaration } = queue;
    return h('tr', {}, h('th', { scope: 'row' }, this.link(name)), h('td', {}, h('span.crumbs', {}, keyParts(declaration.prefix))),
      h('td', {}, h(`span.state.${state}`, {}, state)), COUNTS.slice(0, 4).map(([id]) => h(id === 'dead' && queue.dead > 0 ? 'td.num.bad' : 'td.num', {}, count(queue[id]))));
  }

  async open(host, name) {
    clearTimeout(this.timer);
    let counts;
    try { counts = await get(at(name)); } catch (error) {
      fill(host, h('p.empty', {}, error.text ?? error.message));
      return null;
    }
    const { declaration } = counts;
    const facts = h('dl.facts');
    const note = (now) => {
      this.show(counts = now);
      fill(facts, COUNTS.map(([id, text]) => h('div', {}, h('dt', {}, text), h(id === 'dead' && now.dead > 0 ? 'dd.bad' : 'dd', {}, count(now[id])))),
        h('div', {}, h('dt', {}, 'Oldest due since'), h('dd', {}, now.oldestDueAt ? new Date(now.oldestDueAt).toLocaleString('en-GB') : '–')));
    };
    const again = async () => { note(await get(at(name))); await tabs.show(tabs.shown); };
    const all = [['Jobs', (panel) => jobs(panel, declaration)], ['Dead', (panel) => dead(panel, declaration, counts, again)],
      ['Declaration', (panel) => fill(panel, h('pre.text', { tabIndex: 0, role: 'region', 'aria-label': 'Declaration' }, stringify(declaration)))]];
    note(counts);
    const tabs = await tabbed(host, [h('header.bar', {}, h('h2', {}, name), h(`span.state.${counts.state}`, {}, counts.state), h('span.grow'),
      h('a', { href: `#/indexes/${encodeURIComponent(name)}` }, 'Its index')), facts], 'About the queue', all);
    const tick = () => {
      this.timer = setTimeout(async () => {
        if (this.chosen !== name) return;
        if (!document.hidden) await get(at(name)).then(note).catch(() => {}); // the next time tells
        tick();
      }, EACH_MS);
    };
    if (this.chosen === name) tick();
    return {};
  }

  newForm(prefix) {
    return form(prefix, async (name) => { await this.load(); await this.done(name); });
  }

  leave() {
    this.chosen = null;
    clearTimeout(this.timer);
  }
}

export const open = (app) => new QueuesPage(app);

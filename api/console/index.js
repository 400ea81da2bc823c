// One index: its declaration, its conflicts with a way out, its verification.
import { h, fill, count } from './dom.js';
import { get, post, send } from './api.js';
import { may } from './session.js';
import { format, stringify } from './json.js';
import { keyParts } from './tree.js';
import { confirm } from './dialog.js';
import { change, pace } from './change.js';
import { duplicates } from './duplicates.js';
import { showValues } from './values.js';
import { tabbed } from './split.js';

const POLL_MS = 300;

// ---- Verification -----------------------------------------------------------

async function verification(host, name) {
  const at = `/indexes/${encodeURIComponent(name)}/verify`;
  const out = h('div', { role: 'status' });
  const start = async (repair) => {
    let report = await post(at + (repair ? '?repair=true' : ''), '');
    for (; report.state === 'running'; report = await get(at)) {
      out.textContent = `${Math.round(report.percent)} %`;
      await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
    }
    const wrong = ['missing', 'dangling', 'stale', 'duplicate'].filter((kind) => report[kind] > 0);
    fill(out, h('p', {}, `${count(report.total)} entries compared. `, wrong.length === 0 ? 'Nothing is wrong.'
      : wrong.map((kind) => `${report[kind]} ${kind}${report.repair && kind !== 'duplicate' ? ', repaired' : ''}`).join(', ')),
    report.samples.map((sample) => h('p', {}, sample.damage, ' ', keyParts(sample.indexKey ?? sample.key))));
  };
  const run = (repair) => start(repair).catch((error) => fill(out, h('p.bad', {}, error.text ?? error.message)));
  fill(host, h('div.actions', {}, h('button', { type: 'button', onclick: () => run(false) }, 'Verify'),
    h('button', { type: 'button', onclick: () => run(true) }, 'Verify and repair')), out);
}

// ---- The index --------------------------------------------------------------

const declaration = (host, index) => fill(host, h('pre.text', { tabIndex: 0, role: 'region', 'aria-label': 'Declaration' },
  format(stringify(index))));

async function drop(name, gone) {
  const yes = await confirm({ title: `Drop ${name}?`, action: 'Drop', type: name,
    body: h('p', {}, 'Its entries are removed; the entries that it indexes stay.') });
  if (!yes) return;
  await send('DELETE', `/indexes/${encodeURIComponent(name)}`);
  gone();
}

// Shows an index in `host`.
export async function openIndex(host, name, { gone }) {
  let index;
  try {
    index = await get(`/indexes/${encodeURIComponent(name)}`);
  } catch (error) {
    fill(host, h('p.empty', {}, error.text ?? error.message));
    return null;
  }
  const deleted = []; // entries, while this index is shown
  const all = [['Values', (panel) => showValues(panel, index)],
    ...(index.unique ? [['Conflicts', (panel) => duplicates(panel, name, deleted)]] : []),
    ...(may('index') ? [['Verify', (panel) => verification(panel, name)],
      ['Change', (panel) => change(panel, index, () => again('Change'))], ['Pace', (panel) => pace(panel, index, () => again('Pace'))]] : []),
    ['Declaration', (panel) => declaration(panel, index)]];
  const state = h(`span.state.${index.state}`, {}, index.state);
  const head = h('header.bar', {}, h('h2', {}, name), state, h('span.grow'), may('index')
    ? h('button.danger', { type: 'button', onclick: () => drop(name, gone) }, 'Drop') : null);
  const tabs = await tabbed(host, head, 'About the index', all, index.state === 'conflicted' && index.unique ? 'Conflicts' : 'Values');
  // Reads the index again, and shows a tab of it.
  async function again(title) {
    index = await get(`/indexes/${encodeURIComponent(name)}`);
    await tabs.show(title);
  }
  return { changed(now) {
    const other = state.textContent !== now.state;
    state.className = `state ${now.state}`;
    state.textContent = index.state = now.state;
    if (other && tabs.shown === 'Values') tabs.show('Values');
    if (tabs.shown === 'Change' && ('migration' in now || index.migration)) again('Change');
  } };
}

// One index: its declaration, its conflicts with a way out, its verification.
import { h, fill, count, isTyping } from './dom.js';
import { get, post, send } from './api.js';
import { may } from './session.js';
import { format, stringify } from './json.js';
import { keyParts } from './tree.js';
import { confirm } from './dialog.js';
import { change, pace } from './change.js';
import { duplicates } from './duplicates.js';
import { showValues } from './values.js';

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
  const panel = h('div.pane', { role: 'tabpanel', id: 'panel', tabIndex: 0, 'aria-labelledby': 'tab-Values' });
  const deleted = []; // entries, while this index is shown
  const tabs = [['Values', () => showValues(panel, index)],
    ...(index.unique ? [['Conflicts', () => duplicates(panel, name, deleted)]] : []),
    ...(may('index') ? [['Verify', () => verification(panel, name)],
      ['Change', () => change(panel, index, () => again('Change'))], ['Pace', () => pace(panel, index, () => again('Pace'))]] : []),
    ['Declaration', () => declaration(panel, index)]];
  const buttons = tabs.map(([title]) => h('button', { type: 'button', role: 'tab', id: `tab-${title}`,
    'aria-controls': 'panel', onclick: () => show(title) }, title));
  const list = h('div.tabs', { role: 'tablist', 'aria-label': 'About the index', onkeydown: (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = (buttons.findIndex((button) => button === document.activeElement) + step + tabs.length) % tabs.length;
    show(tabs[at][0]);
    buttons[at].focus();
  } }, buttons);
  let shown;
  // Reads the index again, and shows a tab of it.
  async function again(title) {
    index = await get(`/indexes/${encodeURIComponent(name)}`);
    await show(title);
  }
  async function show(title) {
    shown = title;
    tabs.forEach(([other], i) => {
      buttons[i].setAttribute('aria-selected', String(other === title));
      buttons[i].tabIndex = other === title ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', `tab-${title}`);
    try { await tabs.find(([other]) => other === title)[1](); } catch (error) {
      fill(panel, h('p.bad', {}, error.text ?? error.message));
    }
  }
  const state = h(`span.state.${index.state}`, {}, index.state);
  fill(host, h('header.bar', {}, h('h2', {}, name), state, h('span.grow'), may('index')
    ? h('button.danger', { type: 'button', onclick: () => drop(name, gone) }, 'Drop') : null), list, panel);
  await show(index.state === 'conflicted' ? 'Conflicts' : 'Values');
  if (index.state !== 'conflicted' && !isTyping()) buttons[0].focus();
  return { changed(now) {
    const other = state.textContent !== now.state;
    state.className = `state ${now.state}`;
    state.textContent = index.state = now.state;
    if (other && shown === 'Values') show('Values');
    if (shown === 'Change' && ('migration' in now || index.migration)) again('Change');
  } };
}

// How an index is changed while it is used: what its entries store, and how fast
// the work on it goes.
import { h, fill, say, count, bytes } from './dom.js';
import { post } from './api.js';
import { storeFields, storeText } from './store.js';

const SETTLE_MS = 200; // after the last key

const at = (name, more = '') => `/indexes/${encodeURIComponent(name)}${more}`;

// What an estimate says, as names and values.
export function estimateFacts(estimate) {
  if (!estimate) return h('p', {}, 'An estimate needs the scope list for the prefix.');
  const sign = estimate.exact ? '' : '≈ ';
  return h('dl', {}, [['covers', `${sign}${count(estimate.covered)}`], ['leaves out', `${sign}${count(estimate.skipped)}`],
    ['index entries', `${sign}${count(estimate.entries)}`], ['size', `${sign}${bytes(estimate.bytes)}`],
    ['build', `≈ ${estimate.seconds.toFixed(1)} s`], ['conflicts', count(estimate.conflicts)]]
    .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

// The declaration alone, without the members that tell its state.
function declarationOf({ prefix, depth, fields, unique, tombstones, store, missing, where }) {
  return { prefix, depth, fields, unique, tombstones, store, missing, where };
}

// ---- Migration --------------------------------------------------------------

// The new form is estimated as if it were another index: it is built beside the old one.
async function estimate(index, to) {
  const name = `${index.name.slice(0, 40)}_changed`;
  const { estimate: found, warnings = [] } = await post('/indexes?dry=1', { ...declarationOf(index), ...to, name });
  return [estimateFacts(found), warnings.map((text) => h('p.warn', {}, text)),
    to.unique && found?.conflicts > 0 ? h('p.bad', {}, `${count(found.conflicts)} entries share a value with another entry: the change would stop at them.`) : null];
}

function running(host, index, again) {
  const { migration } = index;
  const undo = async () => {
    try {
      await post(at(index.name, '/migration'), undefined, { method: 'DELETE' });
      say(`${index.name} stays unchanged`);
      again();
    } catch (error) { say(error.text ?? error.message, true); }
  };
  fill(host, h('p', {}, `Changing to store ${storeText(migration.to.store)}${migration.to.unique ? ', unique' : ''}: `,
    migration.failure ?? `${Math.round(migration.build?.percent ?? 0)} %`, '. Until it is complete, reads use the old form.'),
  h('div.actions', {}, h('button', { type: 'button', onclick: undo }, 'Undo the change')));
}

// The merge patch (RFC 7396) by which the members of `to` have these values.
function patch(from, to) {
  const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
  return Object.fromEntries(Object.entries(to).map(([name, value]) => {
    if (!isObject(value) || !isObject(from[name])) return [name, value];
    const gone = Object.keys(from[name]).filter((other) => !Object.hasOwn(value, other));
    return [name, { ...Object.fromEntries(gone.map((other) => [other, null])), ...patch(from[name], value) }];
  }));
}

// What the index stores, and whether it is unique; tried while it is chosen.
// again(): the index has changed.
export function change(host, index, again) {
  if (index.migration) { running(host, index, again); return; }
  const store = storeFields(index.store);
  const unique = h('input', { type: 'checkbox', name: 'unique', checked: index.unique, disabled: store.isTotals() });
  const result = h('div.estimate', { role: 'status' });
  const to = () => ({ unique: unique.checked && !store.isTotals(), store: store.value() });
  const refuse = (error) => fill(result, h('p.bad', {}, error.text ?? error.message));
  let turn = 0;
  let timer;
  const attempt = async () => {
    const mine = ++turn;
    try {
      const found = await estimate(index, to());
      if (mine === turn) fill(result, found);
    } catch (error) { if (mine === turn) refuse(error); }
  };
  fill(host, h('form', { 'aria-label': 'Change the index', oninput: () => {
    unique.disabled = store.isTotals(); // totals have no entries of their own
    clearTimeout(timer);
    timer = setTimeout(attempt, SETTLE_MS);
  }, onsubmit: async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    turn++;
    try {
      await post(at(index.name), patch(index, to()), { method: 'PATCH' });
      say(`${index.name} is being changed`);
      again();
    } catch (error) { refuse(error); }
  } }, store.nodes, h('label.check', {}, unique, 'unique'), result,
  h('div.actions', {}, h('button.primary', { type: 'submit' }, 'Change'))));
}

// ---- Pace -------------------------------------------------------------------

export function pace(host, index, again) {
  const now = index.pace ?? { paused: false, perSecond: null };
  const limit = h('input', { name: 'perSecond', inputMode: 'numeric', autocomplete: 'off', value: now.perSecond ?? '', placeholder: 'no limit' });
  const note = h('p.bad', { role: 'alert' });
  const ask = async (target, body) => {
    try {
      await post(at(index.name, target), body);
      again();
    } catch (error) { note.textContent = error.text ?? error.message; }
  };
  fill(host, h('p', {}, 'The limit applies to builds, changes and verifications of this index, also after a restart.'),
    h('form', { 'aria-label': 'Pace', onsubmit: (event) => {
      event.preventDefault();
      const text = limit.value.trim();
      ask('/throttle', { perSecond: text === '' ? null : Number(text) });
    } }, h('label', {}, 'Entries per second, at most ', limit), note,
    h('div.actions', {}, h('button', { type: 'button', onclick: () => ask(now.paused ? '/resume' : '/pause') }, now.paused ? 'Resume' : 'Pause'),
      h('button.primary', { type: 'submit' }, 'Set'))));
}

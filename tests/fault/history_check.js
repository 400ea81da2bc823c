// Is a history linearizable? Every commit has a versionstamp, so the order is
// known and nothing has to be searched: a view of several keys is right when
// there is one stamp S, not older than what was acknowledged before it began
// and not newer than what was begun before it ended, at which all of its keys
// were as it shows them.
//
// A history: { writes, views }. Times are of one monotonic clock.
//   write  { start, end, stamp, changes: [{ key, id, group }] }   id null: gone
//          of a write with an unknown outcome, end is Infinity and stamp null,
//          or what was found out later
//   view   { start, end, says, shows(key, version): boolean }
//          version is { stamp, id, group }; stamp and id null: not there
'use strict';

const ABSENT = { stamp: 0n, id: null, group: null };

// For each key its versions in order, each valid up to the next.
function versions(writes, keys) {
  const all = new Map(keys.map((key) => [key, [ABSENT]]));
  const known = writes.filter(({ stamp }) => stamp !== null)
    .sort((a, b) => (a.stamp < b.stamp ? -1 : 1));
  for (const { stamp, changes } of known)
    for (const { key, id, group } of changes)
      all.get(key).push({ stamp, id, group });
  return all;
}

// A function of a time: the greatest value among the marks before it.
function greatestBefore(marks) {
  const sorted = [...marks].sort((a, b) => a.time - b.time);
  let greatest = 0n;
  const steps = sorted.map(({ time, stamp }) => {
    if (stamp > greatest) greatest = stamp;
    return { time, greatest };
  });
  return (time) => {
    let low = 0;
    let high = steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (steps[middle].time < time) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0n : steps[low - 1].greatest;
  };
}

// The number of the version that is valid at a stamp.
function versionAt(list, stamp) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].stamp <= stamp) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The least stamp from `from` on at which a key is as the view shows it; null
// when there is none.
function fits(list, view, key, from) {
  for (let n = versionAt(list, from); n < list.length; n++)
    if (view.shows(key, list[n]))
      return list[n].stamp > from ? list[n].stamp : from;
  return null;
}

// The least stamp not below `from` at which all keys fit; null: none.
function momentOf(all, view, from) {
  let moment = from;
  for (let changed = true; changed;) {
    changed = false;
    for (const [key, list] of all) {
      const next = fits(list, view, key, moment);
      if (next === null) return null;
      changed ||= next !== moment;
      moment = next;
    }
  }
  return moment;
}

// The stamp of the newest of these writes that had ended before a time.
function endedBefore(writes) {
  return greatestBefore(writes.filter(({ end }) => end !== Infinity)
    .map(({ end, stamp }) => ({ time: end, stamp })));
}

function begunBefore(writes) {
  return greatestBefore(writes.map(({ start, stamp }) => ({ time: start, stamp })));
}

function orderOfWrites(writes) {
  const known = writes.filter(({ stamp }) => stamp !== null);
  const wrong = [];
  const seen = new Set();
  const before = endedBefore(known);
  for (const { start, stamp } of known) {
    if (seen.has(stamp)) wrong.push(`versionstamp ${stamp} twice`);
    seen.add(stamp);
    if (before(start) >= stamp)
      wrong.push(`commit ${stamp} began after ${before(start)} had ended`);
  }
  return wrong;
}

// Everything that is wrong with a history of these keys, as sentences.
function check({ writes, views }, keys) {
  const wrong = orderOfWrites(writes);
  const all = versions(writes, keys);
  const known = writes.filter(({ stamp }) => stamp !== null);
  const acknowledged = endedBefore(known);
  const begun = begunBefore(known);
  for (const view of views) {
    const from = acknowledged(view.start);
    const to = begun(view.end);
    const moment = momentOf(all, view, from);
    if (moment === null || (moment > to && moment !== from))
      wrong.push(`no moment from ${from} to ${to} fits: ${view.says}`);
  }
  return wrong;
}

// All views of one number as one view.
function together(views) {
  return { at: views[0].at,
    least: views.reduce((most, { least }) => (least > most ? least : most), 0n),
    end: views.reduce((first, { end }) => Math.min(first, end), Infinity),
    says: views.map(({ says }) => says).join('; '),
    shows: (key, version) => views.every((one) => one.shows(key, version)) };
}

// The same of views that need not show the newest state. Such a view has also
//   at     the number of its state: views of one number show one state, and those
//          of a higher number no older one
//   least  a stamp that the state has to contain
// and a write may have `at`, a number whose state contains it.
function checkStates({ writes, views }, keys) {
  const all = versions(writes, keys);
  const known = writes.filter(({ stamp }) => stamp !== null);
  const begun = begunBefore(known);
  const written = greatestBefore(known.filter(({ at }) => at !== undefined)
    .map(({ at, stamp }) => ({ time: at, stamp })));
  const states = new Map(views.map(({ at }) => [at, []]));
  views.forEach((view) => states.get(view.at).push(view));
  const wrong = [];
  let before = 0n;
  for (const at of [...states.keys()].sort((a, b) => a - b)) {
    const state = together(states.get(at));
    const bounds = [before, state.least, written(at + 1)];
    const from = bounds.reduce((a, b) => (a > b ? a : b));
    const to = begun(state.end);
    const moment = momentOf(all, state, from);
    if (moment === null || moment > to)
      wrong.push(`no state from ${bounds.join(', ')} to ${to} fits number ${at}: ` +
        state.says);
    else before = moment;
  }
  return wrong;
}

module.exports = { check, checkStates };

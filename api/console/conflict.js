// Three versions of an entry that was changed by another client meanwhile, with
// the lines that differ marked.
import { h, fill } from './dom.js';
import { merge } from './merge.js';

const CELLS_MAX = 4000000; // of the table that compares two texts

// Marks the lines that are not in the longest common subsequence of both texts. In texts too
// long for that, marks the lines that the other text has nowhere.
function added(lines, others) {
  const [n, m] = [others.length, lines.length];
  if (n * m > CELLS_MAX) {
    const have = new Set(others);
    return lines.map((line) => !have.has(line));
  }
  const width = m + 1;
  const common = new Uint32Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      common[i * width + j] = others[i] === lines[j] ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  let i = 0;
  return lines.map((line, j) => {
    while (i < n && others[i] !== line && common[(i + 1) * width + j] >= common[i * width + j + 1]) i++;
    if (i === n || others[i] !== line) return true;
    i++;
    return false;
  });
}

// The lines of a text, marked where the other does not have them.
export function marked(text, other) {
  const lines = text.split('\n');
  const isNew = added(lines, other.split('\n'));
  return lines.map((line, j) => (isNew[j] ? h('mark', {}, line + '\n') : line + '\n'));
}

// base, theirs, mine: texts, theirs null where it was deleted. take(text) begins
// a save of that text over what is stored; theirsTaken() drops mine.
export function showConflict(host, { base, theirs, mine, take, theirsTaken, close }) {
  const pane = (title, content) => h('section', { 'aria-label': title }, h('h4', {}, title), h('pre', { tabIndex: 0 }, content));
  const button = (text, onclick) => h('button', { type: 'button', onclick }, text);
  const merged = theirs === null ? null : merge(base, theirs, mine);
  const both = merged ? h('button.primary', { type: 'button', onclick: () => take(merged.text) },
    `Merge both: ${merged.names.join(', ')}`) : null;
  const keep = button('Keep mine', () => take(mine));
  fill(host, h('h3', {}, 'This entry was changed by another client since you opened it'),
    h('div.three', {}, pane('You opened', base),
      pane('Stored now', theirs === null ? 'It was deleted.' : marked(theirs, base)), pane('Yours', marked(mine, base))),
    h('div.actions', {}, h('span.note', {}, 'Esc: go back to the text'), both, keep, button('Take theirs', theirsTaken)));
  host.hidden = false;
  host.onkeydown = (event) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    host.hidden = true;
    close();
  };
  (both ?? keep).focus();
}

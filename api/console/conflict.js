// Three versions of an entry that was changed by another client meanwhile, with
// the lines that differ marked.
import { h, fill } from './dom.js';
import { merge } from './merge.js';

// The lines of a text, marked where the other has no such line.
export function marked(text, other) {
  const have = new Set(other.split('\n'));
  return text.split('\n').map((line) => (have.has(line) ? line + '\n' : h('mark', {}, line + '\n')));
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

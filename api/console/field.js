// A field for JSON: plain text in one text node, coloured without elements (CSS
// highlights). Long texts are in a textarea, which is faster and has no colours.
import { h } from './dom.js';
import { format, tokens } from './json.js';

export const COLOUR_MAX = 65536; // characters
const KINDS = ['s', 'n', 'w', 'k', 'b'];

// The ranges of the tokens by kind, up to the first mistake; k are names. `pairs`: of each
// bracket the place of the other one.
function ranges(text, node) {
  const found = { s: [], n: [], w: [], k: [], pairs: new Map() };
  const open = [];
  let string = null;
  try {
    for (const [kind, start, end] of tokens(text)) {
      if (kind === ':' && string) {
        found.s.pop();
        found.k.push(string);
      }
      string = null;
      if ('{['.includes(kind)) open.push(start);
      if ('}]'.includes(kind) && open.length > 0) {
        const other = open.pop();
        found.pairs.set(start, other).set(other, start);
      }
      if (!found[kind]) continue;
      const range = new StaticRange({ startContainer: node, startOffset: start,
        endContainer: node, endOffset: end });
      found[kind].push(range);
      if (kind === 's') string = range;
    }
  } catch { /* what is after the mistake has no colour */ }
  return found;
}

// The lines of a JSON text, in which the lines between two brackets fold. A bracket at the end of
// a line is never inside a string.
export function outline(text, label) {
  const root = h('div.outline', { tabIndex: 0, role: 'region', 'aria-label': label });
  const stack = [root];
  for (const line of format(text).split('\n')) {
    if (/^ *[}\]]/.test(line)) stack.pop();
    if (!/[{[]$/.test(line)) stack.at(-1).append(h('div', {}, line));
    else {
      const part = h('details', { open: true }, h('summary', {}, line));
      stack.at(-1).append(part);
      stack.push(part);
    }
  }
  return root;
}

export class Field {
  // changed() is called after each edit. `json`: with colours.
  constructor({ text, changed, label, json = true, readOnly = false }) {
    this.changed = changed;
    this.json = json;
    const properties = { spellcheck: false, 'aria-label': label, oninput: () => this.edited() };
    this.plain = !json || text.length > COLOUR_MAX;
    this.node = this.plain
      ? h('textarea.text', { ...properties, readOnly, wrap: 'soft', autocomplete: 'off' })
      : h('pre.text', { ...properties, role: 'textbox', 'aria-multiline': 'true', tabIndex: 0,
        'aria-readonly': readOnly ? 'true' : undefined,
        contentEditable: readOnly ? 'false' : 'plaintext-only' });
    // Lines have numbers where each is one line on the page.
    this.gutter = this.plain ? null : h('pre.gutter', { 'aria-hidden': 'true' });
    this.node.addEventListener('scroll', () => { if (this.gutter) this.gutter.scrollTop = this.node.scrollTop; });
    this.node.addEventListener('keyup', () => this.match());
    this.node.addEventListener('pointerup', () => this.match());
    this.box = h('div.code', {}, this.gutter, this.node);
    this.text = text;
  }

  get text() { return this.plain ? this.node.value : this.node.textContent; }

  set text(text) {
    if (this.plain) this.node.value = text;
    else this.node.textContent = text;
    this.colour();
  }

  edited() {
    this.colour();
    this.changed?.();
  }

  colour() {
    if (this.plain || !this.json || typeof Highlight === 'undefined') return;
    this.node.normalize();
    const node = this.node.firstChild;
    const one = node?.nodeType === Node.TEXT_NODE && this.node.childNodes.length === 1;
    const found = one && node.length <= COLOUR_MAX ? ranges(node.data, node) : {};
    for (const kind of KINDS) {
      CSS.highlights.set(`json-${kind}`, new Highlight(...(found[kind] ?? [])));
    }
    this.pairs = found.pairs;
    const lines = this.text.split('\n').length;
    this.gutter.textContent = Array.from({ length: lines }, (_, i) => i + 1).join('\n');
  }

  // Marks the bracket beside the caret, and the one that belongs to it.
  match() {
    if (this.plain || !this.pairs) return;
    const { anchorNode, anchorOffset } = getSelection();
    const node = this.node.firstChild;
    const at = anchorNode === node && node ? [anchorOffset - 1, anchorOffset].find((place) => this.pairs.has(place)) : undefined;
    const both = at === undefined ? [] : [at, this.pairs.get(at)];
    CSS.highlights.set('json-b', new Highlight(...both.map((place) =>
      new StaticRange({ startContainer: node, startOffset: place, endContainer: node, endOffset: place + 1 }))));
  }

  // Puts the caret at a place, such as that of a mistake.
  select(at) {
    this.node.focus();
    if (this.plain) this.node.setSelectionRange(at, at);
    else if (this.node.firstChild) getSelection().collapse(this.node.firstChild, at);
  }
}

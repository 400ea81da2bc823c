// A field for JSON: plain text in one text node, coloured without elements (CSS
// highlights). Long texts are in a textarea, which is faster and has no colours.
import { h } from './dom.js';
import { tokens } from './json.js';

const COLOUR_MAX = 65536; // characters
const KINDS = ['s', 'n', 'w', 'k'];

// The ranges of the tokens by kind, up to the first mistake; k are names.
function ranges(text, node) {
  const found = { s: [], n: [], w: [], k: [] };
  let string = null;
  try {
    for (const [kind, start, end] of tokens(text)) {
      if (kind === ':' && string) {
        found.s.pop();
        found.k.push(string);
      }
      string = null;
      if (!found[kind]) continue;
      const range = new StaticRange({ startContainer: node, startOffset: start,
        endContainer: node, endOffset: end });
      found[kind].push(range);
      if (kind === 's') string = range;
    }
  } catch { /* what is after the mistake has no colour */ }
  return found;
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
  }

  // Puts the caret at a place, such as that of a mistake.
  select(at) {
    this.node.focus();
    if (this.plain) this.node.setSelectionRange(at, at);
    else if (this.node.firstChild) getSelection().collapse(this.node.firstChild, at);
  }
}

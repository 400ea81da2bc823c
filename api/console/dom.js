// Elements from names, properties and children. A text never becomes markup.
import { icon } from './icons.js';

const given = (children) =>
  children.flat(4).filter((child) => child !== null && child !== undefined && child !== false);

// h('button.primary', { onclick }, 'Save'): an element. A property that the
// element does not have becomes an attribute.
export function h(tag, properties, ...children) {
  const [name, ...classes] = tag.split('.');
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key in node && !key.startsWith('aria') && key !== 'list') node[key] = value;
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...given(children));
  return node;
}

export const fill = (node, ...children) => node.replaceChildren(...given(children));

export const FIELDS = 'input, textarea, select, [contenteditable="plaintext-only"]';
// A page that finishes loading takes no focus from a field in which its user types.
export const isTyping = () => document.activeElement.matches(FIELDS);

const SAID_MS = 4000;
const PROBLEM_MS = 10000;
const TOASTS_MAX = 4; // on the page at a time
let announcer;
let toasts;

// Says something at the edge of the page, and to a screen reader. An action, {name, run, ms},
// is a button that is there for that time.
export function say(text, isProblem, action) {
  if (!announcer) {
    announcer = h('div.hidden', { role: 'status', 'aria-live': 'polite' });
    toasts = h('div.toasts', { popover: 'manual' });
    (document.querySelector('header') ?? document.body).append(announcer, toasts);
  }
  announcer.textContent = text;
  const close = () => {
    toast.remove();
    if (toasts.childElementCount === 0) toasts.hidePopover();
  };
  const toast = h(isProblem ? 'div.toast.bad' : 'div.toast', {}, h('span.grow', {}, text),
    action ? h('button', { type: 'button', onclick: () => { close(); action.run(); } }, action.name) : null,
    h('button.plain', { type: 'button', 'aria-label': 'Dismiss', onclick: close }, icon('close')));
  toasts.append(toast);
  if (toasts.childElementCount > TOASTS_MAX) toasts.firstChild.remove();
  toasts.hidePopover();
  toasts.showPopover(); // above a dialog that was opened meanwhile
  setTimeout(() => { if (toast.isConnected) close(); }, action?.ms ?? (isProblem ? PROBLEM_MS : SAID_MS));
}

// Takes away what was said, with its actions.
export function hush() {
  if (toasts?.childElementCount) { fill(toasts); toasts.hidePopover(); }
}

// A button with an icon, whose name is shown where there is room for it.
export const tool = (name, sign, onclick, more) =>
  h(`button.tool${more?.kind ?? ''}`, { type: 'button', title: more?.title ?? name, onclick, 'aria-label': more?.label ?? name }, icon(sign),
    h('span.name', {}, name));

// ---- Numbers ----------------------------------------------------------------

export const count = (n) => (n === null || n === undefined ? '–' : n.toLocaleString('en'));

// An estimate has one digit or two.
export function rough(n) {
  if (n < 100) return String(n);
  if (n < 1000) return String(Math.round(n / 10) * 10);
  const [unit, sign] = n < 1e6 ? [1e3, 'k'] : n < 1e9 ? [1e6, 'M'] : [1e9, 'G'];
  const scaled = n / unit;
  return (scaled < 10 ? scaled.toFixed(1).replace(/\.0$/, '') : Math.round(scaled)) + sign;
}

export const about = (n, exact) => (exact ? count(n) : '≈ ' + rough(n));

export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i > 0 && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export function duration(ms) {
  const units = [['d', 86400000], ['h', 3600000], ['min', 60000], ['s', 1000]];
  const [unit, size] = units.find(([, each]) => ms >= each) ?? ['ms', 1];
  return `${Math.round(ms / size)} ${unit}`;
}

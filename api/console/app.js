// The shell: the bar, the pages by the fragment of the address, the keys, and
// whether the server answers.
import { h, fill, say } from './dom.js';
import { hasToken, onRefused, Problem, send, setToken } from './api.js';
import { holder, loadSession, may, needsToken } from './session.js';
import { open as openData } from './data.js';

document.getElementById('start').remove();

// Each with the scopes of which a token needs one to see it.
const lazy = (load) => async (app) => (await load()).open(app);
const PAGES = {
  data: { name: 'Data', open: openData, scopes: ['list', 'read'] },
  indexes: { name: 'Indexes', open: lazy(() => import('./indexes.js')), scopes: ['read'] },
  query: { name: 'Query', open: lazy(() => import('./query.js')), scopes: ['list'] },
  watch: { name: 'Watch', open: lazy(() => import('./watch.js')), scopes: ['watch'] },
  server: { name: 'Server', open: lazy(() => import('./server.js')), scopes: ['monitor', 'admin'] },
  access: { name: 'Access', open: lazy(() => import('./access.js')), scopes: null },
};
const sees = (id) => PAGES[id].scopes === null || may(...PAGES[id].scopes);
const HEALTH_MS = 5000;
const IDLE_MS = 30 * 60 * 1000; // without a key or a click the token is forgotten

const KEYS = [['/', 'go to a key'], ['g d', 'Data; g and the first letter of any page'],
  ['↑ ↓ Page Home End', 'move in the tree or the list'], ['→ ←', 'open and close in the tree'],
  ['Enter', 'from the tree to the list, from the list into the entry'], ['e', 'edit the entry'],
  ['Ctrl S', 'save'], ['n', 'new'], ['w', 'watch what the list shows'], ['Esc', 'one pane back'], ['?', 'these keys']];

const main = h('main', { id: 'main', tabIndex: -1 });
const health = h('span.health', { role: 'status' });
const outButton = h('button', { type: 'button', hidden: true, onclick: () => leaveServer() },
  'Sign out');
const nav = h('nav', { 'aria-label': 'Pages' }, Object.entries(PAGES).map(([id, { name }]) =>
  h('a', { href: `#/${id}`, id: `nav-${id}` }, name)));
document.body.prepend(
  h('a.skip', { href: '#main', onclick: (event) => { event.preventDefault(); main.focus(); } },
    'Skip to content'),
  h('header.top', {}, h('h1.brand', {}, 'Kindex'), nav, h('span.grow'), health,
    h('span.host', {}, location.host), outButton), main);

// ---- Pages ------------------------------------------------------------------

let current = null;
let currentId = null;

const app = {
  main,
  // Sets the address without opening it. `quiet`: no new step for Back.
  address(id, path, quiet) {
    const hash = `#/${id}${path === '' ? '' : '/' + path}`;
    if (hash === location.hash) return;
    history[quiet ? 'replaceState' : 'pushState'](null, '', hash);
    document.title = title(id, path);
  },
  // Shows the page again, because its user may do other things now.
  restart() {
    showHolder();
    touched();
    current?.leave?.();
    current = currentId = null;
    return show();
  },
};

function title(id, path) {
  let text = path;
  try { text = decodeURIComponent(path); } catch { /* the page says what is wrong */ }
  return `${text === '' ? '' : text + ' · '}${PAGES[id].name} · Kindex`;
}

function readAddress() {
  const [, id, path] = /^#\/([a-z]+)\/?(.*)$/.exec(location.hash) ?? [null, 'data', ''];
  return Object.hasOwn(PAGES, id) ? { id, path } : { id: 'data', path: '' };
}

async function show() {
  if (needsToken()) { askToken(); return; }
  const { id: wanted, path } = readAddress();
  const id = sees(wanted) ? wanted : Object.keys(PAGES).find(sees);
  for (const link of nav.children) link.hidden = !sees(link.id.slice(4));
  document.title = title(id, path);
  for (const link of nav.children) link.removeAttribute('aria-current');
  document.getElementById(`nav-${id}`).setAttribute('aria-current', 'page');
  if (id !== currentId) {
    current?.leave?.();
    currentId = id;
    const page = await PAGES[id].open(app);
    if (currentId !== id) return;
    current = page;
    fill(main, current.node);
  }
  await current.go(path);
}

// ---- Signing in and out -----------------------------------------------------

let asking = false;
async function askToken(reason) {
  if (asking) return;
  asking = true;
  await (await import('./signin.js')).signIn(reason);
  asking = false;
  showHolder();
  touched();
  if (!current?.isWhole?.()) show();
}
onRefused(() => askToken());

function showHolder() {
  outButton.hidden = !hasToken();
  outButton.title = holder() ? `Signed in with ${holder().name}` : '';
}

// Nothing of the data stays on the page, except text that is not saved.
function leaveServer(reason) {
  setToken(null);
  outButton.hidden = true;
  current?.leave?.();
  for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close('left');
  current = currentId = null;
  fill(main);
  askToken(reason);
}

let idle;
function touched() {
  clearTimeout(idle);
  if (hasToken()) {
    idle = setTimeout(() => leaveServer('You were signed out after 30 minutes without a key or a click.'),
      IDLE_MS);
  }
}
for (const type of ['keydown', 'pointerdown']) addEventListener(type, touched, { passive: true });

// ---- Keys -------------------------------------------------------------------

const FIELDS = 'input, textarea, select, [contenteditable="plaintext-only"]';

async function showKeys() {
  const { form } = await import('./dialog.js');
  form({ id: 'keys', title: 'Keys', action: 'Close', cancel: null, submit: () => true,
    body: h('table.keys', {}, h('tbody', {}, KEYS.map(([key, what]) =>
      h('tr', {}, h('th', { scope: 'row' }, h('kbd', {}, key)), h('td', {}, what))))) });
}

let chord = false;
function single(event) {
  const pressed = event.key;
  const wasChord = chord;
  chord = pressed === 'g';
  if (wasChord) {
    const id = Object.keys(PAGES).find((page) => page[0] === pressed);
    if (id && sees(id)) return () => { location.hash = `#/${id}`; };
  }
  if (pressed === '?') return showKeys;
  return current?.keys?.()[pressed] ?? (pressed === '/' && sees('data') ? goToKey : undefined);
}

// The field for a key is on the page Data.
async function goToKey() {
  history.pushState(null, '', '#/data');
  await show();
  current.keys()['/']();
}

document.addEventListener('keydown', (event) => {
  if (event.isComposing || document.querySelector('dialog[open]')) return;
  if ((event.ctrlKey || event.metaKey) && event.key === 's') {
    event.preventDefault();
    current?.save?.();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === 'Escape') {
    current?.back?.();
    return;
  }
  if (event.target.matches(FIELDS)) return;
  const act = single(event);
  if (!act) return;
  event.preventDefault(); // so the key is not typed into a field that it opens
  act();
});

// ---- The server -------------------------------------------------------------

function setHealth(state, text) {
  health.className = `health ${state}`;
  health.textContent = text;
}

async function beat() {
  if (!document.hidden) {
    try {
      await send('GET', '/readyz');
      setHealth('ok', 'ready');
    } catch (error) {
      setHealth('bad', error.status ? 'not ready' : 'no answer');
    }
  }
  setTimeout(beat, HEALTH_MS);
}

addEventListener('unhandledrejection', (event) => {
  const error = event.reason;
  if (error?.name === 'AbortError') event.preventDefault();
  if (!(error instanceof Problem)) return;
  event.preventDefault();
  if (error.status !== 401) say(error.text, true);
});
addEventListener('hashchange', show);
beat();
loadSession().catch((error) => { if (error.status !== 401) throw error; }).then(() => { showHolder(); touched(); show(); });

// The shell: the bar, the pages by the fragment of the address, the keys, and
// whether the server answers.
import { FIELDS, h, fill, hush, say } from './dom.js';
import { icon } from './icons.js';
import { hasToken, onRefused, Problem, send, setToken } from './api.js';
import { holder, loadSession, may, needsToken } from './session.js';
import { open as openData } from './data.js';

document.getElementById('start').remove();

// Each with the scopes of which a token needs one to see it.
const lazy = (load) => async (app) => (await load()).open(app);
const PAGES = {
  data: { name: 'Data', open: openData, scopes: ['list', 'read'] },
  indexes: { name: 'Indexes', open: lazy(() => import('./indexes.js')), scopes: ['read'] },
  rules: { name: 'Rules', open: lazy(() => import('./rules.js')), scopes: ['read'] },
  queues: { name: 'Queues', key: 'u', open: lazy(() => import('./queues.js')), scopes: ['list'] },
  query: { name: 'Query', open: lazy(() => import('./query.js')), scopes: ['list'] },
  watch: { name: 'Watch', open: lazy(() => import('./watch.js')), scopes: ['watch'] },
  server: { name: 'Server', open: lazy(() => import('./server.js')), scopes: ['monitor', 'admin'] },
  access: { name: 'Access', open: lazy(() => import('./access.js')), scopes: null },
};
const sees = (id) => PAGES[id].scopes === null || may(...PAGES[id].scopes);
const HEALTH_MS = 5000;
const IDLE_MS = 30 * 60 * 1000; // without a key or a click the token is forgotten

const KEYS = [['/ or Ctrl K', 'find a key, a value, an index, a page or a command'], ['g d', 'Data; g and the first letter of any page, g u for Queues'],
  ['↑ ↓ Page Home End', 'move in the tree or the list'], ['→ ←', 'open and close in the tree'],
  ['Enter', 'from the tree to the list, from the list into the entry'], ['e', 'edit the entry'],
  ['Ctrl S', 'save'], ['n', 'new'], ['w', 'watch what the list shows'], ['Esc', 'one pane back'], ['?', 'these keys']];

const main = h('main', { id: 'main', tabIndex: -1 });
const health = h('span.health', { role: 'status' });
const outButton = h('button.plain', { type: 'button', hidden: true, 'aria-label': 'Sign out', onclick: () => leaveServer() }, icon('out'));
const themeButton = h('button.plain', { type: 'button', onclick: () => nextTheme() });
const nav = h('nav.pages', { 'aria-label': 'Pages' }, Object.entries(PAGES).map(([id, { name }]) =>
  h('a', { href: `#/${id}`, id: `nav-${id}`, title: name }, icon(id), h('span', {}, name))));
const box = h('input', { id: 'goto', type: 'search', spellcheck: false, autocomplete: 'off', placeholder: 'Find or go to', role: 'combobox',
  'aria-label': 'Find a key, a value, an index, a page or a command', 'aria-expanded': 'false', 'aria-controls': 'found', 'aria-autocomplete': 'list',
  onfocus: () => search().then((one) => one.open()),
  onkeydown: (event) => ({ Enter: () => search().then((one) => one.enter()), Escape: () => leaveBox(event) })[event.key]?.() }); // also before it is loaded
document.body.prepend(
  h('a.skip', { href: '#main', onclick: (event) => { event.preventDefault(); main.focus(); } },
    'Skip to content'),
  h('header.top', {}, h('h1.brand', {}, icon('mark'), h('span', {}, 'Kindex')), nav, h('search.find', {}, icon('query'), box, h('kbd', {}, '/')),
  health, themeButton, outButton), main);

// ---- Light and dark ---------------------------------------------------------

const THEMES = { auto: 'light dark', light: 'light', dark: 'dark' };
const THEME = 'kindex-theme';

function setTheme(name) {
  document.documentElement.style.colorScheme = THEMES[name];
  themeButton.dataset.theme = name;
  themeButton.title = `Colours: ${name === 'auto' ? 'as the system' : name}`;
  themeButton.setAttribute('aria-label', themeButton.title);
  fill(themeButton, icon(name));
}
function nextTheme() {
  const names = Object.keys(THEMES);
  setTheme(names[(names.indexOf(themeButton.dataset.theme) + 1) % names.length]);
  sessionStorage.setItem(THEME, themeButton.dataset.theme);
}
setTheme(Object.hasOwn(THEMES, sessionStorage.getItem(THEME) ?? '') ? sessionStorage.getItem(THEME) : 'auto');

// ---- The box ----------------------------------------------------------------

// Opens an address, also the one that is shown.
function go(hash) {
  if (hash === location.hash) show();
  else location.hash = hash;
}

// The commands that the box offers: [name, icon, run]. Text after the name of a form fills in
// the form: new index users /city.
function commands(text) {
  const pages = Object.entries(PAGES).filter(([id]) => sees(id)).map(([id, { name }]) => [name, id, () => go(`#/${id}`)]);
  const make = [['New entry', 'data', 'write'], ['New index', 'indexes', 'index'], ['New rule', 'rules', 'index'], ['New queue', 'queues', 'index'], ['New access token', 'access', 'admin'], ['Import entries', 'data', 'write']]
    .filter(([, id, scope]) => sees(id) && may(scope))
    .map(([name, id]) => {
      const rest = id !== 'data' && text.toLowerCase().startsWith(`${name.toLowerCase()} `) ? text.slice(name.length).trim() : '';
      return [`${name} ${rest}`.trim(), name.startsWith('Import') ? 'up' : 'plus', () => onPage(id, name.startsWith('Import') ? 'file' : 'n', rest)];
    });
  return [...pages, ...make, ['Switch between light and dark', themeButton.dataset.theme, nextTheme], ['Show all keys', 'keys', showKeys],
    ...(hasToken() ? [['Sign out', 'out', () => leaveServer()]] : [])];
}

// Does on another page what a key does there, with a text for its form.
async function onPage(id, key, text) {
  if (currentId !== id) {
    history.pushState(null, '', `#/${id}`);
    await show();
  }
  current?.keys()[key]?.(text);
}

let searching;
function search() {
  searching ??= import('./search.js').then(({ Search }) => new Search(box, { commands, go }));
  return searching;
}

function leaveBox(event) {
  event.stopPropagation(); // no pane is left
  box.value = '';
  main.focus();
}

// ---- Pages ------------------------------------------------------------------

let current = null;
let currentId = null;
let opening; // the page of currentId, which may still be loading

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
    current = null;
    currentId = id;
    opening = PAGES[id].open(app);
  }
  const page = await opening;
  if (currentId !== id) return;
  if (current !== page) fill(main, (current = page).node);
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
  outButton.title = holder() ? `Sign out ${holder().name}` : 'Sign out';
}

// Nothing of the data stays on the page, except text that is not saved.
function leaveServer(reason) {
  setToken(null);
  sessionStorage.removeItem('kindex-columns'); // has names of prefixes
  hush();
  outButton.hidden = true;
  box.value = '';
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
    const id = Object.keys(PAGES).find((page) => (PAGES[page].key ?? page[0]) === pressed);
    if (id && sees(id)) return () => { location.hash = `#/${id}`; };
  }
  if (pressed === '?') return showKeys;
  return pressed === '/' ? find : current?.keys?.()[pressed];
}

function find() {
  box.focus();
  box.select();
}

document.addEventListener('keydown', (event) => {
  if (event.isComposing || document.querySelector('dialog[open]')) return;
  if ((event.ctrlKey || event.metaKey) && event.key === 's') {
    event.preventDefault();
    current?.save?.();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
    event.preventDefault();
    find();
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
  health.title = `${location.host}: ${text}`;
  fill(health, h('span', {}, text));
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

// The reference: openapi.json as a page. An operation is drawn when it is opened. Its form makes a
// request, which can be sent to this server with the token of the console, and which is also shown
// as a command in curl, TypeScript and Python.
import { h, fill } from './dom.js';
import { get, hasToken, Problem, send, setToken } from './api.js';
import { format, parse, stringify } from './json.js';

const DEPTH_MAX = 5; // levels of a schema that are shown at a time
const SHOWN_MAX = 65536; // characters of an answer
const JSON_TYPE = 'application/json';
const METHODS = ['get', 'put', 'post', 'patch', 'delete'];
const base = new URL('.', location.href).href.slice(0, -1);

let document_;
const resolved = (node) => {
  let found = node;
  while (found?.$ref) found = found.$ref.slice(2).split('/').reduce((at, name) => at[name.replaceAll('~1', '/')], document_);
  return found;
};

// ---- Texts ------------------------------------------------------------------

// Text between backquotes is code. A paragraph of lines that begin with | is a table.
const spans = (text) => text.split('\x60').map((part, i) => (i % 2 ? h('code', {}, part) : part));
function paragraph(text) {
  if (!text.startsWith('|')) return h('p', {}, spans(text));
  const rows = text.split('\n').filter((line) => !/^[|\- ]*$/.test(line));
  return h('table', {}, rows.map((line) => h('tr', {}, line.split('|').slice(1, -1).map((cell) => h('td', {}, spans(cell.trim()))))));
}
const prose = (text) => (text ?? '').split('\n\n').filter(Boolean).map(paragraph);

// ---- Schemas ----------------------------------------------------------------

const nameOf = (schema) => schema.$ref?.split('/').pop();

// A schema in a few words: `string`, `array of Entry`.
function typeOf(schema) {
  if (schema === true || schema === undefined) return 'any';
  if (nameOf(schema)) return nameOf(schema);
  if (schema.const !== undefined) return stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => stringify(value)).join(' or ');
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map(typeOf).join(' or ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items)}`;
  return [schema.type ?? 'any'].flat().join(' or ');
}

const BOUNDS = { minimum: 'at least', maximum: 'at most', minLength: 'length at least', maxLength: 'length at most',
  minItems: 'items at least', maxItems: 'items at most', default: 'default', pattern: 'pattern' };
const bounds = (schema) => Object.entries(BOUNDS).filter(([name]) => schema?.[name] !== undefined)
  .map(([name, text]) => `${text} ${typeof schema[name] === 'string' ? schema[name] : stringify(schema[name])}`).join(', ');

// The members of a schema. A reference is opened on demand.
function inside(schema, depth = 0) {
  const one = resolved(schema);
  if (!one || one === true || depth > DEPTH_MAX) return null;
  const parts = one.oneOf ?? one.anyOf ?? one.allOf;
  const members = Object.entries(one.properties ?? {}).map(([name, member]) =>
    more([h('code', {}, name), h('span.note', {}, typeOf(member) + (one.required?.includes(name) ? ', required' : '')), bounds(resolved(member))], member, depth));
  return [members, parts?.map((part) => more([h('code', {}, typeOf(part)), resolved(part).title], part, depth)),
    one.items ? more(['each item: ', h('span.note', {}, typeOf(one.items))], one.items, depth) : null];
}

// A line of a schema, which opens if there is more to say.
function more(line, schema, depth) {
  const one = resolved(schema);
  const node = h('details', { ontoggle: () => {
    if (node.childElementCount === 1) node.append(...h('div', {}, prose(one.description), inside(one, depth + 1)).childNodes);
  } }, h('summary', {}, line));
  return node;
}

// ---- Requests ---------------------------------------------------------------

const exampleOf = (parameter) => parameter.example ?? Object.values(parameter.examples ?? {})[0]?.value;
const textOf = (value) => (typeof value === 'string' ? value : stringify(value));
const segment = (parameter, text) => (parameter['x-multi-segment'] ? text : encodeURIComponent(text));

// The request that a form has: {method, target, headers, body}.
function requestOf({ method, path, parameters, fields, body, type }) {
  const query = new URLSearchParams();
  const headers = {};
  let target = path;
  for (const [i, parameter] of parameters.entries()) {
    const text = fields[i].value;
    if (parameter.in === 'path') target = target.replace(`{${parameter.name}}`, segment(parameter, text));
    else if (text === '') continue;
    else if (parameter.in === 'query') query.append(parameter.name, text);
    else headers[parameter.name] = text;
  }
  if (body && body.value !== '') headers['Content-Type'] = type.value;
  return { method: method.toUpperCase(), target: target + (query.size ? `?${query}` : ''), headers, body: body?.value || undefined };
}

const TOKEN = 'KINDEX_TOKEN';
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const literal = (text) => stringify(text);

const LANGUAGES = {
  curl({ method, target, headers, body }) {
    const words = [`curl -X ${method} ${shell(base + target)}`];
    for (const [name, value] of Object.entries(headers)) words.push(`-H ${shell(`${name}: ${value}`)}`);
    if (hasToken()) words.push(`-H "Authorization: Bearer $${TOKEN}"`);
    if (body !== undefined) words.push(`--data-binary ${shell(body)}`);
    return words.join(' \\\n  ');
  },
  TypeScript({ method, target, headers, body }) {
    const lines = Object.entries(headers).map(([name, value]) => `    ${literal(name)}: ${literal(value)},`);
    if (hasToken()) lines.push('    Authorization: `Bearer ${process.env.' + TOKEN + '}`,');
    return [`const response = await fetch(${literal(base + target)}, {`, `  method: "${method}",`,
      ...(lines.length ? ['  headers: {', ...lines, '  },'] : []),
      ...(body === undefined ? [] : [`  body: ${literal(body)},`]), '});',
      'if (!response.ok) throw new Error(await response.text());', 'console.log(await response.text());'].join('\n');
  },
  Python({ method, target, headers, body }) {
    const lines = Object.entries(headers).map(([name, value]) => `        ${literal(name)}: ${literal(value)},`);
    if (hasToken()) lines.push(`        "Authorization": "Bearer " + os.environ["${TOKEN}"],`);
    return [hasToken() ? 'import os\nimport urllib.request' : 'import urllib.request', '', 'request = urllib.request.Request(',
      `    ${literal(base + target)},`, `    method="${method}",`,
      ...(lines.length ? ['    headers={', ...lines, '    },'] : []),
      ...(body === undefined ? [] : [`    data=${literal(body)}.encode(),`]), ')',
      'with urllib.request.urlopen(request) as response:', '    print(response.read().decode())'].join('\n');
  },
};
let language = 'curl';

const indented = (value) => format(stringify(value));
function pretty(text) {
  try { parse(text); return format(text); } catch { return text; }
}

// Sends the request and shows its answer as it comes, since a watch does not end.
async function run(request, node, stop) {
  const began = performance.now();
  const say = (status, text, bad) => fill(node, h(bad ? 'p.bad' : 'p', { role: 'status' }, status, h('span.note', {}, ` ${Math.round(performance.now() - began)} ms`)),
    text ? h('pre', { tabIndex: 0 }, text) : null);
  say('Sent.');
  try {
    const response = await send(request.method, request.target, { ...request, signal: stop.signal });
    const status = `${response.status} ${response.statusText} ${response.headers.get('Content-Type') ?? ''}`;
    let text = '';
    if (response.body) {
      for (const reader = response.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        say(status, text.slice(0, SHOWN_MAX));
        if (text.length > SHOWN_MAX) { stop.abort(); return; }
      }
    }
    say(status, pretty(text).slice(0, SHOWN_MAX));
  } catch (error) {
    if (error.name === 'AbortError') { node.append(h('p.note', {}, 'Stopped.')); return; }
    if (!(error instanceof Problem)) throw error;
    say(error.status ? `${error.status} ${error.code ?? ''}` : error.text, error.status ? indented(error.body) : '', true);
  }
}

// ---- Operations -------------------------------------------------------------

function form(operation) {
  const { method, path, parameters, about } = operation;
  const fields = parameters.map((parameter) => h('input', { type: 'text', spellcheck: false, autocomplete: 'off', 'aria-label': parameter.name,
    value: parameter.in === 'path' ? textOf(exampleOf(parameter) ?? '') : '', placeholder: textOf(exampleOf(parameter) ?? '').slice(0, 60),
    oninput: () => draw() }));
  const content = resolved(about.requestBody)?.content;
  const type = content && h('select', { 'aria-label': 'Media type of the body', onchange: () => { suggest(); draw(); } },
    Object.keys(content).map((name) => h('option', { value: name === '*/*' ? 'text/plain' : name }, name)));
  const body = content && h('textarea', { 'aria-label': 'Body', spellcheck: false, oninput: () => draw() });
  const examples = () => Object.values(Object.values(content)[type.selectedIndex].examples ?? {});
  const suggest = () => {
    const value = examples()[0]?.value ?? Object.values(content)[type.selectedIndex].example;
    body.value = value === undefined ? '' : typeof value === 'string' && type.value !== JSON_TYPE ? value : indented(value);
  };
  if (content) suggest();

  const request = () => requestOf({ method, path, parameters, fields, body, type });
  const code = h('pre', { tabIndex: 0 });
  const tabs = h('div.bar', { role: 'tablist', 'aria-label': 'Language' }, Object.keys(LANGUAGES).map((name) =>
    h('button', { type: 'button', role: 'tab', onclick: () => { language = name; draw(); } }, name)));
  function draw() {
    for (const tab of tabs.children) tab.setAttribute('aria-selected', String(tab.textContent === language));
    code.textContent = LANGUAGES[language](request());
  }

  const answer = h('div');
  let stop;
  const stopButton = h('button', { type: 'button', hidden: true, onclick: () => stop.abort() }, 'Stop');
  const sendButton = h('button.primary', { type: 'button', onclick: async () => {
    stop = new AbortController();
    sendButton.disabled = true;
    stopButton.hidden = false;
    await run(request(), answer, stop);
    sendButton.disabled = false;
    stopButton.hidden = true;
  } }, 'Send');
  draw();
  return h('div', {},
    parameters.length ? [h('h3', {}, 'Parameters'), h('table', {}, parameters.map((parameter, i) => h('tr', {},
      h('th', { scope: 'row' }, h('code', {}, parameter.name), h('div.note', {}, `${parameter.in}${parameter.required ? ', required' : ''}`),
        h('div.note', {}, [typeOf(parameter.schema), bounds(resolved(parameter.schema))].filter(Boolean).join(', '))),
      h('td', {}, fields[i]), h('td', {}, prose(parameter.description)))))] : null,
    content ? [h('h3', {}, 'Body'), prose(resolved(about.requestBody).description), h('div.bar', {}, type), body,
      Object.entries(content).map(([name, { schema }]) => (schema ? more([h('code', {}, name), h('span.note', {}, typeOf(schema))], schema, 0) : null))] : null,
    h('h3', {}, 'This request'), tabs, code,
    h('div.bar', {}, sendButton, stopButton, h('span.note', {}, method === 'get' ? 'to this server' : 'to this server: it may change what is stored')), answer);
}

function responses(about) {
  return [h('h3', {}, 'Answers'), Object.entries(about.responses).map(([status, given]) => {
    const response = resolved(given);
    const node = h('details', { ontoggle: () => {
      if (node.childElementCount > 1) return;
      node.append(...h('div', {},
        Object.entries(response.headers ?? {}).map(([name, header]) => h('p', {}, h('code', {}, name), ' ', spans(resolved(header).description ?? ''))),
        Object.entries(response.content ?? {}).map(([type, { schema, examples }]) => [
          schema ? more([h('code', {}, type), h('span.note', {}, typeOf(schema))], schema, 0) : null,
          Object.values(examples ?? {}).map(({ summary, value }) => [h('p.note', {}, summary),
            h('pre', { tabIndex: 0 }, typeof value === 'string' ? value : indented(value))])])).childNodes);
    } }, h('summary', {}, h('code', {}, status), h('span', {}, spans(response.description ?? ''))));
    return node;
  })];
}

function draw(operation) {
  const { about } = operation;
  const samples = about['x-codeSamples'] ?? [];
  return [prose(about.description), form(operation), responses(about),
    samples.length ? [h('h3', {}, 'Examples'), samples.map(({ label, source }) => [h('p.note', {}, label.replaceAll('-', ' ')), h('pre', { tabIndex: 0 }, source)])] : null];
}

function operationsOf({ paths }) {
  return Object.entries(paths).flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => {
    const about = item[method];
    const parameters = [...(item.parameters ?? []), ...(about.parameters ?? [])].map(resolved);
    const operation = { id: about.operationId, method, path, about, parameters, tag: about.tags[0] };
    operation.words = [method, path, about.operationId, about.summary, about.description, ...parameters.map(({ name }) => name)].join(' ').toLowerCase();
    operation.link = h('a', { href: `#${operation.id}`, title: `${method.toUpperCase()} ${path}` }, about.summary);
    operation.node = h('details.operation', { id: operation.id, ontoggle: () => {
      if (operation.node.open && operation.node.childElementCount === 1) operation.node.append(...h('div', {}, draw(operation)).childNodes);
    } }, h('summary', {}, h(`span.method${method === 'get' ? '' : '.writes'}`, {}, method.toUpperCase()), h('span.path', {}, path), h('span.note', {}, about.summary)));
    return operation;
  }));
}

// ---- The page ---------------------------------------------------------------

function token() {
  const field = h('input', { type: 'password', name: 'token', autocomplete: 'off', 'aria-label': 'Access token', placeholder: 'Access token' });
  const state = h('span.note', { role: 'status' });
  const show = () => { state.textContent = hasToken() ? 'Requests have your token.' : 'Requests have no token.'; };
  show();
  return [state, field, h('button', { type: 'button', onclick: () => {
    if (field.value !== '' && !setToken(field.value.trim(), true)) { state.textContent = 'A token is printable ASCII without spaces.'; return; }
    if (field.value === '') setToken(null);
    field.value = '';
    show();
  } }, 'Use')];
}

async function start() {
  document_ = await get('/openapi.json');
  const operations = operationsOf(document_);
  const groups = document_.tags.map(({ name, description }) => {
    const own = operations.filter(({ tag }) => tag === name);
    return { own, menu: h('div', {}, h('h2', {}, name), own.map(({ link }) => link)),
      part: h('section', {}, h('h2', {}, name), prose(description), own.map(({ node }) => node)) };
  }).filter(({ own }) => own.length > 0);
  const none = h('p', { hidden: true, role: 'status' }, 'No operation has all of these words.');
  const box = h('input', { id: 'find', type: 'search', 'aria-label': 'Find an operation', placeholder: 'Find an operation  /', spellcheck: false, oninput: () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { own, menu, part } of groups) {
      for (const { words: text, node, link } of own) node.hidden = link.hidden = !words.every((word) => text.includes(word));
      menu.hidden = part.hidden = own.every(({ node }) => node.hidden);
    }
    none.hidden = groups.some(({ part }) => !part.hidden);
    about.hidden = words.length > 0;
  } });
  const about = h('div', {}, prose(document_.info.description));
  const open = () => {
    const node = document.getElementById(location.hash.slice(1));
    if (!node?.matches('details.operation')) return;
    node.open = true;
    node.scrollIntoView();
  };
  document.getElementById('start').remove();
  document.body.prepend(h('header', {}, h('h1', {}, `Kindex ${document_.info.version}`), box, h('span.grow'), token(),
    h('a', { href: 'console' }, 'Console'), h('a', { href: 'openapi.yaml' }, 'openapi.yaml')),
  h('nav', { 'aria-label': 'Operations' }, groups.map(({ menu }) => menu)),
  h('main', { tabIndex: -1 }, about, none, groups.map(({ part }) => part)));
  addEventListener('hashchange', open);
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target.matches('input, textarea, select')) return;
    event.preventDefault();
    box.focus();
  });
  open();
}

start().catch((error) => { document.getElementById('start').textContent = `The reference did not start: ${error.message}`; throw error; });

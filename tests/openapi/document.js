// openapi.json, which the build makes from openapi.yaml, as the other scripts see
// it: its operations, its references, and its commands.
'use strict';

const fs = require('node:fs');

const METHODS = ['get', 'put', 'patch', 'post', 'delete'];

function load(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

function resolve(doc, node) {
  while (node && node.$ref) {
    node = node.$ref
      .slice(2)
      .split('/')
      .map((step) => step.replace(/~1/g, '/').replace(/~0/g, '~'))
      .reduce((at, step) => at[step], doc);
  }
  return node;
}

// All nodes of a tree, from the top, as (node, pointer).
function walk(node, visit, pointer = '') {
  if (node === null || typeof node !== 'object') return;
  visit(node, pointer);
  for (const [name, child] of Object.entries(node)) {
    walk(child, visit, `${pointer}/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`);
  }
}

// A parameter marked x-multi-segment stands for the rest of the path, which
// the route table writes as "...".
function patternOf(doc, path, operation) {
  const rest = (operation.parameters || [])
    .map((parameter) => resolve(doc, parameter))
    .find((parameter) => parameter['x-multi-segment']);
  return rest ? path.replace(`{${rest.name}}`, '...') : path;
}

// An operation marked x-alias-of is the other address of an operation whose
// path ends in "...": the same without the rest, where ?key= takes its place.
function operations(doc) {
  const list = [];
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      list.push({
        method: method.toUpperCase(),
        path,
        pattern: patternOf(doc, path, operation),
        id: operation.operationId,
        aliasOf: operation['x-alias-of'],
        operation,
      });
    }
  }
  return list;
}

function matches(pattern, segments) {
  const parts = pattern.slice(1).split('/');
  const open = parts[parts.length - 1] === '...';
  if (open ? segments.length < parts.length : segments.length !== parts.length) {
    return false;
  }
  return parts.every(
    (part, i) => part === '...' || /^\{.*\}$/.test(part) || part === segments[i],
  );
}

// The operation that answers a request, undefined without one. Literal
// paths win over parameters. HEAD is answered by GET.
function find(list, method, target) {
  const path = target.split('?')[0];
  const segments = path.slice(1).split('/');
  const wanted = method === 'HEAD' ? 'GET' : method;
  const found = list.filter(
    (entry) => entry.method === wanted && matches(entry.pattern, segments),
  );
  return found.find((entry) => entry.path === path) || found[0];
}

// The words of a shell command without expansions: quotes and line ends.
function words(command) {
  const found = [];
  const token = /\\\n|\s+|'([^']*)'|\\(.)|([^\s'\\]+)/gy;
  let word = null;
  for (const [text, quoted, escaped, plain] of command.matchAll(token)) {
    const part = quoted ?? escaped ?? plain;
    if (part !== undefined) {
      word = (word ?? '') + part;
    } else if (word !== null && text !== '\\\n') {
      found.push(word);
      word = null;
    }
  }
  return word === null ? found : [...found, word];
}

// What a curl command of the document sends.
function readCommand(source) {
  const request = { method: 'GET', headers: {}, body: undefined, target: '' };
  const [program, ...rest] = words(source);
  if (program !== 'curl') throw new Error(`not a curl command: ${source}`);
  while (rest.length > 0) {
    const word = rest.shift();
    if (word === '-X') request.method = rest.shift();
    else if (word === '-d') request.body = rest.shift();
    else if (word === '-H') {
      const [, name, value] = /^([^:]+): (.*)$/s.exec(rest.shift());
      request.headers[name] = value;
    } else if (word.startsWith('http://')) {
      request.target = word.replace(/^http:\/\/[^/]*/, '');
    } else throw new Error(`unexpected word ${word} in: ${source}`);
  }
  return request;
}

module.exports = { load, resolve, walk, operations, find, words, readCommand };

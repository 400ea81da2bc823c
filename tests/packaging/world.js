// The files of deploy/ and the program, read for manifests.js.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const yaml = require('../openapi/node_modules/js-yaml');

const top = path.join(__dirname, '../..');
const program = path.join(path.resolve(top, process.env.BUILD || 'build'), 'kindex');
const read = (file) => fs.readFileSync(path.join(top, file), 'utf8');

// Runs `kindex ARGS` with these variables and nothing else.
function kindex(args, env = {}) {
  return execFileSync(program, args, { env, encoding: 'utf8', stdio: 'pipe' });
}

// Name and effective value of each setting.
function settings(args, env) {
  const lines = kindex([...args, '--print-config'], env).trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.trim().split(/ +/).slice(0, 2)));
}

// The last stage of the Dockerfile: instructions by name, in order.
function dockerfile() {
  const lines = read('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => /^([A-Z]+) (.*)$/.exec(line))
    .filter(Boolean);
  const from = lines.findLastIndex(([, name]) => name === 'FROM');
  const image = {};
  for (const [, name, rest] of lines.slice(from)) (image[name] ||= []).push(rest);
  return image;
}

function environment(image) {
  const words = (image.ENV || []).join(' ').match(/\S+=\S+/g) || [];
  return Object.fromEntries(words.map((word) => word.split(/=(.*)/s).slice(0, 2)));
}

function load() {
  const image = dockerfile();
  return {
    image,
    env: environment(image),
    command: JSON.parse(image.CMD[0]),
    compose: yaml.load(read('deploy/compose.yaml')),
    kubernetes: yaml.loadAll(read('deploy/kubernetes/kindex.yaml')),
    nodes: {
      compose: yaml.load(read('deploy/compose-nodes.yaml')),
      kubernetes: yaml.loadAll(read('deploy/kubernetes/nodes.yaml')),
    },
    routes: kindex(['serve', '--print-routes']).trim().split('\n').map((line) => line.split(/\s+/)[1]),
    options: Object.keys(settings(['serve'], {})),
    version: kindex(['--version']).trim().split(' ')[1],
  };
}

// The variables of a process that are named like settings which do not exist.
function unknownSettings(world, [name, environment]) {
  return Object.keys(environment)
    .filter((variable) => variable.startsWith('KINDEX_'))
    .filter((variable) => !world.options.includes(variable.slice(7).toLowerCase().replaceAll('_', '-')))
    .map((variable) => `${name}: ${variable} is no setting`);
}

module.exports = { load, settings, unknownSettings, kindex };

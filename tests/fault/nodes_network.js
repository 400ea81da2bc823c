// A network for nodes.js: each node has a namespace, and one cable to that of the
// test, which it is cut off by. The test runs in a namespace as well (nodes_cut in
// run.sh), so that nothing of it is left, nor seen from outside.
'use strict';
const { execFileSync } = require('node:child_process');

const PORT = 4512;
const names = [];

function ip(...words) {
  execFileSync('ip', words);
}

class Cable {
  constructor(number) {
    this.namespace = `kindex-test-${process.pid}-${number}`;
    this.device = `kindex${number}`;
    this.gateway = `10.99.${number}.1`;
    this.address = `10.99.${number}.2`;
    const within = ['-n', this.namespace];
    ip('netns', 'add', this.namespace);
    names.push(this.namespace);
    ip('link', 'add', this.device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns',
      this.namespace);
    ip('address', 'add', `${this.gateway}/30`, 'dev', this.device);
    ip('link', 'set', this.device, 'up');
    ip(...within, 'address', 'add', `${this.address}/30`, 'dev', 'eth0');
    ip(...within, 'link', 'set', 'lo', 'up');
    ip(...within, 'link', 'set', 'eth0', 'up');
    ip(...within, 'route', 'add', 'default', 'via', this.gateway);
  }

  get listen() {
    return `${this.address}:${PORT}`;
  }

  // What starts a program there: {program, words}.
  within(program, words) {
    return { program: 'ip', words: ['netns', 'exec', this.namespace, program, ...words] };
  }

  cut() {
    ip('link', 'set', this.device, 'down');
  }

  join() {
    ip('link', 'set', this.device, 'up');
  }
}

process.on('exit', () => names.forEach((name) => ip('netns', 'delete', name)));

module.exports = { Cable };

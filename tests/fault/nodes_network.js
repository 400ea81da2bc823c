// A network for nodes.js: each node has a namespace, and one cable to that of the
// test, which it is cut off by. The test runs in a namespace as well (nodes_cut in
// run.sh), so that nothing of it is left, nor seen from outside. A process that sleeps
// holds each namespace, since names (`ip netns`) would need mounts, which a chroot and
// some containers do not allow.
'use strict';
const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');

const PORT = 4512;
const holders = [];

function ip(...words) {
  execFileSync('ip', words);
}

class Cable {
  // Resolves to the cable when the namespace at its end is there.
  static async make(number) {
    const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo made && exec sleep infinity'],
      { stdio: ['ignore', 'pipe', 'inherit'] });
    holders.push(holder);
    await once(holder.stdout, 'data');
    return new Cable(number, holder.pid);
  }

  constructor(number, pid) {
    this.entry = [`--net=/proc/${pid}/ns/net`];
    this.device = `kindex${number}`;
    this.gateway = `10.99.${number}.1`;
    this.address = `10.99.${number}.2`;
    const inside = (...words) => execFileSync('nsenter', [...this.entry, 'ip', ...words]);
    ip('link', 'add', this.device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns',
      String(pid));
    ip('address', 'add', `${this.gateway}/30`, 'dev', this.device);
    ip('link', 'set', this.device, 'up');
    inside('address', 'add', `${this.address}/30`, 'dev', 'eth0');
    inside('link', 'set', 'lo', 'up');
    inside('link', 'set', 'eth0', 'up');
    inside('route', 'add', 'default', 'via', this.gateway);
  }

  get listen() {
    return `${this.address}:${PORT}`;
  }

  // What starts a program there: {program, words}.
  within(program, words) {
    return { program: 'nsenter', words: [...this.entry, program, ...words] };
  }

  cut() {
    ip('link', 'set', this.device, 'down');
  }

  join() {
    ip('link', 'set', this.device, 'up');
  }
}

process.on('exit', () => holders.forEach((holder) => holder.kill('SIGKILL')));

module.exports = { Cable };

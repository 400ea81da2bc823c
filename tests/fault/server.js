// A real server in a separate process, on a free port of the loopback, with
// a directory that goes away with it, and JSON requests to it.
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');

const LOG_SHOWN_BYTES = 4096;
const LOOK_MS = 5;
const ANSWER_MS = 120000;
const LOAD_COMMIT = 1000;
const all = new Set();

class Server {
  // power: what cuts it when the server is killed (power.js), or undefined.
  constructor(program, settings = [], power = undefined) {
    this.directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-fault-'));
    this.log = path.join(this.directory, 'log');
    this.portFile = path.join(this.directory, 'port');
    this.program = program;
    this.environment = {}; // more variables for the next launch
    this.power = power;
    this.power?.plug(path.join(this.directory, 'data'));
    this.settings = ['serve', '--data', path.join(this.directory, 'data'),
      '--listen', '127.0.0.1:0', '--port-file', this.portFile,
      '--disk-floor', '0', ...settings];
    all.add(this);
  }

  launch() {
    fs.rmSync(this.portFile, { force: true });
    this.agent = new http.Agent({ keepAlive: true });
    const log = fs.openSync(this.log, 'a');
    this.child = spawn(this.program, this.settings,
      { stdio: ['ignore', 'ignore', log],
        env: { ...process.env, ...this.environment,
          ...this.power?.environment } });
    fs.closeSync(log);
    this.running = true;
    this.ended = new Promise((resolve) => {
      this.child.once('error', resolve);
      this.child.once('exit', resolve);
    }).then(() => { this.running = false; });
  }

  // Resolves when the server answers; rejects when it ends instead.
  async start() {
    this.launch();
    while (!await this.ready()) {
      if (!this.running) throw new Error('the server ended at its start');
      await pause(LOOK_MS);
    }
  }

  async ready() {
    try {
      this.port = Number(fs.readFileSync(this.portFile, 'utf8'));
      return this.port > 0 &&
        (await this.request('GET', '/readyz')).status === 200;
    } catch {
      return false;
    }
  }

  // Resolves to the exit code, or to null after a signal that it did not catch.
  async kill(signal) {
    this.child.kill(signal);
    await this.ended;
    this.agent.destroy();
    if (signal === 'SIGKILL') this.power?.cut();
    return this.child.exitCode;
  }

  // Ends the server if it still runs, and removes its directory.
  destroy() {
    if (this.running) this.child.kill('SIGKILL');
    fs.rmSync(this.directory, { recursive: true, force: true });
    all.delete(this);
  }

  // The end of what the server has said.
  lastWords() {
    return fs.readFileSync(this.log, 'utf8').slice(-LOG_SHOWN_BYTES);
  }

  rss() {
    const status = fs.readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) * 1024;
  }

  // Resolves to the reply when its head is there; its body is read from it.
  open(method, target, { text, headers = {}, agent = this.agent,
    timeout = undefined } = {}) {
    const own = text === undefined ? headers : { ...headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text) };
    const options = { host: '127.0.0.1', port: this.port, agent, method,
      path: target, headers: own, timeout };
    return new Promise((resolve, reject) => {
      http.request(options, resolve).on('error', reject)
        .on('timeout', () => this.lost(`${method} ${target}`)).end(text);
    });
  }

  // A broken connection may be what a test wants; silence never is.
  lost(request) {
    console.log(`no answer to ${request}\n${this.lastWords()}`);
    console.log('0 passed, 1 failed');
    process.exit(1);
  }

  // Resolves to {status, headers, json, text}; rejects when the connection
  // breaks.
  async request(method, target, body, headers = {}) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const reply =
      await this.open(method, target, { text, headers, timeout: ANSWER_MS });
    const chunks = [];
    for await (const chunk of reply) chunks.push(chunk);
    const whole = Buffer.concat(chunks).toString();
    const isJson = /\bjson$/.test(reply.headers['content-type'] ?? '');
    return { status: reply.statusCode, headers: reply.headers, text: whole,
      json: isJson && whole !== '' ? JSON.parse(whole) : null };
  }

  // Sets so many entries, in commits of a thousand; entryOf(n) is {key, value}.
  async load(count, entryOf) {
    for (let n = 0; n < count; n += LOAD_COMMIT) {
      const mutations = Array.from({ length: LOAD_COMMIT },
        (_, i) => ({ type: 'set', ...entryOf(n + i) }));
      const reply = await this.request('POST', '/atomic', { mutations });
      if (reply.status !== 200) throw new Error(`loading: ${reply.text}`);
    }
  }

  // All entries with a prefix (a JSON key), whole.
  list(prefix) {
    return entriesUnder((...words) => this.request(...words), prefix);
  }
}

// The same by any way to send a request, which resolves to {status, json, text}.
async function entriesUnder(request, prefix) {
  const entries = [];
  let cursor = '';
  do {
    const reply = await request('GET', '/list?limit=1000&prefix=' +
      encodeURIComponent(JSON.stringify(prefix)) + cursor);
    if (reply.status !== 200) throw new Error(reply.text);
    entries.push(...reply.json.entries);
    cursor = reply.json.cursor &&
      '&cursor=' + encodeURIComponent(reply.json.cursor);
  } while (cursor);
  return entries;
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// However the test ends, nothing is left.
process.on('exit', () => all.forEach((server) => server.destroy()));
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => process.exit(1));

module.exports = { Server, entriesUnder, pause };

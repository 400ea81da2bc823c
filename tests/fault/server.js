// A real server in a process of its own, on a free port of the loopback, and
// JSON requests to it.
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

class Server {
  constructor(program, directory) {
    this.program = program;
    this.data = path.join(directory, 'data');
    this.portFile = path.join(directory, 'port');
    this.agent = null;
  }

  // Resolves when the server answers; rejects when it ends instead.
  async start() {
    fs.rmSync(this.portFile, { force: true });
    this.agent = new http.Agent({ keepAlive: true });
    this.child = spawn(this.program, ['serve', '--data', this.data,
      '--listen', '127.0.0.1:0', '--port-file', this.portFile],
    { stdio: ['ignore', 'ignore', 'inherit'] });
    this.ended = new Promise((resolve) => this.child.once('exit', resolve));
    let running = true;
    this.ended.then(() => { running = false; });
    for (;;) {
      if (!running) throw new Error('the server ended at its start');
      try {
        this.port = Number(fs.readFileSync(this.portFile, 'utf8'));
        if (this.port > 0 &&
            (await this.request('GET', '/readyz')).status === 200) return;
      } catch { /* not there yet */ }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async kill(signal) {
    this.child.kill(signal);
    await this.ended;
    this.agent.destroy();
  }

  // Resolves to {status, json}; rejects when the connection breaks.
  request(method, target, body) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const options = { host: '127.0.0.1', port: this.port, agent: this.agent,
      method, path: target,
      headers: text === undefined ? {} :
        { 'content-type': 'application/json',
          'content-length': Buffer.byteLength(text) } };
    return new Promise((resolve, reject) => {
      const request = http.request(options, (reply) => {
        const chunks = [];
        reply.on('data', (chunk) => chunks.push(chunk));
        reply.on('error', reject);
        reply.on('aborted', () => reject(new Error('aborted')));
        reply.on('end', () => {
          const all = Buffer.concat(chunks).toString();
          const lines = reply.headers['content-type'] === 'application/x-ndjson';
          resolve({ status: reply.statusCode,
            json: all === '' ? null : lines ? null : parse(all), text: all });
        });
      });
      request.on('error', reject);
      request.end(text);
    });
  }

  // All entries with a prefix (a JSON key), whole.
  async list(prefix) {
    const entries = [];
    let cursor = '';
    do {
      const reply = await this.request('GET', '/list?limit=1000&prefix=' +
        encodeURIComponent(JSON.stringify(prefix)) + cursor);
      if (reply.status !== 200) throw new Error(reply.text);
      entries.push(...reply.json.entries);
      cursor = reply.json.cursor &&
        '&cursor=' + encodeURIComponent(reply.json.cursor);
    } while (cursor);
    return entries;
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

module.exports = { Server };

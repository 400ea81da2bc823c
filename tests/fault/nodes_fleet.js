// Nodes in front of one database, each at an address that stays the same when its
// process begins again, and requests to them.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const { Server, pause } = require('./server.js');

// Ends what will never come, far beyond what a slow machine takes, and before the patience
// of run.sh does. Without the fence nodes may never begin again, which is a finding.
const LONGEST_MS = process.env.KX_NODES_UNFENCED === '1' ? 60000 : 300000;
const LOOK_MS = 20;
const LOG_SHOWN = 1500;

function freePort() {
  return new Promise((resolve) => {
    const listener = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}

// Resolves to {status, headers, text, json}; waits for as long as the connection is
// there, and rejects when it breaks.
function ask(origin, method, target, body, headers = {}) {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    http.request(new URL(target, origin), { method, agent: false,
      headers: { ...type, ...headers } }, async (reply) => {
      try {
        const chunks = [];
        for await (const chunk of reply) chunks.push(chunk);
        const text = Buffer.concat(chunks).toString();
        const isJson = /\bjson$/.test(reply.headers['content-type'] ?? '');
        resolve({ status: reply.statusCode, headers: reply.headers, text,
          json: isJson ? JSON.parse(text) : null });
      } catch (error) {
        reject(error);
      }
    }).on('error', reject).end(body && JSON.stringify(body));
  });
}

async function soon(what, holds) {
  const until = Date.now() + LONGEST_MS;
  while (!await holds()) {
    if (Date.now() > until) throw new Error(`not in ${LONGEST_MS / 1000} s: ${what}`);
    await pause(LOOK_MS);
  }
}

class FleetNode extends Server {
  constructor(program, name, listen, engine, options) {
    super(program, ['--engine', engine, '--node', name, '--listen', listen,
      '--advertise', `http://${listen}`, ...options]);
    this.name = name;
    this.origin = `http://${listen}`;
  }

  // On a free port.
  static async make(program, name, engine, ...options) {
    return new FleetNode(program, name, `127.0.0.1:${await freePort()}`, engine, options);
  }

  ask(method, target, body, headers) {
    return ask(this.origin, method, target, body, headers);
  }

  // The reply of the node that answers, here or where this one points to.
  async follow(method, target, body, headers) {
    const first = await this.ask(method, target, body, headers);
    if (first.status !== 307) return first;
    return ask(new URL(first.headers.location).origin, method, target, body, headers);
  }

  async isActive() {
    const reply = await this.ask('GET', '/metrics').catch(() => null);
    return reply !== null && /^kindex_node_active 1$/m.test(reply.text);
  }

  // Waits until it answers that it is ready, as active node or as standby. If it ends
  // because the database does not answer, it begins again, as its supervisor would.
  settled() {
    return soon(`${this.name} is ready`, async () => {
      if (!this.running) {
        if (![0, 1].includes(this.child.exitCode))
          throw new Error(`${this.name} ended: ${this.child.exitCode ?? this.child.signalCode}`);
        this.launch();
      }
      return (await this.ask('GET', '/readyz').catch(() => null))?.status === 200;
    });
  }

  // What it has said last, but for requests that were slow.
  shownLog() {
    const text = fs.existsSync(this.log) ? fs.readFileSync(this.log, 'utf8') : '';
    return `${this.name}: ${text.replace(/.*event=slow-request.*\n/g, '').slice(-LOG_SHOWN)}`;
  }
}

// Waits until a node is active; `meanwhile` is called before each look.
async function activeOf(nodes, meanwhile = () => {}) {
  let found;
  await soon('a node is active', async () => {
    meanwhile();
    for (const node of nodes)
      if (node.running && !node.frozen && await node.isActive()) found = node;
    return found !== undefined;
  });
  return found;
}

// psql in the database of an address of tests/lib/postgres.sh: the output of one query,
// or of a file.
function psql(engine, ...words) {
  return execFileSync('psql', ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align',
    '--set=ON_ERROR_STOP=1', `--dbname=${engine}`, ...words], { encoding: 'utf8' }).trim();
}

// How often a node has become active in this database. Only a connection that is lost
// while a batch is sent raises it as well.
function epochOf(engine) {
  return Number(psql(engine, '--command=SELECT epoch FROM kindex.lease'));
}

module.exports = { FleetNode, activeOf, epochOf, freePort, psql, soon };

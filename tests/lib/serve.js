// A server for one script: on a free port, stopped at the end.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

async function started(server, portFile) {
  let log = '';
  server.stderr.on('data', (text) => { log += text; });
  for (let tries = 0; tries < 20000 && server.exitCode === null; tries++) {
    const port = fs.existsSync(portFile)
      ? fs.readFileSync(portFile, 'utf8').trim() : '';
    if (port !== '') return `http://127.0.0.1:${port}`;
    await new Promise((resolve) => { setTimeout(resolve, 10); });
  }
  throw new Error(`the server did not start: ${log}`);
}

// Resolves to what `use`, which gets the server's address, resolves to.
async function withServer(program, use, options = []) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-'));
  const portFile = path.join(directory, 'port');
  const server = spawn(program, ['serve', '--data', `${directory}/data`,
    '--listen', '127.0.0.1:0', '--port-file', portFile, ...options],
  { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => { server.on('exit', resolve); });
  try {
    return await use(await started(server, portFile));
  } finally {
    server.kill('SIGTERM');
    await ended;
    fs.rmSync(directory, { recursive: true });
  }
}

module.exports = { withServer };

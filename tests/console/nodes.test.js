// Two nodes in front of one database: what the page Server shows of them.
'use strict';

const assert = require('node:assert');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { after, test } = require('node:test');
const { accessible, clientOf, finish, fits, launch, openPage, runs } = require('./lib.js');

after(finish);

// A PostgreSQL for this test, which ends with the pipe: the address of a database.
async function database(directory) {
  const shell = spawn('bash', ['-c', `. ../lib/postgres.sh && postgres_start "$0/pg" && postgres_database store &&
    echo "$found" && { read -r _; postgres_stop; }`, directory], { cwd: __dirname, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => { shell.on('exit', resolve); });
  const [address] = await Promise.race([readline.createInterface(shell.stdout)[Symbol.asyncIterator]().next()
    .then(({ value }) => [value]), ended.then((code) => assert.fail(`PostgreSQL did not start: ${code}`))]);
  return { address, end: () => { shell.stdin.end('\n'); return ended; } };
}

test('the nodes, with their roles, on a wide page and on a phone', async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kindex-'));
  const { address, end } = await database(directory);
  const nodes = [];
  try {
    for (const name of ['one', 'two']) {
      nodes.push(await runs(['--engine', address, '--node', name], path.join(directory, name)));
    }
    const client = clientOf(nodes[0].base);
    for (let tries = 0; tries < 2400; tries++) { // each node writes of itself, and reads the others
      if ((await (await client('GET', '/cluster')).json()).nodes.length === 2) break;
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
    for (const size of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
      const context = await (await launch()).newContext({ viewport: size });
      const page = await openPage(context, `${nodes[0].base}/console#/server`);
      await page.locator('.nodes tr').filter({ hasText: 'one' }).filter({ hasText: 'active' }).waitFor();
      await page.locator('.nodes tr').filter({ hasText: 'two' }).filter({ hasText: 'standby' }).waitFor();
      await accessible(page, context);
      await fits(page);
      await page.fine();
      await context.close();
    }
  } finally {
    for (const node of nodes) await node.end('SIGTERM');
    await end();
    fs.rmSync(directory, { recursive: true });
  }
});

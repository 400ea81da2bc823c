// The database of nodes.js: a primary and its standby, by deploy/postgres.sh. The
// primary is killed and started again, or its standby takes its place and gets a new
// standby; also while the primary is still there, and both accept connections.
'use strict';
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { pause } = require('./server.js');

const SCRIPT = path.join(__dirname, '../../deploy/postgres.sh');
const ATTEMPTS_MAX = 50; // to start: the processes of a killed server take a moment to end
const RETRY_MS = 100;
const HELD_MS = 1000;    // for which the standby gets nothing
const SPLIT_MS = 3000;   // with two primaries: longer than a lease
const run = promisify(execFile);

class Databases {
  // primary, standby: directories of deploy/postgres.sh. settings: for both.
  constructor(primary, standby, settings, asynchronous) {
    Object.assign(this, { primary, standby, settings, asynchronous });
  }

  shell(...words) {
    return run('bash', ['-c', `. "${SCRIPT}"; "$@"`, 'bash', ...words]);
  }

  async query(directory, sql) {
    const { stdout } = await run('psql', ['--no-psqlrc', '--quiet', '--tuples-only',
      '--no-align', `--host=${directory}`, '--username=kindex', '--dbname=nodes',
      `--command=${sql}`]);
    return stdout.trim();
  }

  kill(directory) {
    const pid = fs.readFileSync(path.join(directory, 'data/postmaster.pid'), 'utf8');
    process.kill(parseInt(pid), 'SIGKILL');
  }

  async begin(directory) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.shell('postgres_begin', directory, ...this.settings);
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw new Error(error.stdout);
        await pause(RETRY_MS);
      }
    }
  }

  async restart() {
    this.kill(this.primary);
    await this.begin(this.primary);
  }

  // The sender of the primary is stopped; its process has to be killed with it.
  async hold() {
    const pid = Number(await this.query(this.primary, 'SELECT pid FROM pg_stat_replication'));
    process.kill(pid, 'SIGSTOP');
    await pause(HELD_MS);
    return pid;
  }

  async promote() {
    const held = this.asynchronous ? await this.hold() : undefined;
    this.kill(this.primary);
    await this.shell('postgres_promote', this.standby);
    await this.replace(held);
  }

  async split() {
    const held = await this.hold();
    await this.shell('postgres_promote', this.standby);
    await pause(SPLIT_MS);
    this.kill(this.primary);
    await this.replace(held);
  }

  // The standby that was promoted is the primary, and the other one its standby.
  async replace(held) {
    if (held !== undefined) process.kill(held, 'SIGKILL');
    [this.primary, this.standby] = [this.standby, this.primary];
    fs.rmSync(path.join(this.standby, 'data'), { recursive: true });
    await this.shell('postgres_copy', this.primary, this.standby);
    await this.begin(this.standby);
  }
}

module.exports = { Databases };

// The database of nodes.js: a primary and its standby, by deploy/postgres.sh. The
// primary is killed and started again, or its standby takes its place and gets a new
// standby; also while the primary is still there, and both accept connections.
'use strict';
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { soon } = require('./nodes_fleet.js');
const { pause } = require('./server.js');

const SCRIPT = path.join(__dirname, '../../deploy/postgres.sh');
const HELD_MS = 1000;    // for which the standby gets nothing
const SPLIT_MS = 3000;   // with two primaries: longer than a lease
const run = promisify(execFile);

// The parent of a process, or undefined if there is no such process.
function parentOf(pid) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

function childrenOf(pid) {
  return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    .map(Number).filter((one) => parentOf(one) === pid);
}

class Databases {
  // primary, standby: directories of deploy/postgres.sh. settings: for both.
  constructor(primary, standby, settings, asynchronous) {
    Object.assign(this, { primary, standby, settings, asynchronous });
    this.spare = path.join(path.dirname(primary), 'c');
    this.killed = [];
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

  // The postmaster alone: its processes notice by themselves that it is gone.
  kill(directory) {
    const pid = parseInt(fs.readFileSync(path.join(directory, 'data/postmaster.pid'), 'utf8'));
    this.killed = [pid, ...childrenOf(pid)];
    process.kill(pid, 'SIGKILL');
  }

  // Until the last process of the killed server has ended, it may still write files of its
  // directory, and no other server can start there.
  killedEnd() {
    return soon('the processes of the killed server have ended',
      () => this.killed.every((pid) => parentOf(pid) === undefined));
  }

  async begin(directory) {
    try {
      await this.shell('postgres_begin', directory, ...this.settings);
    } catch (error) {
      throw new Error(error.stdout);
    }
  }

  async restart() {
    this.kill(this.primary);
    await this.killedEnd();
    await this.begin(this.primary);
  }

  // The sender of the primary is stopped; its process has to be killed with it.
  async hold() {
    let pid;
    await soon('a standby is connected', async () => {
      pid = Number(await this.query(this.primary, 'SELECT pid FROM pg_stat_replication'));
      return pid > 0;
    });
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

  // The standby takes the place of a primary that lives on, whose commits wait for the
  // standby that it has lost, and gets a standby of its own. `acknowledged` resolves when
  // the nodes have written to the new primary.
  async outlive(acknowledged) {
    const held = await this.hold();
    const old = this.primary;
    await this.shell('postgres_promote', this.standby);
    await this.shell('postgres_copy', this.standby, this.spare);
    await this.begin(this.spare);
    await acknowledged();
    this.kill(old);
    process.kill(held, 'SIGKILL');
    await this.killedEnd();
    fs.rmSync(path.join(old, 'data'), { recursive: true });
    [this.primary, this.standby, this.spare] = [this.standby, this.spare, old];
  }

  // The standby that was promoted is the primary, and the other one its standby.
  async replace(held) {
    if (held !== undefined) process.kill(held, 'SIGKILL');
    await this.killedEnd();
    [this.primary, this.standby] = [this.standby, this.primary];
    fs.rmSync(path.join(this.standby, 'data'), { recursive: true });
    await this.shell('postgres_copy', this.primary, this.standby);
    await this.begin(this.standby);
  }
}

module.exports = { Databases, childrenOf };

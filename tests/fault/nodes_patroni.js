// The database of nodes.js as three members that Patroni keeps, by deploy/patroni.sh. Each
// method is a fault of the primary's member: it strikes, waits until the nodes have written
// to the database again, and then heals, so that all three members follow the primary.
'use strict';
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { childrenOf } = require('./nodes_databases.js');
const { soon } = require('./nodes_fleet.js');
const { pause } = require('./server.js');

const SCRIPTS = path.join(__dirname, '../../deploy');
const HELD_MS = 1000;    // for which standbys get nothing, before their promotion
const STORE_MS = 60000;  // for which etcd does not answer
const LOOK_MS = 500;     // between looks at a switchover
const SWITCH_LOOKS = 60; // then it is asked for again
const run = promisify(execFile);

class Members {
  // place: the directory of deploy/patroni.sh, whose members run.
  constructor(place) {
    this.place = place;
  }

  async shell(...words) {
    const { stdout } = await run('bash', ['-c',
      `. "${SCRIPTS}/postgres.sh"; . "${SCRIPTS}/patroni.sh"; "$@"`, 'bash', ...words]);
    return stdout.trim();
  }

  pidOf(name, file) {
    return parseInt(fs.readFileSync(path.join(this.place, name, file), 'utf8'));
  }

  // Patroni, its server, and the processes of this server.
  processesOf(name) {
    const server = this.pidOf(name, 'data/postmaster.pid');
    return [this.pidOf(name, 'pid'), server, ...childrenOf(server)];
  }

  signal(pids, signal) {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch { /* it has ended by itself */ }
    }
  }

  leader() {
    return this.shell('patroni_leads', this.place).catch(() => undefined);
  }

  async primary() {
    let name;
    await soon('a member is the primary',
      async () => (name = await this.leader()) !== undefined);
    return name;
  }

  replaced(name) {
    return soon('another member is the primary', async () => {
      const now = await this.leader();
      return now !== undefined && now !== name;
    });
  }

  healed() {
    return this.shell('patroni_ready', this.place);
  }

  // Patroni promotes the synchronous standby, or starts the server again if none is in
  // step just then.
  async postmaster(acknowledged) {
    const pid = this.pidOf(await this.primary(), 'data/postmaster.pid');
    this.signal([pid], 'SIGKILL');
    await soon('a server is the primary again', async () => {
      const now = await this.leader();
      return now !== undefined && this.pidOf(now, 'data/postmaster.pid') !== pid;
    });
    await acknowledged();
    await this.healed();
  }

  async member(acknowledged) {
    const name = await this.primary();
    this.signal(this.processesOf(name), 'SIGKILL');
    await this.replaced(name);
    await acknowledged();
    await this.shell('patroni_begin', this.place, name);
    await this.healed();
  }

  // The server lives on, and takes connections, until Patroni runs again.
  async agent(acknowledged) {
    const name = await this.primary();
    this.signal([this.pidOf(name, 'pid')], 'SIGKILL');
    await this.replaced(name);
    await acknowledged();
    await this.shell('patroni_begin', this.place, name);
    await this.healed();
  }

  // Patroni refuses a switchover as long as no other member is in step, with status 0.
  async switchover(acknowledged) {
    const name = await this.primary();
    const isOther = async () => ![undefined, name].includes(await this.leader());
    await soon('another member is the primary', async () => {
      await this.shell('as_postgres', 'patronictl', '--config-file',
        path.join(this.place, name, 'patroni.yml'), 'switchover', '--force', 'kindex').catch(() => null);
      for (let looks = 0; looks < SWITCH_LOOKS; looks++) {
        if (await isOther()) return true;
        await pause(LOOK_MS);
      }
      return false;
    });
    await acknowledged();
    await this.healed();
  }

  // As a machine that stands still and then runs on.
  async still(acknowledged) {
    const name = await this.primary();
    const pids = this.processesOf(name);
    this.signal(pids, 'SIGSTOP');
    await this.replaced(name);
    await acknowledged();
    this.signal(pids, 'SIGCONT');
    await this.healed();
  }

  // Without its store Patroni makes the primary a standby, until the store answers again.
  async store(acknowledged) {
    const etcd = [this.pidOf('etcd', 'pid')];
    this.signal(etcd, 'SIGSTOP');
    await pause(STORE_MS);
    this.signal(etcd, 'SIGCONT');
    await this.primary();
    await acknowledged();
    await this.healed();
  }

  // Asynchronous standbys lack the last second when one of them is promoted.
  async loss(acknowledged) {
    const name = await this.primary();
    const senders = (await this.shell('patroni_query', this.place,
      'SELECT pid FROM pg_stat_replication')).split('\n').map(Number);
    this.signal(senders, 'SIGSTOP');
    await pause(HELD_MS);
    this.signal(this.processesOf(name), 'SIGKILL');
    await this.replaced(name);
    await acknowledged();
    await this.shell('patroni_begin', this.place, name);
    await this.shell('patroni_follow', this.place);
  }
}

module.exports = { Members };

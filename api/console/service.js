// What an operator looks after: the nodes in front of one database, the last
// backup, and the archive of the log.
import { h, fill, say, count, duration } from './dom.js';
import { post, send } from './api.js';
import { may } from './session.js';

const FOLLOWED = { age: 'kindex_follow_age_seconds', commit: 'kindex_followed_commit_timestamp_seconds' };
const TIMES = { backup: 'kindex_backup_last_success_timestamp_seconds', archive: 'kindex_archive_last_success_timestamp_seconds' };

// ---- Nodes ------------------------------------------------------------------

const COLUMNS = ['Node', 'Role', 'Address', 'Version', 'Lag', 'Seen'];

// What GET /cluster says, where there are several nodes.
export function nodes(cluster) {
  if (cluster.nodes.length < 2) return null;
  return [h('h2', {}, 'Nodes'), h('table.nodes', {}, h('thead', {}, h('tr', {}, COLUMNS.map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', {}, cluster.nodes.map((node) => h('tr', {}, h('th', { scope: 'row' }, node.node),
      h('td', {}, h(`span.role-${node.role}`, {}, node.role)), h('td', {}, node.url ?? '–'), h('td', {}, node.version),
      h('td.num', {}, `${count(node.lag)} batches`), h('td.num', {}, `${duration(node.seenMs)} ago`)))))];
}

// ---- Backup -----------------------------------------------------------------

// A figure of the metrics, or null.
function figure(text, name) {
  const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(text);
  return found ? Number(found[1]) : null;
}

const date = (seconds) => new Date(seconds * 1000).toLocaleString('en-GB');

export class Backup {
  constructor() {
    this.facts = h('p', {});
    this.node = h('div', {}, this.facts, h('p', {}, h('button', { type: 'button', onclick: () => this.download() }, 'Download a backup')),
      h('p.note', {}, 'From a shell: ', h('code', {}, `kindex backup --url ${location.origin}`)));
  }

  async show() {
    if (!may('monitor')) return;
    const text = await (await send('GET', '/metrics')).text();
    const [backup, archive] = [figure(text, TIMES.backup), figure(text, TIMES.archive)];
    fill(this.facts, `Last backup: ${backup ? date(backup) : 'none since the server started'}. `,
      `Log: ${archive ? `archived ${date(archive)}` : 'not archived'}.`);
    const [age, commit] = [figure(text, FOLLOWED.age), figure(text, FOLLOWED.commit)];
    if (age >= 0 && age !== null) this.facts.append(' ', `A standby: it read its archive to the end ${duration(age * 1000)} ago${commit ? `, whose last commit is of ${date(commit)}` : ''}.`);
  }

  // A download cannot send a token, so it gets an address for one use.
  async download() {
    try {
      const { address } = await post('/backup/tickets');
      h('a', { href: '.' + address, download: 'kindex-backup.tar.zst' }).click();
    } catch (error) {
      say(error.text ?? error.message, true);
    }
  }
}

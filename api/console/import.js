// Entries from a file of lines, as kindex export writes them: NDJSON.
import { h, fill, say, count } from './dom.js';
import { send } from './api.js';
import { parse } from './json.js';
import { form } from './dialog.js';

const PART = 1 << 20; // bytes of lines in one request
const SQLITE = 'SQLite format 3'; // its first bytes
const ERRORS_SHOWN = 20;
const REFUSED_MAX = 1000; // lines, then it stops

// The lines of a file, in parts of whole lines: {body, from, size}; `from` is the number of the first.
async function* parts(file) {
  const reader = file.stream().pipeThrough(new TextDecoderStream('utf-8', { fatal: true })).getReader();
  let rest = '';
  let from = 1;
  for (let more = true; more;) {
    const { value, done } = await reader.read();
    more = !done;
    rest += value ?? '';
    if (rest.length < PART && more) continue;
    const end = more ? rest.lastIndexOf('\n') + 1 : rest.length;
    if (end === 0) continue;
    const body = rest.slice(0, end);
    rest = rest.slice(end);
    if (body.trim() !== '') yield { body, from };
    from += body.split('\n').length - 1;
  }
}

// Sends one part, again after each line that is refused; tells of each (line, text). Resolves
// to the number of entries stored.
async function store({ body, from }, signal, refused) {
  let stored = 0;
  for (let rest = body; rest !== '';) {
    const last = await send('POST', '/bulk', { body: rest, signal, headers: { 'Content-Type': 'application/x-ndjson' } })
      .then(async (reply) => parse((await reply.text()).trimEnd().split('\n').at(-1)), (error) => {
        if (error.body?.line === undefined) throw error;
        return { error: error.body };
      });
    stored += last.stored ?? 0;
    if (!last.error) return stored;
    const { line } = last.error;
    refused(from + line - 1, `${last.error.title}. ${last.error.detail ?? ''}`);
    rest = rest.split('\n').slice(line).join('\n');
    from += line;
  }
  return stored;
}

// Asks for a file unless one is given, and stores its entries. Resolves to whether any were stored.
export async function importEntries(given) {
  const file = h('input', { type: 'file', accept: '.ndjson,.jsonl,application/x-ndjson', name: 'file', autofocus: true });
  const progress = h('progress', { max: 100, value: 0, 'aria-label': 'progress', hidden: true });
  const state = h('p', { role: 'status' });
  const errors = h('ul.errors');
  const abort = new AbortController();
  let stored = 0;
  const run = async () => {
    const source = given ?? file.files[0];
    if (!source) throw new Error('Choose a file.');
    if (await source.slice(0, SQLITE.length).text() === SQLITE) throw new Error('This is a SQLite file, as Deno KV has: import it from a shell, as is said below.');
    progress.hidden = false;
    fill(errors);
    let done = 0;
    let wrong = 0;
    const show = () => fill(state, `${count(stored)} entries stored`, wrong > 0 ? `, ${count(wrong)} lines refused` : '');
    const refused = (line, text) => {
      if (++wrong <= ERRORS_SHOWN) errors.append(h('li.bad', {}, `line ${count(line)}: ${text}`));
      show();
      if (wrong === REFUSED_MAX) throw new Error(`Stopped after ${REFUSED_MAX} lines that were refused: is this the right file?`);
    };
    for await (const part of parts(source)) {
      stored += await store(part, abort.signal, refused);
      done += part.body.length;
      progress.value = (done / source.size) * 100;
      show();
    }
    progress.value = 100;
    if (wrong === 0) say(`Imported ${count(stored)} entries`);
    return wrong === 0;
  };
  await form({ id: 'importing', title: 'Import entries', action: 'Import', cancel: 'Close', body: [
    h('p', {}, 'A file with an entry in each line, such as ', h('code', {}, '{"key":["users","ada"],"value":{"name":"Ada"}}'), '. An entry that is there is replaced.'),
    given ? h('p', {}, h('code', {}, given.name)) : h('label', {}, 'File (NDJSON)', file), progress, state, errors,
    h('p.note', {}, 'A SQLite file of Deno KV is imported from a shell: ', h('code', {}, `kindex import --from FILE.sqlite3 --url ${location.origin}`))], submit: run });
  abort.abort();
  return stored > 0;
}

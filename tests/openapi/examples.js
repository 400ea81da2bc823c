// Runs every command that openapi.yaml shows, in the order of a story, against
// a separate server, and compares each answer with the example that has the
// command's label. What differs from run to run (versionstamps, ULIDs, cursors,
// times) is bound to its example when it is seen first, and then must stay so.
// At the end it plants wrong examples, each of which must be found.
//
//   node examples.js OPENAPI KINDEX
'use strict';

const fs = require('node:fs');
const { execFileSync } = require('node:child_process');
const document = require('./document.js');
const { checker } = require('./responses.js');
const { withServer } = require('../lib/serve.js');

const BASE = 'http://127.0.0.1:4512';
const PROBLEM = 'application/problem+json';

// Every command of the document; one of them comes again.
const STORY = `
atomicWrite not-a-write
watch not-a-watch
snapshotRead nothing
snapshotRead not-a-message
exchangeMetadata open
exchangeMetadata unspoken
getService service
getLive alive
getReady ready
getReady verbose
getReady lines
listSlow slow
getCluster alone
stepDown no-cluster
promote no-cluster
getHistory history
getVersion version
getOpenapi document
getOpenapiYaml document
getProblem key-not-found
getProblem not-found
getConsole page
getConsoleFile not-found
getDocs page

declareIndex email
declareIndex color
declareIndex again
declareIndex index-exists
declareIndex bad-index-definition

putEntry ada
putEntry session
putEntry counter
putEntry note
putEntry order
putEntry again
putEntry precondition-failed
putEntry unique-violation
putEntry index-owned-key
putEntry bad-json
putEntryByQuery bigint

getEntry ada
getEntry counter
getEntry note
getEntry pointer
getEntry not-modified
getEntry key-not-found
getEntry bad-key
getEntry key-number-inexact
getEntryByQuery ada

commitAtomic order
commitAtomic dry
commitAtomic book
commitAtomic by
commitAtomic check-failed
commitAtomic type-mismatch
commitAtomic out-of-bounds
commitAtomic unknown-member

patchEntry role
patchEntry settings
patchEntry type-mismatch
patchEntry path-not-found
patchEntry test-failed
patchEntry unsupported-media-type
patchEntryByQuery settings

putEntry carl
listEntries first
listEntries next
listEntries preview
listEntries where
listEntries range
listEntries index
listEntries several
listEntries raw
listEntries stream
listEntries bad-parameter
listEntries unknown-parameter
listEntries cursor-invalid
listEntries cursor-mismatch
listEntries index-not-found
listEntries not-acceptable
countEntries users
countEntries about
countEntries blue
listChildren top
listChildren colors
getMany both
listRanges merge
watchEntries bad-parameter

listIndexes all
explainList answered
explainList advice
getIndex email
getIndex index-not-found
listConflicts none
getByIndex ada
getByIndex folded
getByIndex index-not-unique
getByIndex key-not-found
getByIndexByQuery ada

patchEntryByQuery role
putEntryByQuery ada
createEntry event
createEntryByQuery event
deleteEntries events
deleteEntries bad-parameter
deleteEntry settings
deleteEntry key-not-found
deleteEntry precondition-failed
deleteEntryByQuery note

declareIndex index-name-used
declareIndex adopt
declareIndex orders
declareIndex items
declareIndex dry
declareIndexes file
migrateIndex pointer
migrateIndex bad-index-definition
undoMigration no-migration
pauseIndex paused
throttleIndex slow
resumeIndex resumed
throttleIndex free
getVerification no-verification
verifyIndex color
discoverIndexes email
dropIndex color
declareIndex totals
commitAtomic take
deleteEntry taken
commitAtomic once
commitAtomic once
commitAtomic idempotency-key-reused
writeLines lines
writeLines refused
aggregateGroups all
aggregateGroups ada
patchEntry touch
putByIndex new
putByIndex replace
putByIndexByQuery new
putByIndexByQuery replace
patchEntries checked
patchEntries part
declareIndex queue
putEntry job
putEntry job-b
listQueues all
claimJobs first
claimJobs rest
claimJobs none
extendJobs longer
ackJobs done
ackJobs receipt-stale
releaseJobs back
claimJobs again
failJobs retry
getQueue mail
getQueue queue-not-found
putRule stock
putEntry rule-violated
putEntry apples
putRule dry
putRule bad-rule-definition
listRules all
getRule stock
getRule rule-not-found
listViolations none
getUsage none
dropRule drop
getMetrics metrics
getBackup backup
createBackupTicket ticket
getBackupByTicket backup
createToken no-admin
createToken operator
listTokens unauthorized
listTokens all
createToken app
getToken app
getOwnToken app
getOwnToken without
revokeToken revoked
revokeToken token-not-found
`
  .split('\n')
  .filter((line) => line !== '');

// Texts that are other ones in each run.
const BOUND = [/^\/backup\/tickets\/[0-9a-f]{32}$/,
  /^[0-9a-f]{20}$/, /^[0-9A-HJKMNP-TV-Z]{26}$/,
  /^[0-9a-f]{16}$/, /^kindex_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/];
// Members of which only the type is compared.
const FREE = ['databaseId', 'requests', 'createdAt', 'expiresAt', 'startedAt',
  'endedAt', 'from', 'node', 'series',
  'perSecond', 'etaSeconds', 'percent',
  'done', 'total', 'state', 'build', 'detail',
  'leaseEndsAt', 'nextDueAt', 'bytes', 'reads', 'writes', 'lastReadAt', 'since'];

class Story {
  constructor(doc) {
    this.doc = doc;
    this.check = checker(doc);
    this.names = new Map(); // text of an example -> text of this run
  }

  // Puts this run's texts into a command of the document, long ones first: a
  // text may be part of another.
  substitute(source) {
    let text = source;
    const names = [...this.names].sort((a, b) => b[0].length - a[0].length);
    for (const [example, actual] of names) {
      text = text.replaceAll(example, actual);
    }
    return text;
  }

  bind(example, actual, where) {
    if (!this.names.has(example)) {
      if ([...this.names.values()].includes(actual)) {
        return [`${where}: ${actual} has another name in the document`];
      }
      this.names.set(example, actual);
    }
    return this.names.get(example) === actual
      ? []
      : [`${where}: ${actual}, not ${this.names.get(example)}`];
  }

  compare(example, actual, where, name) {
    if (FREE.includes(name)) return [];
    // The number of an index's entries is an estimate.
    if (name === 'entries' && typeof actual === 'number') return [];
    if (typeof example === 'string' && typeof actual === 'string') {
      const bound = BOUND.some((b) => b.test(example) && b.test(actual));
      if (bound || name === 'cursor' || name === 'receipt') return this.bind(example, actual, where);
    }
    if (example === null || typeof example !== 'object') {
      return Object.is(example, actual)
        ? []
        : [`${where}: ${JSON.stringify(actual)}, ` +
            `in the example ${JSON.stringify(example)}`];
    }
    if (actual === null || typeof actual !== 'object') {
      return [`${where}: ${JSON.stringify(actual)}`];
    }
    const missing = (a, b) => Object.keys(a).filter((key) => !(key in b));
    return [
      ...missing(example, actual).map((key) => `${where}: no ${key}`),
      ...missing(actual, example)
        .filter((key) => !FREE.includes(key))
        .map((key) => `${where}: ${key} is not in the example`),
      ...Object.keys(example)
        .filter((key) => key in actual)
        .flatMap((key) =>
          this.compare(example[key], actual[key], `${where}/${key}`, key)),
    ];
  }

  compareText(example, answer) {
    if (/ndjson$/.test(answer.contentType)) {
      const read = (text) =>
        text.split('\n').filter((l) => l !== '').map((l) => JSON.parse(l));
      return this.compare(read(example), read(answer.body), 'lines');
    }
    if (typeof example === 'string' && !/json$/.test(answer.contentType)) {
      return example === answer.body ? [] : [`the body is ${answer.body}`];
    }
    return this.compare(example, JSON.parse(answer.body), 'body');
  }

  compareHeaders(response, answer) {
    return Object.entries(response.headers || {})
      .filter(([, header]) =>
        document.resolve(this.doc, header).required !== false)
      .map(([name]) => name)
      .filter((name) => !(name.toLowerCase() in answer.headers))
      .map((name) => `no header ${name}`);
  }

  // Problems are shared by operations: their details differ.
  compareProblem(label, answer) {
    const { code, title, hint } = JSON.parse(answer.body);
    const shown = Object.values(this.doc.components.responses)
      .map(({ content }) => (content[PROBLEM]?.examples || {})[label])
      .find((example) => example !== undefined);
    if (code !== label) return [`the code is ${code}: ${answer.body}`];
    return title === shown.value.title && hint === shown.value.hint
      ? []
      : [`title or hint of ${label} differ from the document's`];
  }

  // The example of an answer. A short build may be over before the declaration
  // is answered: 201 then, and otherwise as 202 shows it.
  exampleOf({ operation }, label, { status, contentType }, content) {
    const example = (content.examples || {})[label];
    const pending = operation.responses[202]?.content[contentType]?.examples;
    if (example || status !== 201 || !pending?.[label]) return example;
    const value = { ...pending[label].value };
    delete value.build;
    return { value };
  }

  // What is wrong with the answer to a command of the document.
  judge(entry, label, answer) {
    const found = this.check({ ...answer, operationId: entry.id,
      headers: Object.keys(answer.headers) });
    const described = entry.operation.responses[answer.status];
    if (!described || found.length > 0) {
      return [`status ${answer.status}, body ${answer.body}`, ...found];
    }
    const response = document.resolve(this.doc, described);
    if (answer.contentType === PROBLEM) {
      return this.compareProblem(label, answer);
    }
    const wrong = this.compareHeaders(response, answer);
    if (!response.content) return wrong;
    const content = response.content[answer.contentType] ||
      response.content['*/*'];
    const example = this.exampleOf(entry, label, answer, content);
    if (!example) return [`no example of ${answer.status} is named ${label}`];
    if (/^get(Openapi|Console|Docs)/.test(entry.id)) return wrong;
    if (entry.id.startsWith('getBackup')) {
      const begin = (text) => text.replace(/[^ -~]/g, '?').slice(0, 4);
      return begin(example.value) === begin(answer.body)
        ? []
        : [`the backup begins with ${begin(answer.body)}`];
    }
    if (entry.id === 'getMetrics') {
      return example.value
        .split('\n')
        .filter((text) => text.startsWith('#') && !answer.body.includes(text));
    }
    return [...wrong, ...this.compareText(example.value, answer)];
  }
}

function readAnswer(output) {
  const end = output.indexOf('\r\n\r\n');
  const [first, ...rest] = output.slice(0, end).split('\r\n');
  const headers = {};
  for (const line of rest) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return {
    status: Number(first.split(' ')[1]),
    headers,
    contentType: (headers['content-type'] || '').split(';')[0],
    body: output.slice(end + 4),
  };
}

function run(command) {
  const output = execFileSync('bash', ['-c', `${command} --silent --include`], {
    encoding: 'utf8', timeout: 100000 });
  return readAnswer(output);
}

function samplesOf(doc) {
  const samples = new Map();
  for (const entry of document.operations(doc)) {
    for (const { label, source } of entry.operation['x-codeSamples']) {
      samples.set(`${entry.id} ${label}`, { entry, label, source });
    }
  }
  return samples;
}

// Tells the story; returns what was asked and answered.
function tell(doc, base, report) {
  const samples = samplesOf(doc);
  const story = new Story(doc);
  const told = [];
  for (const name of STORY) {
    const sample = samples.get(name);
    if (!sample) {
      report(name, ['there is no such command in the document']);
      continue;
    }
    const command = story.substitute(sample.source).replaceAll(BASE, base);
    const answer = run(command);
    told.push({ name, answer });
    report(name, story.judge(sample.entry, sample.label, answer));
  }
  for (const name of samples.keys()) {
    if (!STORY.includes(name)) report(name, ['not part of the story']);
  }
  return told;
}

const example = (doc, p, method, status, type, label) =>
  doc.paths[p][method].responses[status].content[type].examples[label];

// Each makes the document wrong in one place that the answers must reveal.
const PLANTS = {
  'another value': (doc) => {
    example(doc, '/kv/{key}', 'get', 200, 'application/json', 'ada')
      .value.name = 'Eve';
  },
  'another text': (doc) => {
    example(doc, '/kv/{key}', 'get', 200, '*/*', 'note').value = 'x';
  },
  'a member too many': (doc) => {
    example(doc, '/count', 'get', 200, 'application/json', 'users')
      .value.exact = true;
  },
  'a member too few': (doc) => {
    const { value } =
      example(doc, '/list', 'get', 200, 'application/json', 'first');
    delete value.entries[0].value.role;
  },
  'another versionstamp': (doc) => {
    example(doc, '/list', 'get', 200, 'application/json', 'first')
      .value.entries[0].versionstamp = '00000000000099990000';
  },
  'another status': (doc) => {
    const { responses } = doc.paths['/kv/{key}'].delete;
    responses[200] = responses[204];
    delete responses[204];
  },
  'a header that is not sent': (doc) => {
    doc.paths['/count'].get.responses[200].headers = {
      ETag: { $ref: '#/components/headers/ETag' } };
  },
  'another metric': (doc) => {
    example(doc, '/metrics', 'get', 200, 'text/plain', 'metrics').value =
      '# HELP kindex_none Nothing.\n';
  },
  'another hint': (doc) => {
    const { content } = doc.components.responses.PreconditionFailed;
    content[PROBLEM].examples['precondition-failed'].value.hint = 'No.';
  },
  'another schema': (doc) => {
    doc.components.schemas.Count.properties.count.type = 'string';
  },
};

function judgeAgain(doc, told) {
  const samples = samplesOf(doc);
  const story = new Story(doc);
  return told.flatMap(({ name, answer }) => {
    const { entry, label } = samples.get(name);
    return story.judge(entry, label, answer);
  });
}

async function main() {
  const [file, program] = process.argv.slice(2);
  const doc = document.load(file);
  const counts = { passed: 0, failed: 0 };
  const report = (name, found) => {
    counts[found.length === 0 ? 'passed' : 'failed']++;
    for (const line of found) console.log(`FAILED ${name}: ${line}`);
  };
  await withServer(program, async (base) => {
    const told = tell(doc, base, report);
    const served = told.find(({ name }) => name === 'getOpenapi document');
    report('the document served is the document',
      served.answer.body === fs.readFileSync(file, 'utf8')
        ? [] : ['it is another one: build the program again']);
    const before = judgeAgain(doc, told).length;
    for (const [name, plant] of Object.entries(PLANTS)) {
      const copy = structuredClone(doc);
      plant(copy);
      report(`planted: ${name}`, judgeAgain(copy, told).length > before
        ? [] : ['was not found']);
    }
  });
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
}

main();

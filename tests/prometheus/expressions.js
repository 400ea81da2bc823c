// The expressions of the dashboard and of the alert rules: every metric in them
// must be one that a server shows, and a real Prometheus must understand each;
// those of the dashboard must have something to show.
//
//   node expressions.js names METRICS FILE...     METRICS: a saved /metrics
//   node expressions.js query PROMETHEUS FILE...  PROMETHEUS: its address
//
// Prints what is wrong, a line for each, then how many expressions it has seen.
'use strict';

const fs = require('node:fs');

const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);
const GROUPING = /\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;

// [{ where, expr, shown }] of a dashboard (JSON) or of rules (YAML).
function expressionsOf(file) {
  const text = fs.readFileSync(file, 'utf8');
  if (!file.endsWith('.json')) return rulesOf(file, text);
  return JSON.parse(text).panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: title, expr, shown: true })));
}

// "expr: one line", or "expr: |" and the lines that are indented further.
function rulesOf(file, text) {
  const found = [];
  let alert = file;
  let block = null;
  for (const line of text.split('\n')) {
    const indent = line.search(/\S/);
    if (block && indent > block.indent) {
      block.rule.expr += ` ${line.trim()}`;
      continue;
    }
    block = null;
    alert = /- alert: (\S+)/.exec(line)?.[1] ?? alert;
    const expr = /^\s*expr: (.*)$/.exec(line)?.[1];
    if (expr === undefined) continue;
    const rule = { where: alert, expr: expr === '|' ? '' : expr, shown: false };
    found.push(rule);
    if (expr === '|') block = { rule, indent };
  }
  return found;
}

// What is left of an expression without texts, selectors, ranges and labels
// are functions, words and metrics.
function metricsOf(expr) {
  const bare = expr.replace(/"(\\.|[^"\\])*"/g, '').replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '').replace(GROUPING, '');
  const names = [];
  for (const { 0: name, index } of bare.matchAll(/[a-zA-Z_:][\w:]*/g)) {
    const before = bare[index - 1] ?? ' ';
    const after = bare.slice(index + name.length).trimStart()[0];
    const word = WORDS.has(name.toLowerCase()) || /[\d.]/.test(before);
    if (after !== '(' && !word) names.push(name);
  }
  return names;
}

// The names of a scrape; of histograms those of their three series.
function shownBy(metrics) {
  const names = new Set(['up']);
  for (const [, name, type] of metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const ends = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const end of ends) names.add(name + end);
  }
  return names;
}

function checkNames(metrics, all) {
  const known = shownBy(metrics);
  return all.flatMap(({ where, expr }) => {
    const names = metricsOf(expr);
    return names.length === 0
      ? [`${where}: no metric in ${expr}`]
      : names.filter((name) => !known.has(name))
        .map((name) => `${where}: there is no metric ${name}`);
  });
}

// The dashboard's variables, as Grafana would fill them in.
const filled = (expr) =>
  expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');

async function ask(prometheus, expr) {
  const url = new URL('/api/v1/query', prometheus);
  url.searchParams.set('query', expr);
  return (await fetch(url)).json();
}

async function checkQueries(prometheus, all) {
  const wrong = [];
  for (const { where, expr, shown } of all) {
    const answer = await ask(prometheus, filled(expr));
    if (answer.status !== 'success') {
      wrong.push(`${where}: ${answer.error}`);
    } else if (shown && answer.data.result.length === 0) {
      wrong.push(`${where}: nothing to show for ${expr}`);
    }
  }
  return wrong;
}

async function main() {
  const [mode, source, ...files] = process.argv.slice(2);
  const all = files.flatMap(expressionsOf);
  const wrong = mode === 'names'
    ? checkNames(fs.readFileSync(source, 'utf8'), all)
    : await checkQueries(source, all);
  for (const line of wrong) console.log(line);
  console.log(`${all.length} expressions`);
  process.exitCode = wrong.length === 0 && all.length > 0 ? 0 : 1;
}

main();

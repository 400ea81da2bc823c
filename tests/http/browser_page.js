// A page of another origin, in a real browser, that loads a value as a script.
//
//   node browser_page.js SCRIPT-URL DIRECTORY [PORT EVENTS-URL]
//
// Opens the page at http://127.0.0.1:PORT (the site of a server on a loopback
// address, another origin), at http://localhost:PORT (another site), and again
// with the attribute crossorigin, with which the browser asks by CORS. A line
// for each: where, and what happened: "loaded" or "blocked", and "ran" if the
// script did; then a line "port" with the port. With a PORT the page that asks by
// CORS also watches EVENTS, and says which handlers were called first: "change" for
// the listener of that event, "message" for onmessage. DIRECTORY is for the
// browser's profiles.
'use strict';
const http = require('node:http');
const path = require('node:path');
const browser = require('../lib/chromium.js');

const [script, directory, port, events] = process.argv.slice(2);

// The picture comes when the page has said that it has seen an event: until then
// the browser waits with the end of its load.
const watching = `<img src="/picture"><script>
  const source = new EventSource("${events}");
  const seen = (what) => () => { say(what); fetch("/seen"); };
  source.onmessage = seen("message");
  source.onerror = seen("error");
  source.addEventListener("change", seen("change"));
</script>`;
let sawEvent;
const sight = new Promise((resolve) => { sawEvent = resolve; });

const page = (attribute) => `<!doctype html><title>another origin</title>
<p id="seen"></p>
<script>
  const say = (what) => { document.getElementById("seen").textContent += what + " "; };
</script>
<script ${attribute} src="${script}" onload="say('loaded')" onerror="say('blocked')"></script>
${attribute && events ? watching : ''}`;

const server = http.createServer((request, reply) => {
  const { pathname, searchParams } = new URL(request.url, script);
  if (pathname === '/picture') {
    sight.then(() => reply.end());
    return;
  }
  if (pathname === '/seen') sawEvent();
  const attribute = searchParams.get('attribute');
  reply.setHeader('Content-Type', 'text/html');
  reply.end(page(attribute ?? ''));
});

async function main() {
  await new Promise((resolve) => { server.listen(Number(port ?? 0), '127.0.0.1', resolve); });
  const at = (host, attribute) =>
    `http://${host}:${server.address().port}/?attribute=${attribute}`;
  const pages = [['other-origin', at('127.0.0.1', '')], ['other-site', at('localhost', '')],
    ['by-cors', at('localhost', 'crossorigin')]];
  const texts = await Promise.all(pages.map(([name, address]) =>
    browser.open(address, path.join(directory, name))));
  pages.forEach(([name], i) =>
    console.log(name, /<p id="seen">(.*?)<\/p>/.exec(texts[i])?.[1].trim() ?? texts[i]));
  console.log('port', server.address().port);
  server.close();
}

main().catch((error) => { console.log('FAILED', error); process.exitCode = 1; });

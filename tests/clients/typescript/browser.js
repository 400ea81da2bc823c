// The client on a page of another origin, in a real browser.
//
//   node browser.js KINDEX CLIENT DIRECTORY
//
// Serves the page, with the modules of the folder CLIENT beside it, and prints what the
// page says: "passed", or what is wrong. DIRECTORY is for the browser's profile.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const browser = require('../../lib/chromium.js');
const { withServer } = require('../../lib/serve.js');

const [program, client, directory] = process.argv.slice(2);

// The picture comes when the page has said how it ended: until then the browser
// waits with the end of its load.
const page = (base) => `<!doctype html><title>client</title><p id="said"></p>
<img src="/picture">
<script type="module">
  import { tour } from "/browser_page.mjs";
  const say = (what) => {
    document.getElementById("said").textContent = what;
    fetch("/said");
  };
  tour("${base}").then(() => say("passed"), (error) => say(error.stack));
</script>`;

function serve(base) {
  let end;
  const ended = new Promise((resolve) => { end = resolve; });
  const files = { '/browser_page.mjs': path.join(__dirname, 'browser_page.mjs') };
  for (const name of fs.readdirSync(client)) files[`/client/${name}`] = path.join(client, name);
  return (request, reply) => {
    if (request.url === '/picture') {
      ended.then(() => reply.end());
      return;
    }
    if (request.url === '/said') end();
    if (request.url.startsWith('/moved/')) {
      reply.writeHead(307, { Location: base() }).end();
      return;
    }
    const file = files[request.url];
    reply.setHeader('Content-Type', file ? 'text/javascript' : 'text/html');
    reply.end(file ? fs.readFileSync(file) : page(base()));
  };
}

async function main() {
  let base = '';
  const server = http.createServer(serve(() => base));
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const origin = `http://127.0.0.1:${server.address().port}`;
  const text = await withServer(program, (address) => {
    base = address;
    return browser.open(origin, directory);
  }, ['--cors-origin', origin]);
  server.close();
  const said = /<p id="said">([^]*?)<\/p>/.exec(text)?.[1] ?? text;
  console.log(said);
  process.exitCode = said === 'passed' ? 0 : 1;
}

main();

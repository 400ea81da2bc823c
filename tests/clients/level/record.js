// Hands requests on to a server and writes each as one line of JSON: its method, target,
// names of headers, and body.
//
//   node record.js URL FILE     prints its own address, and ends with its standard input
'use strict';

const fs = require('node:fs');
const http = require('node:http');

const [to, file] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true });

const server = http.createServer((request, reply) => {
  const body = [];
  const { method, url, headers } = request;
  const onward = http.request(`${to}${url}`, { method, headers, agent }, (answer) => {
    reply.writeHead(answer.statusCode, answer.headers);
    reply.flushHeaders();
    answer.pipe(reply);
    answer.on('aborted', () => reply.destroy());
  });
  onward.on('error', () => reply.destroy());
  reply.on('close', () => onward.destroy());
  request.on('data', (part) => { body.push(part); onward.write(part); });
  request.on('end', () => {
    // What a test has sent itself is not from the client.
    if (/urllib/.test(headers['user-agent'])) return void onward.end();
    const line = { method, target: url, headers, body: Buffer.concat(body).toString() };
    fs.appendFileSync(file, `${JSON.stringify(line)}\n`);
    onward.end();
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on('end', () => process.exit(0));

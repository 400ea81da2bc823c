// S3 in a directory (s3rver), with a proxy in front that checks each signature (the key
// is S3RVER, and so is its secret), and has faults on demand.
//   node serve.js DIRECTORY FAULTS REQUESTS
// Prints the proxy's port. Every request is a line of the file REQUESTS, with the
// status or the fault that it got. The file FAULTS has lines KIND EVERY PATTERN:
// every so manieth request whose "METHOD PATH" fits the regular expression gets
//   error    a 500 with an error document, without reaching S3
//   cut      half of its body goes to S3, or half of the answer comes back; then
//            the connection is closed
//   slow     its answer a second later
//   hang     no answer
//   drop     200, without reaching S3: the request is lost
//   lost     no answer to a request that S3 has carried out: the connection is closed
// A PUT with If-None-Match: * gets 412 if the object exists, and 409 while another PUT of the
// object runs, as S3 answers; s3rver itself ignores that header.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const S3rver = require('s3rver');
const { wrong } = require('./signature.js');

// s3rver's tokens of pages are made with DES, which OpenSSL 3 has only as triple DES.
for (const name of ['createCipheriv', 'createDecipheriv']) {
    const make = crypto[name];
    crypto[name] = (cipher, key, iv) =>
        cipher === 'des' ? make('des-ede3-cbc', Buffer.concat([key, key, key]), iv) : make(cipher, key, iv);
}

const [directory, faultsFile, requestsFile] = process.argv.slice(2);
const SLOW_MS = 1000;
const seen = new Map();

const faultOf = (text) => {
    let lines = '';
    try { lines = fs.readFileSync(faultsFile, 'utf8'); } catch { return ''; }
    for (const line of lines.split('\n').filter(Boolean)) {
        const [kind, every, ...pattern] = line.split(' ');
        if (!new RegExp(pattern.join(' ')).test(text)) continue;
        const count = (seen.get(line) ?? 0) + 1;
        seen.set(line, count);
        if (count % Number(every) === 0) return kind;
    }
    return '';
};

const note = (text, what) => fs.appendFileSync(requestsFile, `${text} ${what}\n`);

const KEY = 'S3RVER';
const refuse = (response, status, code) => {
    response.writeHead(status, { 'Content-Type': 'application/xml' });
    response.end('<?xml version="1.0"?><Error><Code>' + code + '</Code><Message>' +
        'A message with "quotes" &amp; such.</Message></Error>');
};

const passOn = (request, response, text, fault, body) => {
    const onward = http.request({
        port, host: '127.0.0.1', method: request.method, path: request.url,
        headers: request.headers,
    }, (answer) => {
        const parts = [];
        answer.on('data', (part) => parts.push(part));
        answer.on('end', async () => {
            const whole = Buffer.concat(parts);
            if (fault === 'slow') await new Promise((done) => setTimeout(done, SLOW_MS));
            note(text, fault || answer.statusCode);
            if (fault === 'lost') return response.destroy();
            response.writeHead(answer.statusCode, answer.rawHeaders);
            if (fault !== 'cut') return response.end(whole);
            response.write(whole.subarray(0, whole.length >> 1), () => response.destroy());
        });
    });
    onward.on('error', () => response.destroy());
    if (fault !== 'cut' || request.method === 'GET') return onward.end(body);
    onward.write(body.subarray(0, body.length >> 1), () => {
        note(text, fault);
        onward.destroy();
        response.destroy();
    });
};

// One creation of an object at a time.
const creating = new Set();
const create = (request, response, text, fault, body) => {
    const path = request.url;
    if (creating.has(path)) return note(text, 409), refuse(response, 409, 'ConditionalRequestConflict');
    creating.add(path);
    response.on('close', () => creating.delete(path));
    if (!fs.existsSync(`${directory}${path}._S3rver_object`)) return passOn(request, response, text, fault, body);
    note(text, 412);
    refuse(response, 412, 'PreconditionFailed');
};

const serve = (request, response) => {
    const text = `${request.method} ${request.url}`;
    const parts = [];
    const fault = faultOf(text);
    if (fault === 'hang') return note(text, fault);
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
        const body = Buffer.concat(parts);
        const code = wrong(request, body, KEY, KEY);
        if (code !== '' || fault === 'error' || fault === 'drop') note(text, code || fault);
        if (code !== '') return refuse(response, 403, code);
        if (fault === 'error') return refuse(response, 500, 'InternalError');
        if (fault === 'drop') return response.writeHead(200, { ETag: '"dropped"' }).end();
        const conditional = request.method === 'PUT' && request.headers['if-none-match'] === '*';
        (conditional ? create : passOn)(request, response, text, fault, body);
    });
};

let port;
const s3 = new S3rver({
    address: '127.0.0.1', port: 0, directory, silent: true,
    configureBuckets: [{ name: 'backups' }],
});
s3.run().then((address) => {
    port = address.port;
    const proxy = http.createServer(serve);
    proxy.listen(0, '127.0.0.1', () => console.log(proxy.address().port));
});

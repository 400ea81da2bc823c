// Requests as bytes, and files of them for replay.lua. A request is described
// as { method, path, body, type }; a character of it is a byte.
'use strict';
const fs = require('fs');

const CHUNK = 1 << 20;

function bytes({ method = 'GET', path, body, type = 'application/json' }) {
    const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
    if (body === undefined) return `${head}\r\n`;
    return `${head}Content-Type: ${type}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`;
}

// Writes `count` requests; make(i) describes the i-th.
function write(file, count, make) {
    const out = fs.openSync(file, 'w');
    let text = '';
    for (let i = 0; i < count; i++) {
        const request = bytes(make(i));
        text += `${request.length}\n${request}`;
        if (text.length < CHUNK) continue;
        fs.writeSync(out, text, null, 'latin1');
        text = '';
    }
    fs.writeSync(out, text, null, 'latin1');
    fs.closeSync(out);
}

module.exports = { bytes, write };

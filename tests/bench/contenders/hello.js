// The yardstick: libmicrohttpd and nothing else. It answers any path.
'use strict';
const path = require('path');
const { freePort, launch, waitReady } = require('../server');

async function start(build) {
    const port = await freePort();
    const server = launch(path.join(build, 'bench/hello'), [String(port)],
                          path.join(build, 'bench/log/hello.log'));
    await waitReady(server, port, { path: '/' });
    return { name: 'hello', server, port, pids: [server.pid] };
}

module.exports = { start };

// A real browser, without a window.
'use strict';

const { execFile } = require('node:child_process');

const LOADS_MS = 120000;

// The document at an address after its load, as text. PROFILE is a directory for
// what the browser keeps.
function open(address, profile) {
  const options = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-extensions',
    '--disable-background-networking', '--no-first-run', '--no-proxy-server',
    `--user-data-dir=${profile}`, '--dump-dom', address];
  return new Promise((resolve, reject) => {
    execFile('chromium', options, { timeout: LOADS_MS }, (error, text) =>
      (error ? reject(error) : resolve(text)));
  });
}

module.exports = { open };

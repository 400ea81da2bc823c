// A power cut: what the server wrote and did not sync is lost (power.c keeps the
// rest in a separate directory). With `torn`, half of the unsynced blocks of
// 4 KiB have reached the disk all the same, in no order.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const BLOCK = 4096;

class Power {
  // library: power.c compiled; torn: see above; random: a function of a bound.
  constructor(library, { torn = false, forgetful = false, random }) {
    this.library = library;
    this.torn = torn;
    this.forgetful = forgetful;
    this.random = random;
    this.lost = 0;
  }

  // Called once, with the data directory of the server.
  plug(data) {
    this.data = data;
    this.disk = `${data}-disk`;
    fs.mkdirSync(this.disk);
    this.environment = { LD_PRELOAD: this.library, KX_POWER_DATA: this.data,
      KX_POWER_DISK: this.disk };
    if (this.forgetful) this.environment.KX_POWER_FORGETFUL = '1';
  }

  // The server is dead: its data becomes what the disk has.
  cut() {
    const names = new Set([...fs.readdirSync(this.disk),
      ...(this.torn ? fs.readdirSync(this.data) : [])]);
    const left = new Map([...names].map((name) =>
      [name, this.remains(name)]).filter(([, bytes]) => bytes !== null));
    for (const directory of [this.data, this.disk]) {
      for (const name of fs.readdirSync(directory))
        fs.rmSync(path.join(directory, name));
      for (const [name, bytes] of left)
        fs.writeFileSync(path.join(directory, name), bytes, { mode: 0o600 });
    }
  }

  // What is left of a file; null: nothing.
  remains(name) {
    const synced = read(path.join(this.disk, name));
    const written = read(path.join(this.data, name));
    if (!this.torn || written === null) {
      this.lost += synced === null || written === null ? 0 :
        Number(!synced.equals(written));
      return synced;
    }
    return this.tear(synced ?? Buffer.alloc(0), written);
  }

  tear(synced, written) {
    const parts = [];
    for (let at = 0; at < Math.max(synced.length, written.length);
         at += BLOCK) {
      const old = synced.subarray(at, at + BLOCK);
      const now = written.subarray(at, at + BLOCK);
      const lost = !old.equals(now) && (now.length === 0 ||
        this.random(2) === 0);
      this.lost += Number(lost);
      // A block that is not there before one that is reads as zeros.
      parts.push(lost ? old : now);
      if (lost && old.length < now.length)
        parts.push(Buffer.alloc(now.length - old.length));
    }
    return Buffer.concat(parts);
  }
}

function read(file) {
  return fs.existsSync(file) ? fs.readFileSync(file) : null;
}

module.exports = { Power };

// Copies of what is under a prefix, kept by lists and events, while it changes:
//
//   node tests/http/watch_copy.js URL COMMITS
//
// One client reads as fast as it can; one stops reading now and then, so that it
// loses events. Some commits change more keys than an event can have, and an
// index comes and goes. Prints the events and the resets that each saw, and at
// the end whether its copy is what the list then says, versionstamps included.
"use strict";
const http = require("node:http");

const [url, commits] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
const LAST = JSON.stringify(["c", "last"]);
let lasts = 0;
let seed = 7;
const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; };

function ask(method, path, document) {
  return new Promise((resolve, reject) => {
    const request = http.request(url + path, { agent, method, headers: { "content-type": "application/json" } }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (part) => { text += part; });
      reply.on("end", () => (reply.statusCode < 300 || reply.statusCode === 409 ? resolve(text === "" ? {} : JSON.parse(text))
        : reject(new Error(`${method} ${path}: ${reply.statusCode} ${text}`))));
    });
    request.on("error", reject).end(document === undefined ? undefined : JSON.stringify(document));
  });
}

async function list() {
  const entries = new Map();
  let cursor = "";
  do {
    const page = await ask("GET", `/list?prefix=c&limit=1000${cursor}`);
    for (const entry of page.entries) entries.set(JSON.stringify(entry.key), entry.versionstamp + JSON.stringify(entry.value));
    cursor = page.cursor === null ? "" : `&cursor=${page.cursor}`;
  } while (cursor !== "");
  return entries;
}

// A list that is followed by an older event must win: of what a list has shown
// only a later versionstamp is news, or that the entry is gone.
class Copy {
  constructor(drowsy) {
    Object.assign(this, { drowsy, entries: new Map(), events: 0, resets: 0, work: Promise.resolve(), text: "" });
    this.request = http.get(`${url}/watch?prefix=c`, { agent: false }, (reply) => {
      this.reply = reply;
      reply.setEncoding("utf8").on("data", (part) => this.take(part));
      reply.on("error", () => {});
    });
    this.request.on("error", () => {});
  }

  take(part) {
    this.text += part;
    for (let end; (end = this.text.indexOf("\n\n")) >= 0; this.text = this.text.slice(end + 2)) {
      const event = /^event: (\w+)\ndata: (.*)$/m.exec(this.text.slice(0, end));
      if (event !== null) this.work = this.work.then(() => this.apply(event[1], JSON.parse(event[2])));
    }
    if (this.drowsy && random(4) === 0) {
      this.reply.pause();
      setTimeout(() => this.reply.resume(), 30);
    }
  }

  async apply(type, data) {
    if (type === "reset") {
      this.resets++;
      this.entries = await list();
      return;
    }
    this.events++;
    for (const { key, value, versionstamp } of data.entries) {
      const name = JSON.stringify(key);
      if (name === LAST) this.last = value;
      const known = this.entries.get(name);
      if (versionstamp === null) this.entries.delete(name);
      else if (known === undefined || known < versionstamp) this.entries.set(name, versionstamp + JSON.stringify(value));
    }
  }
}

async function change(i) {
  const key = ["c", random(40), random(3)];
  const set = (k) => ({ type: "set", key: k, value: { i, pad: "x".repeat(random(3000)) } });
  if (i % 100 === 99) {
    const many = Array.from({ length: 900 }, (_, n) => ["c", "many", (i % 3) * 450 + n]);
    await ask("POST", "/atomic", { mutations: many.map((k) => (i % 200 === 199 ? { type: "delete", key: k } : set(k))) });
  } else if (i % 250 === 249) {
    await ask("POST", "/indexes", { name: "by_i", prefix: ["c"], fields: ["/i"] });
    await ask("DELETE", "/indexes/by_i");
  } else await ask("POST", "/atomic", { mutations: [random(3) === 0 ? { type: "delete", key } : set(key), set(["other", i % 5])] });
}

function equal(a, b) {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

// A list may be ahead of events that are under way, and these bring back what
// was before them. An event with the last change comes before all others.
async function catchUp(copy) {
  const ends = Date.now() + 60000;
  let resets;
  do {
    lasts++;
    resets = copy.resets;
    await ask("POST", "/atomic", { mutations: [{ type: "set", key: JSON.parse(LAST), value: lasts }] });
    while (copy.last !== lasts && copy.resets === resets && Date.now() < ends) await new Promise((resolve) => setTimeout(resolve, 20));
    await copy.work;
  } while (copy.last !== lasts && Date.now() < ends);
}

(async () => {
  const copies = [new Copy(false), new Copy(true)];
  for (let i = 0; i < Number(commits); i += 4) await Promise.all([0, 1, 2, 3].map((n) => change(i + n)));
  for (const copy of copies) {
    await catchUp(copy);
    console.log(copy.events, copy.resets, equal(copy.entries, await list()) ? "same" : "other");
    copy.request.destroy();
  }
  agent.destroy();
})();

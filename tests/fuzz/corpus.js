// The corpora in the tree are texts, one line "name: bytes" for each input, with
// \xNN and \n for what cannot be seen; the fuzzer wants a directory of files.
//
//   node corpus.js unpack FILE DIRECTORY
//   node corpus.js pack DIRECTORY FILE [NAMES]   NAMES: a directory in which
//                                                inputs have better names
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { createHash } = require("node:crypto");

const LETTERS = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
const BYTES = { n: "\n", r: "\r", t: "\t", "\\": "\\" };

const escaped = (bytes) => bytes.toString("latin1").replace(/[^ -[\]-~]/g, (byte) =>
  LETTERS[byte] ?? `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);

const unescaped = (text) => Buffer.from(text.replace(/\\(x(..)|.)/g, (_, letter, hex) =>
  hex ? String.fromCharCode(parseInt(hex, 16)) : BYTES[letter]), "latin1");

const inputs = (directory) => fs.readdirSync(directory).map((name) =>
  ({ name, bytes: fs.readFileSync(path.join(directory, name)) }));

const sum = (bytes) => createHash("sha1").update(bytes).digest("hex");

function unpack(file, directory) {
  fs.rmSync(directory, { recursive: true, force: true });
  fs.mkdirSync(directory, { recursive: true });
  for (const line of fs.readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const colon = line.indexOf(": ");
    fs.writeFileSync(path.join(directory, line.slice(0, colon)), unescaped(line.slice(colon + 2)));
  }
}

function pack(directory, file, names) {
  const known = new Map((names ? inputs(names) : []).map(({ name, bytes }) => [sum(bytes), name]));
  const lines = inputs(directory).map(({ bytes }) =>
    `${known.get(sum(bytes)) ?? `found-${sum(bytes).slice(0, 8)}`}: ${escaped(bytes)}`);
  fs.writeFileSync(file, lines.sort().join("\n") + "\n");
}

const [what, ...rest] = process.argv.slice(2);
({ unpack, pack })[what](...rest);

// Random requests that are strange but well framed: bodies that look like
// requests, lengths and chunks in every legal spelling, many in one stream. The
// framing check and the HTTP library must agree on where each of them ends, so
// every value must come back as it was sent:
//
//   node tests/http/raw_random.js HOST PORT [SEED]
"use strict";
const { exchange, responses } = require("./raw.js");

const STREAMS = 300;
let seed = Number(process.argv[4] || process.env.KX_TEST_SEED || 20240229);

const below = (limit) => {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return (seed >> 8) % limit;
};
const pick = (list) => list[below(list.length)];
const several = (count, make) => Array.from({ length: count }, make).join("");
const space = () => pick(["", " ", "  ", "\t", " \t "]);
const anyCase = (text) => [...text].map((c) => (below(2) ? c.toUpperCase() : c.toLowerCase())).join("");

const NAMES = ["A", "x-b", "Content-Lengti", "Transfer_Encoding", "Transfer-Encoding2", "Hosts", "Trailer",
  "A.b!#$%&'*+-^_`|~"];
const VALUES = ["", "v", "a b\tc", "\xff\xfe", "chunked", "0", ": x", "Content-Length: 3"];
const otherHeaders = () => several(below(4), () => `${pick(NAMES)}:${space()}${pick(VALUES)}${space()}\r\n`);

const PARTS = ["a", "\r\n", "0\r\n\r\n", "GET /livez HTTP/1.1\r\n", "Host: h\r\n\r\n", "\0", ":", "\n", "1"];
const randomBody = () => several(pick([1, 2, 3, 5, 17, 40]), () => pick(PARTS));

const EXTENSIONS = ["", "", ";a", ";a=b", ';a="x y"', ";", ";\t", ";;", ";" + "x".repeat(255), ';a="\xff"'];
const hex = (number) => {
  const digits = anyCase(number.toString(16));
  return below(3) ? digits : digits.padStart(1 + below(16), "0");
};

function chunks(body) {
  let out = "";
  for (let at = 0; at < body.length;) {
    const piece = body.slice(at, at + 1 + below(body.length - at));
    out += `${hex(piece.length)}${pick(EXTENSIONS)}\r\n${piece}\r\n`;
    at += piece.length;
  }
  return `${out}${hex(0)}${pick(EXTENSIONS)}\r\n${otherHeaders()}\r\n`;
}

function randomPut(path, body) {
  const sized = below(2) === 0;
  const digits = String(body.length);
  const framing = sized
    ? `${anyCase("Content-Length")}:${space()}${below(3) ? digits : digits.padStart(1 + below(18), "0")}\r\n`
    : `${anyCase("Transfer-Encoding")}:${space()}${anyCase("chunked")}\r\n`;
  const headers = [`${anyCase("Host")}:${space()}${pick(["h", "a.b:80", "[::1]:1", "127.0.0.1:"])}\r\n`, framing,
    "Content-Type: application/octet-stream\r\n", otherHeaders(), otherHeaders()];
  if (below(2)) headers.reverse();
  return `${below(5) ? "" : "\r\n"}PUT ${path} HTTP/1.1\r\n${headers.join("")}\r\n${sized ? body : chunks(body)}`;
}

const get = (path, more = "") => `GET ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`;

async function main() {
  let passed = 0;
  let failed = 0;
  for (let i = 0; i < STREAMS; i++) {
    const begin = seed;
    const bodies = Array.from({ length: 1 + below(5) }, randomBody);
    const puts = bodies.map((body, n) => randomPut(`/kv/raw-random/${n}`, body));
    const gets = bodies.map((_, n) => get(`/kv/raw-random/${n}`));
    const stream = puts.join("") + gets.join("") + get("/livez", "Connection: close\r\n");
    const size = pick([stream.length, 1 + below(40), 1 + below(400)]);
    const pieces = [];
    for (let at = 0; at < stream.length; at += size) pieces.push(stream.slice(at, at + size));
    const all = responses((await exchange(pieces)).bytes, false);
    const values = all.slice(bodies.length, 2 * bodies.length).map((one) => one.body);
    const good = all.length === 2 * bodies.length + 1 && all.every((one) => one.status < 300) &&
      values.every((value, n) => value === bodies[n]);
    if (good) {
      passed++;
    } else {
      failed++;
      console.log(`FAILED  stream ${i} (seed ${begin}): ${JSON.stringify(stream)}`);
      console.log(`        was answered ${all.map((one) => one.status).join(" ")}: ${JSON.stringify(values)}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

main();

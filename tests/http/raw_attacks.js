// Sends what no HTTP client would send, byte by byte as it is written here,
// and compares the statuses of all answers up to the end of the connection:
//
//   node tests/http/raw_attacks.js HOST PORT
//
// Every attack carries a request for MARK after it. Where an attack makes two
// readers disagree about the end of a request, that one would be answered too,
// and there would be one status too many. An attack is sent whole, in two
// halves, and byte by byte; afterwards a new connection must get its answer.
"use strict";
const { exchange, responses } = require("./raw.js");

const HEAD = "Host: kindex.test\r\n";
const MARK = "GET /kv/raw-attacks/mark HTTP/1.1\r\n" + HEAD + "\r\n";
const LAST = "GET /livez HTTP/1.1\r\n" + HEAD + "Connection: close\r\n\r\n";

const request = (method, path, headers = "", body = "") =>
  `${method} ${path} HTTP/1.1\r\n${HEAD}${headers}\r\n${body}`;
const get = (path, headers = "") => request("GET", path, headers);
const put = (path, headers, body = "") => request("PUT", path, headers, body);
const sized = (path, body) =>
  put(path, `Content-Length: ${Buffer.byteLength(body)}\r\n`, body);
const chunked = (body, headers = "") =>
  put("/kv/raw-attacks/chunked", "Transfer-Encoding: chunked\r\n" + headers, body);
const A = "/kv/raw-attacks/a";

// What comes after the last answer may reset the connection; not in one piece.
const AT_ONCE = () => true;

// [what, bytes, the statuses of the answers, what else is true of them]
// An array in place of a status: any of them.
const ATTACKS = [
  // Where does the body end?
  ["Content-Length with Transfer-Encoding",
    put(A, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + MARK), [400]],
  ["Transfer-Encoding with Content-Length",
    put(A, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n" + MARK), [400]],
  ["two different Content-Lengths",
    put(A, "Content-Length: 1\r\nContent-Length: 40\r\n", "1" + MARK), [400]],
  ["two equal Content-Lengths",
    put(A, "Content-Length: 1\r\nContent-Length: 1\r\n", "1" + MARK), [400]],
  ["a space before the colon",
    put(A, "Content-Length : 3\r\n", "123" + MARK), [400]],
  ["a tab before the colon",
    put(A, "Transfer-Encoding\t: chunked\r\n", "0\r\n\r\n" + MARK), [400]],
  ["chunked and identity",
    put(A, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n" + MARK), [400]],
  ["Transfer-Encoding: xchunked", put(A, "Transfer-Encoding: xchunked\r\n", MARK), [501]],
  ["Transfer-Encoding: gzip, chunked", put(A, "Transfer-Encoding: gzip, chunked\r\n", MARK), [501]],
  ["Transfer-Encoding: gzip", put(A, "Transfer-Encoding: gzip\r\n", MARK), [501]],
  ["Transfer-Encoding: identity", put(A, "Transfer-Encoding: identity\r\n", MARK), [501]],
  ["Transfer-Encoding: chunked with a vertical tab",
    put(A, "Transfer-Encoding: \vchunked\r\n", "0\r\n\r\n" + MARK), [400]],
  ["Transfer-Encoding in HTTP/1.0",
    `PUT ${A} HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n` + MARK, [400]],
  ["Content-Length: +3", put(A, "Content-Length: +3\r\n", "123" + MARK), [400]],
  ["Content-Length: -1", put(A, "Content-Length: -1\r\n", MARK), [400]],
  ["Content-Length: 0x3", put(A, "Content-Length: 0x3\r\n", "123" + MARK), [400]],
  ["Content-Length: 3, 3", put(A, "Content-Length: 3, 3\r\n", "123" + MARK), [400]],
  ["an empty Content-Length", put(A, "Content-Length:\r\n", MARK), [400]],
  ["a Content-Length of 23 digits",
    put(A, "Content-Length: 12345678901234567890123\r\n", MARK), [413]],
  ["a Content-Length of 2^64 + 1",
    put(A, "Content-Length: 18446744073709551617\r\n", "1" + MARK), [413]],
  ["Expect: 100-continue with a body that is too large",
    put(A, "Expect: 100-continue\r\nContent-Length: 99999999999\r\n"), [413]],
  ["chunk size -3", chunked("-3\r\n123\r\n0\r\n\r\n" + MARK), [400]],
  ["chunk size 0x3", chunked("0x3\r\n123\r\n0\r\n\r\n" + MARK), [400]],
  ["chunk size with a space", chunked("3 \r\n123\r\n0\r\n\r\n" + MARK), [400]],
  ["a chunk size past 2^64", chunked("10000000000000003\r\n123\r\n0\r\n\r\n" + MARK), [413]],
  ["a chunk size of 2^64 - 1", chunked("ffffffffffffffff\r\n123\r\n0\r\n\r\n" + MARK), [413]],
  ["bare LF after a chunk size", chunked("3\n123\r\n0\r\n\r\n" + MARK), [400]],
  ["bare LF after a chunk", chunked("3\r\n123\n0\r\n\r\n" + MARK), [400]],
  ["bare LF in a chunk extension", chunked("3;a\n0\r\n123\r\n0\r\n\r\n" + MARK), [400]],
  ["bare LF after the last chunk", chunked("3\r\n123\r\n0\r\n\n" + MARK), [400]],
  ["a long chunk extension", chunked("3;" + "a".repeat(5000) + "\r\n123\r\n0\r\n\r\n" + MARK), [400]],
  ["a chunk longer than its size", chunked("3\r\n1234\r\n0\r\n\r\n" + MARK), [400]],
  ["Content-Length in the trailers", chunked("0\r\nContent-Length: 60\r\n\r\n" + MARK), [400]],

  // Lines and headers.
  ["no Host", "GET /livez HTTP/1.1\r\n\r\n" + MARK, [400]],
  ["two Hosts", get("/livez", HEAD) + MARK, [400]],
  ["two different Hosts", get("/livez", "Host: b\r\n") + MARK, [400]],
  ["a Host that is a list", "GET /livez HTTP/1.1\r\nHost: a, b\r\n\r\n" + MARK, [400]],
  ["an empty Host", "GET /livez HTTP/1.1\r\nHost:\r\n\r\n" + MARK, [400]],
  ["bare LF lines", "GET /livez HTTP/1.1\nHost: a\n\n" + MARK, [400]],
  ["one bare LF", "GET /livez HTTP/1.1\r\nHost: a\r\nA: b\n\r\n" + MARK, [400]],
  ["a header hidden after a bare LF", get("/livez", "A: b\nContent-Length: 100\r\n") + MARK, [400]],
  ["a bare CR", get("/livez", "A: b\rC: d\r\n") + MARK, [400]],
  ["a folded header", get("/livez", "A: b\r\n c\r\n") + MARK, [400]],
  ["a folded Transfer-Encoding",
    put(A, "Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n" + MARK), [501]],
  ["a space before the first header", "GET /livez HTTP/1.1\r\n Host: a\r\n\r\n" + MARK, [400]],
  ["NUL in a header", get("/livez", "A: b\0c\r\n") + MARK, [400]],
  ["NUL in a header name", get("/livez", "A\0: b\r\n") + MARK, [400]],
  ["a header without a colon", get("/livez", "Abc\r\n") + MARK, [400]],
  ["a header without a name", get("/livez", ": b\r\n") + MARK, [400]],
  ["64 KB of one header", get("/livez", `A: ${"a".repeat(65536)}\r\n`) + MARK, [431]],
  ["64 KB of headers", get("/livez", ("A: " + "a".repeat(1021) + "\r\n").repeat(64)) + MARK, [431]],
  ["5000 headers", get("/livez", "A: b\r\n".repeat(5000)) + MARK, [431]],
  ["5000 trailers", chunked("0\r\n" + "A: b\r\n".repeat(5000) + "\r\n" + MARK), [431]],

  // The request line.
  ["a space in the path", "GET /kv/a b HTTP/1.1\r\n" + HEAD + "\r\n" + MARK, [400]],
  ["two spaces", "GET  /livez HTTP/1.1\r\n" + HEAD + "\r\n" + MARK, [400]],
  ["a tab for a space", "GET\t/livez HTTP/1.1\r\n" + HEAD + "\r\n" + MARK, [400]],
  ["NUL in the path", get("/kv/raw-attacks/a\0b") + MARK, [400]],
  ["a control character in the path", get("/kv/raw-attacks/a\x01b") + MARK, [400]],
  ["a whole URL", get("http://localhost/livez") + LAST, [200, 200]],
  ["a whole URL without a path", get("HTTP://kindex.test?verbose=1") + LAST, [[200, 400], 200]],
  ["a whole URL with a user", get("http://a@localhost/livez") + LAST, [400, 200]],
  ["a whole URL without a host", get("http:///livez") + LAST, [400, 200]],
  ["a URL of another scheme", get("ftp://localhost/livez") + MARK, [400]],
  ["CONNECT", request("CONNECT", "kindex.test:80") + MARK, [400]],
  ["64 KB of path", get("/kv/" + "a".repeat(65536)) + MARK, [414]],
  ["HTTP/0.9", "GET /livez\r\n" + MARK, [400]],
  ["half of the HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\n" + MARK, [505]],
  ["HTTP/1.2", "GET /livez HTTP/1.2\r\n" + HEAD + "\r\n" + MARK, [505]],
  ["HTTP/2.0", "GET /livez HTTP/2.0\r\n" + HEAD + "\r\n" + MARK, [505]],
  ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + MARK, [400]],
  ["a long method", "A".repeat(1000) + " /livez HTTP/1.1\r\n" + HEAD + "\r\n" + MARK, [400]],
  ["a method in lower case", "get /livez HTTP/1.1\r\n" + HEAD + "\r\n" + LAST, [405, 200]],
  ["an unknown method", request("BREW", "/livez") + LAST, [405, 200]],
  ["an unknown method on a key", request("BREW", A) + LAST, [405, 200]],

  // Good requests before a bad one are answered first.
  ["good, then bad", get("/livez") + get("/livez", "A : b\r\n") + MARK, [200, 400]],
  ["three good, then bad",
    get("/livez") + sized(A, "1") + get(A) + put(A, "Content-Length: x\r\n") + MARK, [200, [200, 201], 200, 400]],
  ["a chunked PUT, then bad", chunked("1\r\n1\r\n0\r\n\r\n") + "\n" + MARK, [[200, 201], 400]],
  ["good that closes, then bad", LAST + "GET /\n\n" + MARK, [200], AT_ONCE],
  ["good in HTTP/1.0, then bad", "GET /livez HTTP/1.0\r\n\r\n" + "GET /\n\n" + MARK, [200], AT_ONCE],

  // And what must work.
  ["pipelined requests, answered in order",
    sized(A, '"first"') + get(A) + sized(A, '"second"') + get(A) + get("/kv/raw-attacks/none") +
    chunked("8\r\n\"chunked\r\n1;x=y\r\n\"\r\n0\r\nTrailer: x\r\n\r\n") + get("/kv/raw-attacks/chunked") + LAST,
    [[200, 201], 200, [200, 201], 200, 404, [200, 201], 200, 200],
    (all) => all[1].body === '"first"' && all[3].body === '"second"' && all[6].body === '"chunked"'],
  ["fifty pipelined GETs", get("/livez").repeat(50) + LAST, Array(51).fill(200)],
  ["an empty line between requests", sized(A, "1") + "\r\n" + LAST, [[200, 201], 200]],
  ["Expect: 100-continue", put(A, "Expect: 100-continue\r\nContent-Length: 1\r\n", "1") + LAST, [100, 200, 200]],
  ["HTTP/1.0", "GET /livez HTTP/1.0\r\n\r\n", [200]],
  ["HEAD", request("HEAD", "/livez") + LAST, [200, 200]],

  // Paths are decoded once, part by part, and never resolved.
  ["%2f is a slash within one part",
    sized("/kv/raw-slash/x%2fy", "1") + get("/list?prefix=raw-slash") + get("/kv/raw-slash/x/y") + LAST,
    [[200, 201], 200, 404, 200], (all) => all[1].body.includes('{"entries":[{"key":["raw-slash","x/y"],')],
  ["%2F and %2f are the same", sized("/kv/raw-attacks/x%2fy", "7") + get("/kv/raw-attacks/x%2Fy") + LAST,
    [[200, 201], 200, 200], (all) => all[1].body === "7"],
  ["%00 does not cut the key",
    sized("/kv/raw-attacks/x%00y", "1") + get("/kv/raw-attacks/x%00y") + get("/kv/raw-attacks/x") +
    get("/kv/raw-attacks/x%00z") + LAST, [[200, 201], 200, 404, 404, 200]],
  ["%zz", get("/kv/raw-attacks/%zz") + LAST, [400, 200]],
  ["% at the end", get("/kv/raw-attacks/%") + LAST, [400, 200]],
  ["%2 at the end", get("/kv/raw-attacks/%2") + LAST, [400, 200]],
  ["/kv/../indexes", get("/kv/../indexes") + LAST, [400, 200], (all) => all[0].body.includes('"bad-key"')],
  ["/kv/%2e%2e/indexes", get("/kv/%2e%2e/indexes") + LAST, [400, 200],
    (all) => all[0].body.includes('"bad-key"')],
  ["/kv/./a", get("/kv/./a") + LAST, [400, 200]],
  ["//kv/a", get("//kv/a") + LAST, [404, 200]],
];

function complaint(attack, { how, bytes }) {
  const [, sent, expected, also] = attack;
  const all = responses(bytes, sent.startsWith("HEAD"));
  const got = all.map((one) => one.status);
  const fits = got.length === expected.length &&
    expected.every((one, i) => [].concat(one).includes(got[i]));
  if (how === "timeout") return `no end of the connection after ${got.join(" ")}`;
  if (!fits) return `expected ${expected.join(" ")}, got ${got.join(" ") || how}`;
  if (all.some(({ status, head }) => status >= 400 && !/^x-request-id: [0-9a-f]{16}\r$/im.test(head)))
    return "there is an error without an identifier";
  for (const { status, head, body } of all.filter((one) => one.status >= 400)) {
    if (!/^content-type: application\/problem\+json/im.test(head) && !sent.startsWith("HEAD"))
      return `the ${status} is no problem document`;
    if (JSON.parse(body).status !== status) return `the document of the ${status} has another status`;
    if (status === 405 && !/^allow: /im.test(head)) return "the 405 does not say what is allowed";
  }
  return also && !also(all) ? "the answers hold something else: " + all.map((one) => one.body).join(" | ") : "";
}

async function main() {
  let passed = 0;
  let failed = 0;
  for (const attack of ATTACKS) {
    const [name, bytes, , also] = attack;
    const middle = bytes.length >> 1;
    const ways = { whole: [bytes] };
    if (also !== AT_ONCE) {
      ways["in halves"] = [bytes.slice(0, middle), bytes.slice(middle)];
      if (bytes.length < 2000) ways["byte by byte"] = [...bytes];
    }
    for (const [way, pieces] of Object.entries(ways)) {
      const why = complaint(attack, await exchange(pieces)) ||
        complaint(["after", LAST, [200]], await exchange([LAST])).replace(/^(?=.)/, "afterwards: ");
      if (why === "") passed++;
      else failed++;
      console.log(`${why === "" ? "ok" : "FAILED"}  ${name}, ${way}${why && ": " + why}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

main();

// Sends what no HTTP/2 client would send, frame by frame, and what such a
// client may send but most do not:
//
//   node tests/http/h2_attacks.js HOST PORT
//
// The server must run with --idle-timeout 1s and --streams-max 600. After every attack a new
// connection must get its answer.
"use strict";
const { Connection, PREFACE, frame, settings, setting, headers, get, put, pseudo, fields, field,
  integer, u32, END_STREAM, END_HEADERS, ACK, PADDED, HEADER_TABLE_SIZE, INITIAL_WINDOW } = require("./h2.js");

const PROTOCOL = 1, FLOW_CONTROL = 3, FRAME_SIZE = 6, REFUSED = 7, CANCEL = 8, COMPRESSION = 9, CALM = 11;
const A = "/kv/h2-attacks/a";
const noAuthority = (method, path) => pseudo(method, path).slice(0, 3);
const many = (count, make) => Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));
const odd = (i) => 2 * i + 1;
const post = (stream, more, body) => Buffer.concat([
  headers(stream, [...pseudo("PUT", A), ...more], 0), frame("DATA", END_STREAM, stream, body)]);

// One request on stream 1: [what, bytes, status of the reply, or the code of
// its reset as a negative number, the stream to wait for when it is another]
const REQUESTS = [
  ["GET", get(1, "/livez"), 200],
  ["HEAD", headers(1, pseudo("HEAD", "/livez")), 200],
  ["PUT", put(1, A, "1"), [200, 201]],
  ["a body in many frames", Buffer.concat([headers(1, pseudo("PUT", A), 0),
    frame("DATA", 0, 1, "[1"), frame("DATA", 0, 1, ""), frame("DATA", 0, 1, ",2"), frame("DATA", END_STREAM, 1, "]")]), [200, 201]],
  ["a padded body", Buffer.concat([headers(1, pseudo("PUT", A), 0),
    frame("DATA", END_STREAM | PADDED, 1, "\x05[1]\0\0\0\0\0")]), [200, 201]],
  ["trailers", Buffer.concat([headers(1, pseudo("PUT", A), 0), frame("DATA", 0, 1, "[1]"),
    headers(1, [["x-trailer", "1"]])]), [200, 201]],
  ["a head in pieces", Buffer.concat([frame("HEADERS", END_STREAM, 1, fields(pseudo("GET", "/livez")).subarray(0, 10)),
    frame("CONTINUATION", 0, 1, fields(pseudo("GET", "/livez")).subarray(10, 11)),
    frame("CONTINUATION", END_HEADERS, 1, fields(pseudo("GET", "/livez")).subarray(11))]), 200],
  ["an unknown frame before", Buffer.concat([frame("UNKNOWN", 0, 0, "abc"), get(1, "/livez")]), 200],
  ["many unknown frames before", Buffer.concat([many(900, () => frame("UNKNOWN", 0, 0)), get(1, "/livez")]), 200],
  ["a stream number that was passed, which is not answered", Buffer.concat([get(5, "/livez"), get(3, "/livez"), get(7, "/nowhere")]), undefined, 7],
  ["an unknown setting before", Buffer.concat([settings(setting(77, 1)), get(1, "/livez")]), 200],
  ["te: trailers", get(1, "/livez", [["te", "trailers"]]), 200],
  ["Host instead of :authority", headers(1, [...noAuthority("GET", "/livez"), ["host", "localhost"]]), 200],
  ["Host beside the same :authority", get(1, "/livez", [["host", "localhost"]]), 200],
  ["an unknown method", headers(1, pseudo("BREW", "/livez")), 405],
  ["an unknown path", get(1, "/nowhere"), 404],
  ["a body where none belongs", Buffer.concat([headers(1, pseudo("GET", A), 0), frame("DATA", END_STREAM, 1, "1")]), 413],

  ["another Host than :authority", get(1, "/livez", [["host", "other.test"]]), 400],
  ["two Hosts", headers(1, [...noAuthority("GET", "/livez"), ["host", "a"], ["host", "b"]]), -PROTOCOL],
  ["no host", headers(1, noAuthority("GET", "/livez")), 400],
  ["a host that is a list", headers(1, [...noAuthority("GET", "/livez"), ["host", "a,b"]]), 400],
  ["an :authority that is a list", headers(1, [...noAuthority("GET", "/livez"), [":authority", "a,b"]]), 400],
  ["an empty :authority", headers(1, [...noAuthority("GET", "/livez"), [":authority", ""]]), [400, -PROTOCOL]],
  ["LF in a header", get(1, "/livez", [["a", "b\nc: d"]]), 400],
  ["NUL in a header", get(1, "/livez", [["a", "b\0c"]]), 400],
  ["a space around a value", get(1, "/livez", [["a", " b "]]), 400],
  ["a name in upper case", get(1, "/livez", [["Accept", "*/*"]]), [400, -PROTOCOL]],
  ["a space in a name", get(1, "/livez", [["a b", "c"]]), [400, -PROTOCOL]],
  ["12 KB of one header", get(1, "/livez", [["a", "b".repeat(12000)]]), 431],
  ["65 headers", get(1, "/livez", Array(65).fill(["a", "b"])), 431],
  ["63 headers", get(1, "/livez", Array(63).fill(["a", "b"])), 200],
  ["9 KB of path", get(1, "/kv/" + "a".repeat(9000)), 414],
  ["connection: close", get(1, "/livez", [["connection", "close"]]), -PROTOCOL],
  ["keep-alive", get(1, "/livez", [["keep-alive", "5"]]), -PROTOCOL],
  ["upgrade", get(1, "/livez", [["upgrade", "h2c"]]), -PROTOCOL],
  ["transfer-encoding", post(1, [["transfer-encoding", "chunked"]], "0\r\n\r\n"), -PROTOCOL],
  ["te: gzip", get(1, "/livez", [["te", "gzip"]]), -PROTOCOL],
  ["a length that is too large", post(1, [["content-length", "5"]], "123"), -PROTOCOL],
  ["a length that is too small", post(1, [["content-length", "2"]], "123"), -PROTOCOL],
  ["two lengths", post(1, [["content-length", "3"], ["content-length", "3"]], "123"), -PROTOCOL],
  ["a length that is no number", post(1, [["content-length", "+3"]], "123"), -PROTOCOL],
  ["no :path", headers(1, [[":method", "GET"], [":scheme", "http"], [":authority", "a"]]), -PROTOCOL],
  ["an empty :path", get(1, ""), -PROTOCOL],
  ["a whole URL", get(1, "http://localhost/livez"), -PROTOCOL],
  ["a space in the path", get(1, "/kv/a b"), -PROTOCOL],
  ["NUL in the path", get(1, "/kv/a\0b"), -PROTOCOL],
  ["two :paths", headers(1, [...pseudo("GET", "/livez"), [":path", A]]), -PROTOCOL],
  ["a pseudo field after the others", headers(1, [...pseudo("GET", "/livez").slice(1), ["a", "b"], [":method", "GET"]]), -PROTOCOL],
  ["an unknown pseudo field", headers(1, [[":kindex", "1"], ...pseudo("GET", "/livez")]), -PROTOCOL],
  ["CONNECT", headers(1, [[":method", "CONNECT"], [":authority", "localhost:80"]]), 400],
  ["pseudo fields in the trailers", Buffer.concat([headers(1, pseudo("PUT", A), 0),
    headers(1, [[":path", "/livez"]])]), -PROTOCOL],
  ["trailers that are not the end", Buffer.concat([headers(1, pseudo("PUT", A), 0), frame("DATA", 0, 1, "[1]"),
    headers(1, [["x-trailer", "1"]], 0)]), -PROTOCOL],
  ["an empty host", headers(1, [...noAuthority("GET", "/livez"), ["host", ""]]), [400, -PROTOCOL]],
  ["te: TRAILERS", get(1, "/livez", [["te", "TRAILERS"]]), 200],
  ["proxy-connection", get(1, "/livez", [["proxy-connection", "close"]]), -PROTOCOL],
  ["a length without a body", get(1, "/livez", [["content-length", "1"]]), -PROTOCOL],
  ["a length of 0 without a body", get(1, "/livez", [["content-length", "0"]]), 200],
  ["* for another method than OPTIONS", get(1, "*"), -PROTOCOL],
  ["OPTIONS *", headers(1, pseudo("OPTIONS", "*")), 204],
  ["no :method", headers(1, pseudo("GET", "/livez").slice(1)), -PROTOCOL],
  ["no :scheme", headers(1, pseudo("GET", "/livez").filter(([name]) => name !== ":scheme")), -PROTOCOL],
  ["CONNECT with a path", headers(1, pseudo("CONNECT", "/livez")), -PROTOCOL],
  ["a name in upper case in the trailers", Buffer.concat([headers(1, pseudo("PUT", A), 0), frame("DATA", 0, 1, "[1]"),
    headers(1, [["X-Trailer", "1"]])]), -PROTOCOL],
  ["LF in a trailer", Buffer.concat([headers(1, pseudo("PUT", A), 0), frame("DATA", 0, 1, "[1]"),
    headers(1, [["x-trailer", "1\n"]])]), [200, 201]],
  ["a window that overflows", Buffer.concat([headers(1, pseudo("PUT", A), 0),
    frame("WINDOW_UPDATE", 0, 1, u32(0x7fffffff))]), -FLOW_CONTROL],
];

// What ends the connection: [what, bytes after the client's first settings,
// the code of GOAWAY]
const FAULTS = [
  ["DATA before any request", frame("DATA", END_STREAM, 1, "1"), PROTOCOL],
  ["DATA on stream 0", frame("DATA", END_STREAM, 0, "1"), PROTOCOL],
  ["HEADERS on stream 0", get(0, "/livez"), PROTOCOL],
  ["a stream of even number", get(2, "/livez"), PROTOCOL],
  ["a window of 0 more", Buffer.concat([headers(1, pseudo("PUT", A), 0), frame("WINDOW_UPDATE", 0, 1, u32(0))]), PROTOCOL],
  ["CONTINUATION alone", frame("CONTINUATION", END_HEADERS, 1, "a"), PROTOCOL],
  ["another frame within a head", Buffer.concat([frame("HEADERS", 0, 1, ""), frame("PING", 0, 0, "12345678")]), PROTOCOL],
  ["another stream within a head", Buffer.concat([frame("HEADERS", 0, 1, ""), frame("CONTINUATION", 0, 3, "")]), PROTOCOL],
  ["PUSH_PROMISE", frame("PUSH_PROMISE", END_HEADERS, 1, u32(2)), PROTOCOL],
  ["a reset of no stream", frame("RST_STREAM", 0, 1, u32(8)), PROTOCOL],
  ["a window for no stream", frame("WINDOW_UPDATE", 0, 1, u32(8)), PROTOCOL],
  ["a window of 0 more for all", frame("WINDOW_UPDATE", 0, 0, u32(0)), PROTOCOL],
  ["a window that overflows for all", frame("WINDOW_UPDATE", 0, 0, u32(0x7fffffff)), FLOW_CONTROL],
  ["an initial window that is too large", settings(setting(INITIAL_WINDOW, 0x80000000)), FLOW_CONTROL],
  ["half a setting", frame("SETTINGS", 0, 0, "abc"), FRAME_SIZE],
  ["settings that are confirmed with more", frame("SETTINGS", ACK, 0, "abcdef"), FRAME_SIZE],
  ["settings of a stream", frame("SETTINGS", 0, 1), PROTOCOL],
  ["half a ping", frame("PING", 0, 0, "1234"), FRAME_SIZE],
  ["a frame that is too large", frame("DATA", 0, 1, "a".repeat(16385)), FRAME_SIZE],
  ["padding longer than the frame", Buffer.concat([headers(1, pseudo("PUT", A), 0), frame("DATA", PADDED, 1, "\xff1")]), PROTOCOL],
  ["an index out of the table", frame("HEADERS", END_HEADERS | END_STREAM, 1, "\xff\x7f"), COMPRESSION],
  ["a Huffman code that does not end", frame("HEADERS", END_HEADERS | END_STREAM, 1, "\0\x84\xff\xff\xff\xff\x01a"), COMPRESSION],
  ["settings with too many entries", settings(...Array(100).fill(setting(77, 1))), CALM],

  // Floods: each frame is harmless.
  ["a flood of PING", many(5000, () => frame("PING", 0, 0, "12345678")), CALM],
  ["a flood of PING confirmations", many(5000, () => frame("PING", ACK, 0, "12345678")), CALM],
  ["a flood of SETTINGS", many(5000, () => settings()), CALM],
  ["a flood of PRIORITY", many(5000, (i) => frame("PRIORITY", 0, odd(i), "\0\0\0\0\x10")), CALM],
  ["a flood of WINDOW_UPDATE", many(5000, () => frame("WINDOW_UPDATE", 0, 0, u32(1))), CALM],
  ["a flood of empty DATA", Buffer.concat([headers(1, pseudo("PUT", A), 0), many(5000, () => frame("DATA", 0, 1))]), CALM],
  ["a flood of padding", Buffer.concat([headers(1, pseudo("PUT", A), 0), many(5000, () => frame("DATA", PADDED, 1, "\x03\0\0\0"))]), CALM],
  ["a flood of frames of an unknown type", many(5000, () => frame("UNKNOWN", 0, 0)), CALM],
  ["a flood of frames of an unknown type on a stream", Buffer.concat([headers(1, pseudo("PUT", A), 0), many(5000, () => frame("UNKNOWN", 0, 1, "abc"))]), CALM],
  ["a flood of CONTINUATION", Buffer.concat([frame("HEADERS", 0, 1, fields(pseudo("GET", "/livez"))),
    many(5000, () => frame("CONTINUATION", 0, 1, field("a", "b")))]), CALM],
  ["a flood of empty CONTINUATION", Buffer.concat([frame("HEADERS", 0, 1, fields(pseudo("GET", "/livez"))),
    many(5000, () => frame("CONTINUATION", 0, 1))]), CALM],
  ["rapid resets", many(3000, (i) => Buffer.concat([get(odd(i), A), frame("RST_STREAM", 0, odd(i), u32(CANCEL))])), CALM],
  ["rapid resets of writes", many(3000, (i) => Buffer.concat([put(odd(i), A, "1"), frame("RST_STREAM", 0, odd(i), u32(CANCEL))])), CALM],
  ["resets that the server is made to send", many(3000, (i) => Buffer.concat([
    headers(odd(i), pseudo("PUT", A), 0), frame("WINDOW_UPDATE", 0, odd(i), u32(0x7fffffff))])), CALM],
  ["heads that are too large by the hundred", many(200, (i) => frame("HEADERS", END_HEADERS | END_STREAM, odd(i), Buffer.concat([
    fields(pseudo("GET", "/livez")), field("a", "b".repeat(3900), 0x40), Buffer.alloc(8, integer(62, 7, 0x80))]))), CALM],
  ["requests that are malformed by the thousand", many(3000, (i) => get(odd(i), "")), CALM],
];

// A head that unpacks to a thousand times its size.
const bomb = (bytes) => Buffer.concat([settings(), frame("HEADERS", END_HEADERS | END_STREAM, 1, Buffer.concat([
  fields(pseudo("GET", "/livez")), field("a", "b".repeat(3900), 0x40), Buffer.alloc(bytes, integer(62, 7, 0x80))]))]);

// What takes more than one step: [what, async function, true or what was seen]
const STORIES = [
  ["a head that unpacks to megabytes", async () => {
    const seen = await new Connection().run(bomb(8000), 1);
    return (seen.goaway === 11 && seen.closed !== null) || seen;
  }],
  ["a head that unpacks to twice its limit", async () => {
    const seen = await new Connection().run(bomb(8), 1);
    return seen.status[1] === 431 || seen;
  }],
  ["requests of one piece, in order of their streams or not", async () => {
    const connection = new Connection();
    connection.send(many(500, (i) => i % 2 ? put(odd(i), `/kv/h2-many/${i}`, `${i}`) : get(odd(i), "/livez")));
    const seen = await connection.over(...Array.from({ length: 500 }, (_, i) => odd(i)));
    const statuses = new Set(Object.values(seen.status));
    return (Object.keys(seen.ended).length === 500 && !seen.timeout && statuses.size <= 3) || seen;
  }],
  ["a preface byte by byte", async () => {
    const connection = new Connection([], { quiet: true });
    for (const byte of Buffer.concat([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0)), get(1, "/livez")])) {
      connection.send(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    const seen = await connection.over(1);
    return seen.status[1] === 200 || seen;
  }],
  ["a part of a preface, then nothing more", async () => {
    const connection = new Connection([PREFACE.subarray(0, 10)]);
    connection.socket.end();
    const seen = await connection.until(() => false);
    return (seen.closed !== null && !seen.timeout && seen.goaway === null) || seen;
  }],
  ["a part of a preface, then HTTP/1.1", async () => {
    const connection = new Connection([PREFACE.subarray(0, 1)]);
    await new Promise(setImmediate);
    connection.send(Buffer.from("UT /kv/h2-attacks/p HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1\r\n\r\n1"));
    const seen = await connection.until(() => false);
    return /^HTTP\/1.1 20[01] /.test(seen.raw) || seen;
  }],
  ["a preface, then no settings", async () => {
    const connection = new Connection([PREFACE, get(1, "/livez")]);
    const seen = await connection.until((seen) => seen.goaway !== null);
    return seen.goaway === PROTOCOL || seen;
  }],
  ["silence after the preface", async () => {
    const seen = await new Connection().until((seen) => seen.goaway !== null);
    return seen.goaway === 0 || seen;
  }],
  ["silence within a body", async () => {
    const connection = new Connection();
    connection.send(headers(1, pseudo("PUT", A), 0), frame("DATA", 0, 1, "1"));
    const seen = await connection.over(1);
    return seen.reset[1] === CANCEL || seen;
  }],
  ["silence within a head", async () => {
    const connection = await settled();
    connection.send(frame("HEADERS", 0, 1, fields(pseudo("GET", "/livez"))));
    const seen = await connection.until((seen) => seen.goaway !== null);
    return (seen.goaway === 0 && !(1 in seen.status)) || seen;
  }],
  ["a reply for which there is never room", async () => {
    const connection = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, 0))]);
    connection.send(get(1, "/livez"));
    const seen = await connection.over(1);
    return (seen.status[1] === 200 && seen.reset[1] === CANCEL && seen.body[1] === undefined) || seen;
  }],
  ["room for a byte at a time", async () => {
    const connection = new Connection([PREFACE, settings(setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW, 1))]);
    connection.send(put(1, "/kv/h2-attacks/long", JSON.stringify("x".repeat(5000))));
    await connection.until((seen) => 1 in seen.status);
    connection.send(frame("WINDOW_UPDATE", 0, 1, u32(1000)));
    await connection.over(1);
    connection.send(get(3, "/kv/h2-attacks/long"));
    for (let got = 1; connection.seen.closed === null && connection.seen.goaway === null && got < 5000; got++) {
      await connection.until((seen) => (seen.body[3] ?? "").length >= got || seen.goaway !== null);
      connection.send(frame("WINDOW_UPDATE", 0, 3, u32(1)));
    }
    return (connection.seen.goaway === CALM && connection.seen.body[3].length < 3000) || connection.seen;
  }],
  ["more streams than are allowed", async () => {
    const connection = await settled();
    connection.send(many(700, (i) => headers(odd(i), pseudo("PUT", A), 0)));
    const seen = await connection.until((seen) => seen.goaway !== null || Object.values(seen.reset).includes(REFUSED));
    return seen.goaway === PROTOCOL || Object.values(seen.reset).includes(REFUSED) || seen;
  }],
  ["writes that are reset while they are carried out", async () => {
    const connection = new Connection();
    for (let i = 0; i < 100; i++) {
      connection.send(put(odd(i), `/kv/h2-reset/${i}`, "1"));
      await new Promise(setImmediate);
      connection.send(frame("RST_STREAM", 0, odd(i), u32(CANCEL)));
    }
    connection.send(get(1001, "/livez"));
    const seen = await connection.over(1001);
    return seen.status[1001] === 200 || seen;
  }],
  ["a connection that breaks while its writes are carried out", async () => {
    for (let i = 0; i < 20; i++) {
      const connection = new Connection();
      connection.send(many(10, (j) => put(odd(j), `/kv/h2-break/${i}/${j}`, "1")));
      await connection.until((seen) => seen.raw.length > 0);
      connection.socket.resetAndDestroy();
    }
    return true;
  }],
  ["a refused body is answered before it has come", async () => {
    const connection = new Connection();
    connection.send(headers(1, [...pseudo("PUT", A), ["content-length", "999999999"]], 0));
    const seen = await connection.over(1);
    return (seen.status[1] === 413 && seen.body[1].includes("value-too-large")) || seen;
  }],
  ["a request without a host is told what is missing", async () => {
    const seen = await new Connection().run(headers(1, noAuthority("GET", "/livez")), 1);
    return (seen.status[1] === 400 && /"code":"bad-request".*names no host \(:authority or Host\)/.test(seen.body[1])) || seen;
  }],
  ["Expect: 100-continue", async () => {
    const connection = new Connection();
    connection.send(headers(1, [...pseudo("PUT", A), ["expect", "100-continue"]], 0));
    const first = (await connection.until((seen) => 1 in seen.status)).status[1];
    connection.send(frame("DATA", END_STREAM, 1, "1"));
    const seen = await connection.over(1);
    return (first === 100 && seen.status[1] >= 200) || seen;
  }],
];

Connection.prototype.run = function (bytes, ...streams) {
  this.send(bytes);
  return this.over(...streams);
};

// A connection whose server has read that its settings are known.
async function settled() {
  const connection = new Connection();
  await connection.until((seen) => seen.raw.length >= 9);
  connection.send(frame("PING", 0, 0, "12345678"));
  await connection.until((seen) => seen.pongs > 0);
  return connection;
}

const outcome = (seen) => 1 in seen.reset ? -seen.reset[1] : seen.status[1];

async function lives() {
  const connection = new Connection();
  const seen = await connection.run(get(1, "/livez"), 1);
  connection.close("done");
  return seen.status[1] === 200;
}

async function main() {
  let [passed, failed] = [0, 0];
  const say = async (what, good, seen) => {
    if (good && !(await lives())) [good, seen] = [false, "no answer on a new connection"];
    if (good) passed++; else failed++;
    console.log(good ? `ok      ${what}` : `FAILED  ${what}: ${JSON.stringify(seen).slice(0, 600)}`);
  };
  for (const [what, bytes, wanted, stream = 1] of REQUESTS) {
    const connection = new Connection();
    const seen = await connection.run(bytes, stream);
    await say(what, !seen.timeout && [wanted].flat().includes(outcome(seen)), seen);
    connection.close("done");
  }
  for (const [what, bytes, wanted] of FAULTS) {
    const connection = new Connection();
    connection.send(bytes);
    const seen = await connection.until(() => false);
    await say(what, seen.goaway === wanted && seen.closed === "closed", seen);
  }
  for (const [what, story] of STORIES) {
    const seen = await story();
    await say(what, seen === true, seen);
  }
  // Such a table shows nothing if it cannot fail.
  const control = await new Connection().run(get(1, "/nowhere"), 1);
  await say("a wrong expectation is noticed", outcome(control) !== 200, control);
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}

main();

// HTTP/2 without an HTTP/2 client, for the tests beside this: frames out,
// frames in. The server is the one of the arguments HOST PORT.
"use strict";
const net = require("node:net");

const [host, port] = [process.argv[2], Number(process.argv[3])];
const PATIENCE_MS = Number(process.env.KX_PATIENCE ?? 60) * 1000;

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const TYPES = { DATA: 0, HEADERS: 1, PRIORITY: 2, RST_STREAM: 3, SETTINGS: 4, PUSH_PROMISE: 5,
  PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8, CONTINUATION: 9, UNKNOWN: 77 };
const NAMES = Object.fromEntries(Object.entries(TYPES).map(([name, type]) => [type, name]));
const END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8;

const u16 = (n) => Buffer.from([n >> 8, n & 255]);
const u32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32BE(n >>> 0); return b; };

function frame(type, flags, stream, payload = "") {
  const body = Buffer.from(payload, "latin1");
  return Buffer.concat([Buffer.from([0]), u16(body.length), Buffer.from([TYPES[type], flags]), u32(stream), body]);
}

// HPACK (RFC 7541): literals that are not indexed, without Huffman codes.
function integer(n, bits, first = 0) {
  const most = (1 << bits) - 1;
  if (n < most) return Buffer.from([first | n]);
  const bytes = [first | most];
  for (n -= most; n >= 128; n = Math.floor(n / 128)) bytes.push(n % 128 + 128);
  return Buffer.from([...bytes, n]);
}

const text = (s) => { const b = Buffer.from(s, "latin1"); return Buffer.concat([integer(b.length, 7), b]); };
const field = (name, value, first = 0) => Buffer.concat([Buffer.from([first]), text(name), text(value)]);
const fields = (list) => Buffer.concat(list.map(([name, value]) => field(name, value)));

const setting = (id, value) => Buffer.concat([u16(id), u32(value)]);
const settings = (...list) => frame("SETTINGS", 0, 0, Buffer.concat(list));
const HEADER_TABLE_SIZE = 1, INITIAL_WINDOW = 4;

// The head of a request; `more` are fields after the pseudo fields.
const pseudo = (method, path) =>
  [[":method", method], [":scheme", "http"], [":path", path], [":authority", "localhost"]];
const headers = (stream, list, flags = END_STREAM) =>
  frame("HEADERS", END_HEADERS | flags, stream, fields(list));
const get = (stream, path, more = []) => headers(stream, [...pseudo("GET", path), ...more]);
const put = (stream, path, body, more = []) => Buffer.concat([
  headers(stream, [...pseudo("PUT", path), ["content-type", "application/json"], ...more], 0),
  frame("DATA", END_STREAM, stream, body)]);

// The status of a reply: its first field, from the static table or a literal.
function statusOf(payload) {
  const indexed = { 8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500 };
  let at = 0;
  while ((payload[at] & 0xe0) === 0x20) at++; // sizes of the dynamic table
  if (payload[at] & 0x80) return indexed[payload[at] & 0x7f];
  if (!(payload[at + 1] & 0x80)) return Number(payload.toString("latin1", at + 2, at + 5));
  let bits = 0, count = 0, status = "";
  for (const byte of payload.subarray(at + 2, at + 2 + (payload[at + 1] & 0x7f)))
    for (let i = 7; i >= 0 && status.length < 3; i--) {
      bits = bits * 2 + (byte >> i & 1);
      count++;
      const digit = count === 5 && bits <= 2 ? bits : count === 6 ? bits - 0x19 + 3 : -1;
      if (digit < 0) continue;
      status += digit;
      bits = count = 0;
    }
  return Number(status);
}

// A connection whose server encodes without a dynamic table. `seen` is what
// came: statuses and resets by stream, bytes of bodies, GOAWAY's code.
class Connection {
  // quiet: it does not confirm the server's settings.
  constructor(first = [PREFACE, settings(setting(HEADER_TABLE_SIZE, 0))], { quiet = false, localAddress } = {}) {
    this.quiet = quiet;
    this.seen = { status: {}, body: {}, ended: {}, reset: {}, goaway: null, pongs: 0, closed: null, raw: "" };
    this.input = Buffer.alloc(0);
    this.waiting = [];
    this.socket = net.connect({ host, port, localAddress, noDelay: true });
    this.socket.on("data", (data) => this.take(data));
    this.socket.on("end", () => this.close("closed"));
    this.socket.on("error", () => this.close("reset"));
    this.send(...first);
  }
  send(...pieces) {
    if (this.seen.closed === null) this.socket.write(Buffer.concat(pieces));
  }
  close(how) {
    if (this.seen.closed === null) this.seen.closed = how;
    this.socket.destroy();
    this.check();
  }
  take(data) {
    if (this.seen.raw.length < 400) this.seen.raw += data.toString("latin1");
    this.input = Buffer.concat([this.input, data]);
    for (;;) {
      const size = this.input.length < 9 ? Infinity : this.input.readUIntBE(0, 3);
      if (this.input.length < 9 + size) break;
      this.frame(NAMES[this.input[3]], this.input[4], this.input.readUInt32BE(5), this.input.subarray(9, 9 + size));
      this.input = this.input.subarray(9 + size);
    }
    this.check();
  }
  frame(type, flags, stream, payload) {
    const seen = this.seen;
    if (type === "SETTINGS" && !(flags & ACK) && !this.quiet) this.send(frame("SETTINGS", ACK, 0));
    if (type === "HEADERS") seen.status[stream] = statusOf(payload);
    if (type === "DATA") seen.body[stream] = (seen.body[stream] ?? "") + payload.toString("latin1");
    if (type === "RST_STREAM") seen.reset[stream] = payload.readUInt32BE(0);
    if (type === "GOAWAY") seen.goaway = payload.readUInt32BE(4);
    if (type === "PING" && flags & ACK) seen.pongs++;
    if ((type === "HEADERS" || type === "DATA") && flags & END_STREAM) seen.ended[stream] = true;
  }
  check() {
    this.waiting = this.waiting.filter((wait) => !wait());
  }
  // What was seen once the condition holds, or the connection is closed, or the
  // patience is at its end (`timeout` is true then).
  until(condition) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => { this.seen.timeout = true; this.check(); }, PATIENCE_MS);
      this.waiting.push(() => {
        if (!condition(this.seen) && this.seen.closed === null && !this.seen.timeout) return false;
        clearTimeout(timer);
        resolve(this.seen);
        return true;
      });
      this.check();
    });
  }
  // A stream has ended: its reply is complete, or it was reset.
  over(...streams) {
    return this.until((seen) => streams.every((stream) => seen.ended[stream] || stream in seen.reset));
  }
}

module.exports = { Connection, PREFACE, frame, settings, setting, headers, get, put, pseudo, fields, field,
  integer, u32, END_STREAM, END_HEADERS, ACK, PADDED, HEADER_TABLE_SIZE, INITIAL_WINDOW };

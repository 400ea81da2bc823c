// Keys and values as JSON has them: what JSON lacks is written in the form of
// Deno's kv-utils, `{"type": ..., "value": ...}` (openapi.yaml, schema Typed).
import { ExactNumber, JsonText } from "./json.js";

/**
 * One part of a key. The number 1 and the bigint 1n are different parts. A part that
 * JavaScript cannot tell from another, a NaN with a sign, is a Typed.
 */
export type KeyPart = string | number | bigint | boolean | Uint8Array | Typed;
export type Key = readonly KeyPart[];

/** The 64-bit counter of Deno KV: `sum` wraps around at 2^64. */
export class KvU64 {
  constructor(readonly value: bigint) {
    if (value < 0n || value >= 1n << 64n) {
      throw new RangeError("a KvU64 is from 0 to 2^64 - 1");
    }
  }
}

/** Bytes with a media type, which are a whole value, not a part of one. */
export class Media extends Uint8Array {
  readonly #mediaType: string;

  constructor(bytes: ArrayLike<number> | ArrayBuffer, mediaType: string) {
    super(bytes as ArrayBuffer);
    this.#mediaType = mediaType;
  }

  get mediaType(): string {
    return this.#mediaType;
  }

  static get [Symbol.species]() {
    return Uint8Array;
  }
}

/**
 * A value that this runtime has none for, in the form in which the service writes it
 * (openapi.yaml, schema Typed): a value that contains itself, or a Blob, is of the type
 * `V8`. It is written back as it is.
 */
export class Typed {
  readonly type: string;
  readonly value?: unknown;
  readonly [member: string]: unknown;

  constructor(form: { readonly type: string; readonly [member: string]: unknown }) {
    this.type = form.type;
    Object.assign(this, form);
  }
}

type Form = { type: string; value?: unknown; [member: string]: unknown };
export type Stored = { value?: unknown; typed?: Form };

/** Levels of JSON that the service reads. */
const DEPTH_MAX = 64;
/** Holes of an array, each of which is written: as many as the service writes in a row. */
const HOLES_MAX = 4096;

const { getPrototypeOf, hasOwn } = Object;
const globals = globalThis as Record<string, any>;
const namesOf = (names: string) => names.split(" ").filter((name) => globals[name]);
const VIEWS = new Map<string, new (bytes: ArrayBuffer) => unknown>(
  namesOf(
    "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array " +
      "Uint32Array Float16Array Float32Array Float64Array BigInt64Array BigUint64Array " +
      "DataView",
  ).map((name) => [name, globals[name]]),
);
const ERRORS = new Map<string, ErrorConstructor>(
  namesOf("Error EvalError RangeError ReferenceError SyntaxError TypeError URIError")
    .map((name) => [name, globals[name]]),
);

// Objects that were read with members that are undefined. Otherwise these are left out,
// as everywhere in JSON.
const withUndefined = new WeakSet<object>();

// ---- Bytes and text ----------------------------------------------------------

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) {
    text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  }
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const bytes = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(bytes, (char) => char.charCodeAt(0));
}

/** Whether it has half a surrogate pair, which JSON cannot carry. */
const hasHalf = (text: string) => /\p{Surrogate}/u.test(text);

function toUtf16(text: string): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 * text.length));
  for (let i = 0; i < text.length; i++) view.setUint16(2 * i, text.charCodeAt(i), true);
  return new Uint8Array(view.buffer);
}

function fromUtf16(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 2) {
    text += String.fromCharCode(bytes[i] | bytes[i + 1] << 8);
  }
  return text;
}

// ---- Values as JSON ----------------------------------------------------------

// Of this realm or another, such as a page's frame.
function isPlainObject(value: object): boolean {
  const prototype = getPrototypeOf(value);
  return prototype === null ||
    getPrototypeOf(prototype) === null && hasOwn(prototype, "isPrototypeOf");
}

const isPlainArray = (value: object): value is unknown[] =>
  Array.isArray(value) && Array.isArray(getPrototypeOf(value));

function symbolOf(value: object): symbol | undefined {
  return Object.getOwnPropertySymbols(value)
    .find((name) => Object.prototype.propertyIsEnumerable.call(value, name));
}

/**
 * The JSON text of a value that comes back the same from it. undefined for any other,
 * and `path` is then where it is not the same.
 */
function jsonOf(value: unknown, path: string[], depth = 0): string | undefined {
  switch (typeof value) {
    case "string":
      return hasHalf(value) ? undefined : JSON.stringify(value);
    case "boolean":
      return String(value);
    case "number":
      if (!Number.isFinite(value)) return undefined;
      return Object.is(value, -0) ? "-0" : String(value);
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) return "null";
  if (value instanceof ExactNumber) return value.text;
  if (depth >= DEPTH_MAX || symbolOf(value)) return undefined;
  const array = isPlainArray(value);
  if (!array && (!isPlainObject(value) || withUndefined.has(value))) return undefined;
  const names = Object.keys(value);
  const texts: string[] = [];
  for (const [i, name] of names.entries()) {
    if (array && name !== String(i)) return undefined; // a hole, or no element
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined && !array) continue;
    const text = hasHalf(name) ? undefined : jsonOf(member, path, depth + 1);
    if (text === undefined) {
      path.unshift(name);
      return undefined;
    }
    texts.push(array ? text : `${JSON.stringify(name)}:${text}`);
  }
  if (array && names.length < value.length) return undefined;
  return array ? `[${texts.join()}]` : `{${texts.join()}}`;
}

// ---- Values in the typed form ------------------------------------------------

const viewName = Object.getOwnPropertyDescriptor(
  getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!.get!;

/** @internal What a value is, for a sentence: null, a string, an Array, a URL. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  const name = typeof value === "object" && value.constructor?.name || typeof value;
  return `${/^[AEIOaeio]/.test(name) ? "an" : "a"} ${name}`;
}

const numberText = (value: number) =>
  Object.is(value, -0) ? "-0" : Number.isFinite(value) ? value : String(value);

/** Writes one value. What cannot be stored is a TypeError that names its path. */
class TypedWriter {
  readonly #path: string[] = [];
  readonly #open: object[] = [];

  refuse(what: string, why = "cannot be stored"): never {
    const place = this.#path.map((name) => `/${name}`).join("");
    throw new TypeError(`${what}${place && ` at ${place}`} ${why}`);
  }

  /** What is inside of the value that is being written. */
  inside(name: string | number, value: unknown): Form {
    this.#path.push(String(name));
    const form = this.write(value);
    this.#path.pop();
    return form;
  }

  list(values: Iterable<unknown>): Form[] {
    return Array.from(values, (value, i) => this.inside(i, value));
  }

  /** Text that has no place for half a surrogate pair. */
  text(name: string, value: unknown): string {
    this.#path.push(name);
    if (typeof value !== "string") this.refuse(kindOf(value));
    if (hasHalf(value)) this.refuse("half a surrogate pair");
    this.#path.pop();
    return value;
  }

  member(value: object, name: string | symbol): never {
    this.#path.push(String(name));
    this.refuse(`a member of ${kindOf(value)}`);
  }

  write(value: unknown): Form {
    switch (typeof value) {
      case "undefined":
        return { type: "undefined" };
      case "string":
        if (!hasHalf(value)) return { type: "string", value };
        return {
          type: "string",
          value: value.replace(/\p{Surrogate}/gu, "\ufffd"),
          utf16: toBase64(toUtf16(value)),
        };
      case "boolean":
        return { type: "boolean", value };
      case "number":
        return { type: "number", value: numberText(value) };
      case "bigint":
        return { type: "bigint", value: String(value) };
      case "object":
        return value === null ? { type: "null", value } : this.#object(value);
      default:
        this.refuse(kindOf(value));
    }
  }

  #object(value: object): Form {
    if (this.#open.includes(value)) this.refuse("a value that contains itself");
    if (this.#open.length >= DEPTH_MAX) {
      this.refuse(`more than ${DEPTH_MAX} levels`, "cannot be stored");
    }
    this.#open.push(value);
    const form = isPlainArray(value)
      ? this.#array(value)
      : isPlainObject(value)
      ? this.#members(value as Record<string, unknown>)
      : ArrayBuffer.isView(value)
      ? this.#view(value)
      : this.#instance(value);
    const symbol = symbolOf(value);
    if (symbol) this.member(value, symbol);
    this.#open.pop();
    return form;
  }

  #array(value: unknown[]): Form {
    const names = Object.keys(value);
    const elements = names.filter((name) => String(Number(name) >>> 0) === name).length;
    if (elements < names.length) this.member(value, names[elements]);
    if (value.length - elements > HOLES_MAX) {
      this.refuse(`an array with more than ${HOLES_MAX} holes`);
    }
    const list = Array.from(value, (element, i) =>
      i in value ? this.inside(i, element) : { type: "hole" });
    return { type: "Array", value: list };
  }

  #members(value: Record<string, unknown>): Form {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined || withUndefined.has(value))
      .map(([name, member]) => [this.text(name, name), this.inside(name, member)]);
    return { type: "object", value: Object.fromEntries(members) };
  }

  #view(value: ArrayBufferView): Form {
    const type: string = viewName.call(value) ?? "DataView";
    const { buffer, byteOffset, byteLength } = value;
    const elements = (value as Uint8Array).length ?? 0;
    const isBytes = type === "Uint8Array"; // a Buffer, too
    if (!isBytes && value.constructor !== VIEWS.get(type)) this.refuse(kindOf(value));
    const extra = Object.keys(value)[elements];
    if (extra !== undefined) this.member(value, extra);
    const form: Form = {
      type,
      value: toBase64(new Uint8Array(buffer, byteOffset, byteLength)),
    };
    if (value instanceof Media) {
      if (this.#open.length > 1) this.refuse("a Media", "cannot be a part of a value");
      form.mediaType = value.mediaType;
    }
    return form;
  }

  #instance(value: object): Form {
    const write = INSTANCES.get(getPrototypeOf(value));
    if (!write) this.refuse(kindOf(value));
    const own = value instanceof Error ? ["message", "stack", "cause"] : [];
    const extra = Object.keys(value).find((name) => !own.includes(name));
    if (extra !== undefined && !UNNAMED.has(getPrototypeOf(value))) {
      this.member(value, extra);
    }
    return write(value, this);
  }

  /** Of the types that a whole value has. */
  whole(form: Form): Form {
    if (this.#open.length > 1) this.refuse(`the type ${form.type}`, "cannot be a part of a value");
    return form;
  }
}

type Write = (value: any, writer: TypedWriter) => Form;

function writeBuffer(value: ArrayBuffer): Form {
  const { resizable, maxByteLength } = value as { resizable?: boolean; maxByteLength?: number };
  const form = { type: "ArrayBuffer", value: toBase64(new Uint8Array(value)) };
  return resizable ? { ...form, maxByteLength } : form;
}

function writeError(value: Error, writer: TypedWriter): Form {
  if (hasOwn(value, "name")) writer.member(value, "name");
  const form: Record<string, unknown> = {};
  if (hasOwn(value, "message")) form.message = writer.text("message", value.message);
  if (hasOwn(value, "stack")) form.stack = writer.text("stack", value.stack);
  if (hasOwn(value, "cause")) form.cause = writer.inside("cause", value.cause);
  return { type: value.name, value: form };
}

function writeTyped(value: Typed, writer: TypedWriter): Form {
  const whole = ["V8", "KvU64"].includes(value.type) || value.mediaType !== undefined;
  return whole ? writer.whole({ ...value }) : { ...value };
}

/** By prototype: an instance of any other class would come back as another thing. */
const INSTANCES = new Map<object, Write>([
  [Map.prototype, (map: Map<unknown, unknown>, writer) => ({
    type: "Map",
    value: Array.from(map, (pair, i) => writer.inside(i, pair).value),
  })],
  [Set.prototype, (set, writer) => ({ type: "Set", value: writer.list(set) })],
  [Date.prototype, (date: Date) => ({
    type: "Date",
    value: Number.isNaN(date.getTime()) ? "Invalid Date" : date.toISOString(),
  })],
  [RegExp.prototype, (regexp, writer) => ({
    type: "RegExp",
    value: writer.text("source", String(regexp)),
  })],
  [ArrayBuffer.prototype, writeBuffer],
  [KvU64.prototype, ({ value }: KvU64, writer) =>
    writer.whole({ type: "KvU64", value: String(value) })],
  [Typed.prototype, writeTyped],
  [ExactNumber.prototype, ({ text }: ExactNumber, writer) =>
    writer.refuse(
      `the ExactNumber ${text}`,
      "cannot be stored beside what JSON lacks: there all numbers are doubles",
    )],
]);
for (const error of ERRORS.values()) INSTANCES.set(error.prototype, writeError);

// Those whose own members are what is written.
const UNNAMED = new Set<object>([KvU64.prototype, Typed.prototype, ExactNumber.prototype]);

// ---- Values from the typed form ----------------------------------------------

const listOf = (value: unknown) => (value as Form[]).map(fromTyped);

function readNumber({ value }: Form): number {
  const number = Number(value);
  if (numberText(number) !== value && typeof value === "string") throw new RangeError(value);
  return number;
}

function readArray({ value }: Form): unknown[] {
  const forms = value as Form[];
  const array: unknown[] = new Array(forms.length);
  forms.forEach((form, i) => {
    if (form.type !== "hole") array[i] = fromTyped(form);
  });
  return array;
}

function readObject({ value }: Form): object {
  const members = Object.entries(value as Record<string, Form>)
    .map(([name, member]) => [name, fromTyped(member)]);
  const object = Object.fromEntries(members);
  if (members.some(([, member]) => member === undefined)) withUndefined.add(object);
  return object;
}

function readRegExp({ value }: Form): RegExp {
  const text = value as string;
  const end = text.lastIndexOf("/");
  const regexp = new RegExp(text.slice(1, end), text.slice(end + 1));
  if (String(regexp) !== text) throw new SyntaxError(text);
  return regexp;
}

function readBuffer({ value, maxByteLength }: Form): ArrayBuffer {
  const bytes = fromBase64(value as string);
  if (maxByteLength === undefined) return bytes.buffer;
  if (!("maxByteLength" in ArrayBuffer.prototype)) throw new TypeError("a fixed ArrayBuffer");
  const buffer = new (ArrayBuffer as any)(bytes.length, { maxByteLength });
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

function readBytes({ value, mediaType }: Form): Uint8Array {
  const bytes = fromBase64(value as string);
  return mediaType === undefined ? bytes : new Media(bytes, mediaType as string);
}

function readError({ type, value }: Form): Error {
  const { message, stack, cause } = value as { message?: string; stack?: string; cause?: Form };
  const error = new (ERRORS.get(type)!)(message);
  if (stack === undefined) delete error.stack;
  else error.stack = stack;
  if (cause) {
    Object.defineProperty(error, "cause", {
      value: fromTyped(cause),
      configurable: true,
      writable: true,
    });
  }
  return error;
}

const READERS: Record<string, (form: Form) => unknown> = {
  null: () => null,
  undefined: () => undefined,
  string: ({ value, utf16 }) => utf16 ? fromUtf16(fromBase64(utf16 as string)) : value,
  boolean: ({ value }) => value,
  number: readNumber,
  bigint: ({ value }) => BigInt(value as string),
  KvU64: ({ value }) => new KvU64(BigInt(value as string)),
  Date: ({ value }) => new Date(value as string),
  RegExp: readRegExp,
  Array: readArray,
  Set: ({ value }) => new Set(listOf(value)),
  Map: ({ value }) =>
    new Map((value as Form[][]).map((pair) => listOf(pair) as [unknown, unknown])),
  object: readObject,
  ArrayBuffer: readBuffer,
};
for (const [name, View] of VIEWS) {
  READERS[name] = ({ value }) => new View(fromBase64(value as string).buffer);
}
READERS.Uint8Array = readBytes;
for (const name of ERRORS.keys()) READERS[name] = readError;

function fromTyped(form: Form): unknown {
  try {
    if (hasOwn(READERS, form.type)) return READERS[form.type](form);
  } catch { /* such as a flag of a RegExp that this runtime does not have */ }
  return new Typed(form);
}

// ---- Requests and answers ----------------------------------------------------

/** @internal The member of a request that has a value, as it is now. */
export function toStored(value: unknown): Stored {
  const text = jsonOf(value, []);
  if (text !== undefined) return { value: new JsonText(text) };
  return { typed: new TypedWriter().write(value) };
}

/** @internal What has a place only for JSON; TypeErrors call it by the name of the argument. */
export function toJson(value: unknown, argument: string): JsonText {
  const path: string[] = [];
  const text = jsonOf(value, path);
  if (text !== undefined) return new JsonText(text);
  const found = path.reduce((at: any, name) => at[name], value);
  const place = path.map((name) => `/${name}`).join("");
  throw new TypeError(`${argument}${place} is ${kindOf(found)}, which JSON has no form for`);
}

/** @internal The value of an entry of an answer; null without an entry. */
export function fromStored(stored: Stored): unknown {
  return stored.typed ? fromTyped(stored.typed) : stored.value ?? null;
}

/** @internal A key as requests have it; TypeErrors call it by the name of the argument. */
export function toKey(key: Key, argument: string): unknown[] {
  if (!Array.isArray(key)) {
    throw new TypeError(
      `${argument} is ${kindOf(key)}, not an array of parts such as ["users", 1]`,
    );
  }
  return Array.from(key as Key, (part, i) => {
    const isBytes = ArrayBuffer.isView(part) && viewName.call(part) === "Uint8Array";
    if (isBytes || part instanceof Typed) return new TypedWriter().write(part);
    if (!["string", "number", "bigint", "boolean"].includes(typeof part)) {
      throw new TypeError(
        `${argument}[${i}] is ${kindOf(part)}; ` +
          "parts are strings, numbers, bigints, booleans and bytes",
      );
    }
    const plain = !Object.is(part, -0) && jsonOf(part, []) !== undefined;
    return plain ? part : new TypedWriter().write(part);
  });
}

/** @internal A key of an answer. */
export function fromKey(key: readonly unknown[]): Key {
  return key.map((part) =>
    typeof part === "object" ? fromTyped(part as Form) : part
  ) as KeyPart[];
}

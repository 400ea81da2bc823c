// Keys and values as JSON has them: what JSON lacks is written in the form of
// Deno's kv-utils, `{"type": ..., "value": ...}` (openapi.yaml, schema Typed).

/** One part of a key. The number 1 and the bigint 1n are different parts. */
export type KeyPart = string | number | bigint | boolean | Uint8Array;
export type Key = readonly KeyPart[];

/** The 64-bit counter of Deno KV: `sum` wraps around at 2^64. */
export class KvU64 {
  constructor(readonly value: bigint) {
    if (value < 0n || value >= 1n << 64n) {
      throw new RangeError("a KvU64 is from 0 to 2^64 - 1");
    }
  }
}

export type Typed = { type: string; value?: unknown };
export type Stored = { value?: unknown; typed?: Typed };

type View = new (bytes: ArrayBuffer) => unknown;
const VIEWS = new Map<string, View>(
  [
    Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array,
    Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array,
    BigUint64Array, DataView,
  ].map((view) => [view.name, view]),
);

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const bytes = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(bytes, (char) => char.charCodeAt(0));
}

function numberText(value: number): string | null {
  if (Object.is(value, -0)) return "-0";
  return Number.isFinite(value) ? null : String(value);
}

// Does JSON.stringify write this so that the same comes back? Members that are
// undefined are left out, as everywhere in JSON.
function isJson(value: unknown): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return numberText(value) === null;
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (!isJson(value[i])) return false;
    }
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((member) =>
    member === undefined || isJson(member)
  );
}

const typedList = (values: Iterable<unknown>) => Array.from(values, toTyped);

function toTyped(value: unknown): Typed {
  switch (typeof value) {
    case "undefined":
      return { type: "undefined" };
    case "string":
    case "boolean":
      return { type: typeof value, value };
    case "number":
      return { type: "number", value: numberText(value) ?? value };
    case "bigint":
      return { type: "bigint", value: String(value) };
    case "object":
      return value === null ? { type: "null", value } : objectToTyped(value);
    default:
      throw new TypeError(`a ${typeof value} cannot be stored`);
  }
}

function objectToTyped(value: object): Typed {
  const type = value.constructor?.name ?? "object";
  if (Array.isArray(value)) return { type: "Array", value: typedList(value) };
  if (value instanceof KvU64) return { type: "KvU64", value: `${value.value}` };
  if (value instanceof Set) return { type, value: typedList(value) };
  if (value instanceof Map) {
    return { type, value: Array.from(value, (pair) => typedList(pair)) };
  }
  if (value instanceof Date) {
    const valid = !Number.isNaN(value.getTime());
    return { type, value: valid ? value.toISOString() : "Invalid Date" };
  }
  if (value instanceof RegExp) return { type, value: String(value) };
  if (value instanceof ArrayBuffer) {
    return { type, value: toBase64(new Uint8Array(value)) };
  }
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    const name = value instanceof Uint8Array ? "Uint8Array" : type;
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    return { type: name, value: toBase64(bytes) };
  }
  const members = Object.entries(value).filter(([, member]) =>
    member !== undefined
  );
  return {
    type: "object",
    value: Object.fromEntries(members.map(([k, v]) => [k, toTyped(v)])),
  };
}

function fromTyped({ type, value }: Typed): unknown {
  switch (type) {
    case "bigint":
      return BigInt(value as string);
    case "KvU64":
      return new KvU64(BigInt(value as string));
    case "number":
      return Number(value);
    case "undefined":
    case "hole":
      return undefined;
    case "Date":
      return new Date(value as string);
    case "RegExp": {
      const text = value as string;
      const end = text.lastIndexOf("/");
      return new RegExp(text.slice(1, end), text.slice(end + 1));
    }
    case "Array":
      return (value as Typed[]).map(fromTyped);
    case "Set":
      return new Set((value as Typed[]).map(fromTyped));
    case "Map":
      return new Map(
        (value as Typed[][]).map((pair) => pair.map(fromTyped)) as [
          unknown,
          unknown,
        ][],
      );
    case "object":
      return Object.fromEntries(
        Object.entries(value as Record<string, Typed>)
          .map(([name, member]) => [name, fromTyped(member)]),
      );
    case "ArrayBuffer":
      return fromBase64(value as string).buffer;
    case "V8":
      return fromBase64(value as string);
  }
  const view = VIEWS.get(type);
  if (view) return new view(fromBase64(value as string).buffer);
  if (type.endsWith("Error")) {
    const { message, cause } = value as { message?: Typed; cause?: Typed };
    const error = new Error(
      String(message ?? ""),
      cause && { cause: fromTyped(cause) },
    );
    error.name = type;
    return error;
  }
  return value;
}

/** @internal The member of a request that has a value. */
export function toStored(value: unknown): Stored {
  return isJson(value) ? { value } : { typed: toTyped(value) };
}

/** @internal The value of an entry of an answer; null without an entry. */
export function fromStored(stored: Stored): unknown {
  return stored.typed ? fromTyped(stored.typed) : stored.value ?? null;
}

/** @internal A key as requests have it. */
export function toKey(key: Key): unknown[] {
  return key.map((part) => isJson(part) ? part : toTyped(part));
}

/** @internal A key of an answer. */
export function fromKey(key: readonly unknown[]): Key {
  return key.map((part) =>
    typeof part === "object" ? fromTyped(part as Typed) : part
  ) as KeyPart[];
}

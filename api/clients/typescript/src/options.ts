// The arguments of methods, as a program in plain JavaScript may get them wrong: a
// member that no method reads would change what a list returns without a word.
import type { By, MutationOptions, SumOptions } from "./atomic.js";
import type { ListOptions, PutOptions, Selection } from "./client.js";
import type { CollectionOptions, Indexes } from "./collection.js";
import type { CallOptions, ConnectOptions } from "./http.js";
import { type Key, kindOf } from "./values.js";

/** @internal All members of a type: the compiler finds one that is missing or unknown. */
export type Members<T> = { readonly [member in keyof T]-?: true };

/** @internal */
export function checkObject(given: unknown, argument: string): void {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return;
  throw new TypeError(`${argument} is ${kindOf(given)}, not an object`);
}

/** @internal */
export function checkArray(given: unknown, argument: string): void {
  if (!Array.isArray(given)) {
    throw new TypeError(`${argument} is ${kindOf(given)}, not an array`);
  }
}

/** @internal Throws a TypeError for members that are none of these. */
export function checkOptions<T>(
  given: T | undefined,
  members: Members<T>,
  argument = "options",
): void {
  if (given === undefined) return;
  checkObject(given, argument);
  for (const name of Object.keys(given as object)) {
    if (Object.hasOwn(members, name)) continue;
    const all = Object.keys(members).join(", ");
    throw new TypeError(`${argument} has no member ${name}: there are ${all}`);
  }
}

/** @internal */
export const CONNECT: Members<ConnectOptions> = {
  token: true,
  retries: true,
  answerBytesMax: true,
  fetch: true,
};
/** @internal */
export const CALL: Members<CallOptions> = { signal: true };
/** @internal */
export const BY: Members<By> = { index: true, value: true };
/** @internal */
export const RETURN: Members<Pick<MutationOptions, "return">> = { return: true };
/** @internal */
export const MUTATION: Members<MutationOptions> = {
  ...RETURN,
  ttl: true,
  expiresAt: true,
  ttlOf: true,
};
/** @internal */
export const SUM: Members<SumOptions> = { ...MUTATION, min: true, max: true, out: true };
/** @internal */
export const PUT: Members<PutOptions> = {
  ...CALL,
  ttl: true,
  expiresAt: true,
  versionstamp: true,
};
/** @internal */
export const SELECTED: Members<Selection & CallOptions> = {
  ...CALL,
  prefix: true,
  start: true,
  end: true,
  index: true,
};
/** @internal Of a list whose prefix and index are given by what is listed. */
export const LIST_OF: Members<Omit<ListOptions, "prefix" | "index">> = {
  ...CALL,
  start: true,
  end: true,
  reverse: true,
  limit: true,
  pageSize: true,
  fields: true,
  keys: true,
};
/** @internal */
export const LIST: Members<ListOptions> = { ...SELECTED, ...LIST_OF };
/** @internal */
export const SINCE: Members<CallOptions & { since?: string }> = { ...CALL, since: true };
/** @internal */
export const UPSERT: Members<CallOptions & { ttl?: string }> = { ...CALL, ttl: true };
/** @internal */
export const CREATE: Members<CallOptions & { ttl?: string; create?: Key }> = {
  ...UPSERT,
  create: true,
};
/** @internal */
export const COLLECTION: Members<CollectionOptions<Indexes>> = {
  prefix: true,
  schema: true,
  indexes: true,
};

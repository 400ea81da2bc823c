// The arguments of methods, as a program in plain JavaScript may get them wrong: a
// member that no method reads would change what a list returns without a word.
import type { By, MutationOptions, SetOptions, SumOptions } from "./atomic.js";
import type {
  AddOptions,
  ApplyOptions,
  BulkEntry,
  CountOptions,
  GetOptions,
  IndexDeclaration,
  ListedRange,
  ListOptions,
  PageOptions,
  PatchRangeOptions,
  PutOptions,
  Question,
  Range,
  RangesOptions,
  Selection,
  WatchIndexOptions,
} from "./client.js";
import type { CollectionOptions, Indexes, IndexOptions } from "./collection.js";
import type { CallOptions, ConnectOptions } from "./http.js";
import type { ReadListOptions, TransactionOptions } from "./transaction.js";
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

/** @internal Infinity is a limit; what is no number would end a list without a word. */
export function checkCount(count: number, least: number, argument: string): void {
  if (typeof count === "number" && count >= least) return;
  throw new TypeError(`${argument} is ${typeof count === "number" ? count : kindOf(count)}, ` +
    `not a number from ${least} up`);
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
  consistency: true,
  fetch: true,
};
/** @internal */
export const CALL: Members<CallOptions> = { signal: true };
/** @internal */
export const BY: Members<By> = { index: true, value: true };
/** @internal */
export const GET: Members<GetOptions> = { ...CALL, fields: true, expand: true };
/** @internal */
export const RETURNS: Members<Pick<MutationOptions, "returns">> = { returns: true };
/** @internal */
export const MUTATION: Members<MutationOptions> = {
  ...RETURNS,
  ttl: true,
  expiresAt: true,
  ttlOf: true,
};
/** @internal */
export const SET: Members<SetOptions> = { ...MUTATION, suffix: true };
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
export const RANGE: Members<Range> = { prefix: true, start: true, end: true };
/** @internal */
export const SELECTION: Members<Selection> = { ...RANGE, index: true };
/** @internal */
export const LISTED: Members<ListedRange> = { ...SELECTION, reverse: true };
/** @internal */
export const SELECTED: Members<Selection & CallOptions> = { ...CALL, ...SELECTION };
/** @internal */
export const COUNT: Members<CountOptions> = { ...CALL, estimate: true };
/** @internal */
export const COUNTED: Members<Selection & CountOptions> = { ...SELECTED, ...COUNT };
/** @internal */
export const PAGES: Members<PageOptions> = { ...CALL, limit: true, pageSize: true };
/** @internal */
export const CHILDREN: Members<Selection & PageOptions> = { ...PAGES, ...SELECTION };
/** @internal */
export const AGGREGATED: Members<Range & CallOptions> = { ...CALL, ...RANGE };
/** @internal */
export const RANGES: Members<RangesOptions> = {
  ...PAGES,
  order: true,
  fields: true,
  keys: true,
};
/** @internal Of a list whose prefix and index are given by what is listed. */
export const LIST_OF: Members<Omit<ListOptions, "prefix" | "index">> = {
  ...RANGES,
  start: true,
  end: true,
  reverse: true,
  where: true,
  in: true,
  expand: true,
};
/** @internal */
export const READ_LIST: Members<ReadListOptions> = {
  ...RANGE,
  reverse: true,
  limit: true,
  pageSize: true,
  fields: true,
  keys: true,
};
/** @internal */
export const TRANSACTION: Members<TransactionOptions> = { ...CALL, tries: true };
/** @internal */
export const PATCHED: Members<PatchRangeOptions> = {
  ...SELECTED,
  patch: true,
  operations: true,
  ttl: true,
};
/** @internal */
export const LINE: Members<BulkEntry> = { key: true, value: true, ttl: true, expiresAt: true };
/** @internal */
export const QUESTION: Members<Question> = {
  prefix: true,
  depth: true,
  where: true,
  order: true,
  reverse: true,
  fields: true,
};
/** @internal */
export const LIST: Members<ListOptions> = { ...SELECTED, ...LIST_OF };
/** @internal */
export const WATCH_INDEX: Members<WatchIndexOptions> = { ...CALL, since: true, prefix: true };
/** @internal */
export const ADD: Members<AddOptions> = { ...CALL, ttl: true };
/** @internal */
export const CREATE: Members<CallOptions & { ttl?: string; create?: Key }> = {
  ...ADD,
  create: true,
};
/** @internal */
export const APPLY: Members<ApplyOptions> = { ...CALL, declarations: true, prune: true };
/** @internal */
export const INDEX: Members<IndexOptions> = {
  fields: true,
  unique: true,
  fold: true,
  store: true,
  where: true,
  missing: true,
  tombstones: true,
  queue: true,
  depth: true,
  adopt: true,
};
/** @internal */
export const DECLARATION: Members<IndexDeclaration> = { ...INDEX, name: true, prefix: true };
/** @internal */
export const COLLECTION: Members<CollectionOptions<Indexes>> = {
  prefix: true,
  schema: true,
  indexes: true,
};

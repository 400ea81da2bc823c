import {
  Atomic,
  type Commit,
  type Comparison,
  type Entry,
  type MaybeEntry,
  toEntry,
  toWhere,
} from "./atomic.js";
import {
  Collection,
  type CollectionOf,
  type CollectionOptions,
  type IndexField,
  type IndexOptions,
  type Indexes,
  type StandardSchema,
} from "./collection.js";
import { KindexError } from "./error.js";
import { type CallOptions, type ConnectOptions, sleep, textOf, Transport } from "./http.js";
import { JsonText, parseJson, stringifyJson } from "./json.js";
import {
  ADD,
  AGGREGATED,
  APPLY,
  CALL,
  checkArray,
  checkCount,
  checkObject,
  checkOptions,
  CHILDREN,
  COUNTED,
  CREATE,
  DECLARATION,
  GET,
  LINE,
  LIST,
  LISTED,
  PATCHED,
  PUT,
  QUESTION,
  RANGES,
  SELECTED,
  WATCH_INDEX,
} from "./options.js";
import { Queue } from "./queue.js";
import { type Transaction, type TransactionOptions, transact } from "./transaction.js";
import { fromKey, type Key, toJson, toKey, toStored } from "./values.js";
import { serverEvents } from "./watch.js";

export interface Range {
  /** The keys that begin with these parts and have more; of an index, its first values. */
  prefix?: Key;
  start?: Key;
  end?: Key;
}
export interface Selection extends Range {
  /** In the order of this index, by its values. */
  index?: string;
}
export interface ListedRange extends Selection {
  reverse?: boolean;
}
export interface PageOptions extends CallOptions {
  /** At most so many in all. */
  limit?: number;
  /** How many one request asks for, 100 unless given. */
  pageSize?: number;
}
export interface RangesOptions extends PageOptions {
  /** Of several ranges or values: one after another, or all in one order. */
  order?: "concat" | "merge";
  /** Only these members of the values, as JSON Pointers. */
  fields?: readonly string[];
  /** Without values, which are null then. */
  keys?: boolean;
}
export interface ListOptions extends ListedRange, RangesOptions, GetOptions {
  /** Only entries whose values meet the conditions, which are tested one by one. */
  where?: Comparison | readonly Comparison[];
  /** With `index`: the values that its fields after the prefix may have. */
  in?: readonly Key[];
}
export interface CountOptions extends CallOptions {
  /** About how many, in little time. */
  estimate?: boolean;
}
export interface GetOptions extends CallOptions {
  /** Only these members of the values, as JSON Pointers. */
  fields?: readonly string[];
  /** References to follow: "/user" by a rule, or "/user:users". */
  expand?: readonly string[];
}
export interface PatchRangeOptions extends Selection, CallOptions {
  /** A merge patch (RFC 7396), or the operations of a JSON Patch (RFC 6902). */
  patch?: unknown;
  operations?: readonly object[];
  ttl?: string;
}
export interface WatchIndexOptions extends CallOptions {
  /** Where the last change was taken up. */
  since?: string;
  /** A value of each field before the versionstamp. */
  prefix?: Key;
}

/** The totals of groups; sums are exact, as decimal text. */
export interface Aggregate {
  count: number;
  sum?: Record<string, string>;
  groups: number;
  /** Entries that meet the index's conditions and are in no group; null: unknown. */
  leftOut?: number | null;
}
/** The next part of keys under a prefix. */
export interface Child {
  key: Key;
  /** Whether there is an entry with this very key. */
  entry: boolean;
  /** How many have longer keys, estimated unless `exact`; null: unknown, but many. */
  below: number | null;
  exact: boolean;
}
/** A condition of a query: of a member of the values, or of a part of the keys. */
export type Condition =
  & Omit<Comparison, "path">
  & { fold?: "none" | "lower" | "casefold"; each?: boolean }
  & ({ path: string } | { key: number });
export interface Question {
  prefix: Key;
  depth?: number;
  where?: Condition | readonly Condition[];
  order?: readonly (string | IndexField)[];
  reverse?: boolean;
  fields?: readonly string[];
}
/** Whether an index, or the entries themselves, answers a query. */
export interface Fit {
  index?: string;
  answers: boolean;
  request?: string;
  rows?: number;
  exact?: boolean;
  reasons?: { code: string; detail: string }[];
  /** The index may leave out entries of the query, but leaves out none of those stored. */
  leavesOut?: 0;
  /** The change of the declaration that makes this permanent. */
  permanent?: { missing: "error" };
}
export interface Explanation {
  entries: Fit;
  indexes: Fit[];
  /** The request that reads least; null if none answers without an index. */
  request: string | null;
  index: string | null;
  /** The index that would answer. */
  declaration?: Record<string, unknown>;
  [member: string]: unknown;
}
export interface BulkEntry {
  key: Key;
  value: unknown;
  ttl?: string;
  expiresAt?: number;
}

export interface PutOptions extends CallOptions {
  /** Such as `30m`, or `keep`. */
  ttl?: string;
  expiresAt?: number;
  /** Only if the entry has this version; null: only if there is no entry. */
  versionstamp?: string | null;
}

export interface AddOptions extends CallOptions {
  ttl?: string;
}

/** A declaration, as `POST /indexes` takes it. */
export interface IndexDeclaration extends IndexOptions {
  name: string;
  prefix: Key;
}
export interface ApplyOptions extends CallOptions {
  /** Beside the indexes of the collections. */
  declarations?: readonly IndexDeclaration[];
  /** Drop all other indexes. */
  prune?: boolean;
}
export interface IndexChangePlan {
  name: string;
  change: "declared" | "changed" | "rebuilt" | "dropped" | "unchanged";
  [member: string]: unknown;
}
export interface Index extends IndexDeclaration {
  state: "building" | "ready" | "conflicted" | "migrating" | "dropping" | "failed";
  entries: number;
  [member: string]: unknown;
}

/** What has changed under a prefix; after a reset anything may have: list it. */
export type PrefixChange<T> =
  | { reset: true; entries: [] }
  | { reset: false; entries: MaybeEntry<T>[] };

/** Entries of one commit; take them up when `since`, the next position, comes. */
export interface IndexChange<T> {
  entries: (Entry<T> & { deleted?: true })[];
  since?: string;
}

type Deleted = { deleted: number; more: boolean; cursor?: string };
type Page = { entries: Parameters<typeof toEntry>[0][]; cursor: string | null };
type Patched = { patched: number; more: boolean; cursor?: string };
type WireIndex = Index & { prefix: unknown[] };
type BulkEnd = { end?: true; error?: Record<string, unknown>; stored: number };

const WAIT_SECONDS = 30;
const TYPED = "application/vnd.kindex.typed+json";
/** Of the text of one request of `bulk`, unless one line is longer. */
const BULK_CHARS = 1 << 20;

function text(key: Key | undefined, argument: string): string | undefined {
  return key && JSON.stringify(toKey(key, argument));
}

function toBody(declaration: IndexDeclaration): object {
  checkObject(declaration, "declaration");
  checkOptions(declaration, DECLARATION, "declaration");
  const { prefix, fold, fields, queue, ...rest } = declaration;
  const dead = queue?.dead && toKey(queue.dead, "declaration.queue.dead");
  return toJson({
    ...rest,
    fields: fields?.map((field) => typeof field === "string" ? { path: field, fold } : field),
    queue: queue && { ...queue, dead },
    prefix: toKey(prefix, "declaration.prefix"),
  }, "declaration");
}

const fromIndex = (index: WireIndex): Index => ({ ...index, prefix: fromKey(index.prefix) });
const pathOf = (index: string) => `/indexes/${encodeURIComponent(index)}`;

/** The members of a request whose body is a value. */
function valueBody(value: unknown) {
  const { typed, value: json } = toStored(value);
  return { body: typed ?? json, headers: typed && { "Content-Type": TYPED } };
}

function fieldsOf(fields: readonly string[] | undefined): readonly string[] | undefined {
  if (fields !== undefined) checkArray(fields, "fields");
  return fields;
}

function toRange({ prefix, start, end, index }: Selection) {
  return {
    prefix: prefix && toKey(prefix, "prefix"),
    start: start && toKey(start, "start"),
    end: end && toKey(end, "end"),
    index,
  };
}

function toQuery(selection: Selection) {
  const { index, ...bounds } = toRange(selection);
  const [prefix, start, end] = [bounds.prefix, bounds.start, bounds.end]
    .map((key) => key && JSON.stringify(key));
  return { prefix, start, end, index };
}

/** The items of pages, each of which `ask` gets, from all that there are to the limit. */
async function* paged<P extends { cursor: string | null }, I>(
  { limit = Infinity, pageSize = 100 }: PageOptions,
  ask: (place: { limit: number; cursor?: string }) => Promise<P>,
  itemsOf: (page: P) => I[],
): AsyncGenerator<I> {
  checkCount(limit, 0, "limit");
  checkCount(pageSize, 1, "pageSize");
  let cursor: string | undefined;
  for (let left = limit; left > 0;) {
    const page = await ask({ limit: Math.min(left, pageSize), cursor });
    const items = itemsOf(page);
    yield* items;
    left -= items.length;
    if (page.cursor === null) return;
    cursor = page.cursor;
  }
}

/** The last line of an answer of `POST /bulk`. Without it the answer was cut off. */
function bulkEnd(text: string): BulkEnd {
  const end: BulkEnd = parseJson(text.slice(text.trimEnd().lastIndexOf("\n") + 1));
  if (!end.end && !end.error) throw new TypeError("the answer is cut off");
  return end;
}

/** A service. Methods throw a KindexError for every answer that is no success. */
export class Kindex {
  readonly #url: string;
  readonly #options: ConnectOptions;
  readonly #transport: Transport;
  readonly #declared = new Map<string, IndexDeclaration>();

  constructor(url: string | URL, options: ConnectOptions = {}) {
    this.#url = String(url);
    this.#options = options;
    this.#transport = new Transport(url, options);
  }

  async get<T = unknown>(key: Key, options?: GetOptions): Promise<MaybeEntry<T>> {
    toKey(key, "key");
    return (await this.getMany<T>([key], options))[0];
  }

  /** Up to 1000 entries, in one consistent view. */
  async getMany<T = unknown>(
    keys: readonly Key[],
    options: GetOptions = {},
  ): Promise<MaybeEntry<T>[]> {
    checkOptions(options, GET);
    checkArray(keys, "keys");
    const { signal, fields, expand } = options;
    if (expand !== undefined) checkArray(expand, "expand");
    const { entries } = await this.#transport.json<Page>({
      signal,
      method: "POST",
      path: "/get",
      body: {
        keys: keys.map((key, i) => toKey(key, `keys[${i}]`)),
        fields: fieldsOf(fields),
        expand,
      },
      reads: true,
    });
    return entries.map((entry) => toEntry<T>(entry));
  }

  /** The jobs of an index that is declared with `queue`. */
  queue<T = unknown>(name: string): Queue<T> {
    return new Queue<T>(this.#transport, name);
  }

  /** The names of the queues. */
  async queues(options?: CallOptions): Promise<string[]> {
    checkOptions(options, CALL);
    const { queues } = await this.#transport.json<{ queues: { name: string }[] }>({
      ...options,
      method: "GET",
      path: "/queues",
    });
    return queues.map(({ name }) => name);
  }

  atomic(): Atomic {
    return new Atomic(this.#transport);
  }

  /**
   * Does the work, and commits what it writes if everything that it read is still the
   * same. Otherwise, after a pause, it does the work again; other errors are thrown.
   * Resolves to what the work returns.
   */
  transaction<R>(
    work: (transaction: Transaction) => R | Promise<R>,
    options?: TransactionOptions,
  ): Promise<R> {
    return transact(this, this.#transport, work, options);
  }

  /** Returns the versionstamp, or null if the entry has another version. */
  async put(key: Key, value: unknown, options: PutOptions = {}): Promise<string | null> {
    checkOptions(options, PUT);
    toKey(key, "key");
    const { versionstamp, signal, ...rest } = options;
    const atomic = this.atomic().set(key, value, rest);
    if (versionstamp !== undefined) atomic.check({ of: key, versionstamp });
    return stampOf(await atomic.commit({ signal }));
  }

  /** Applies a merge patch (RFC 7396). */
  async patch(key: Key, patch: unknown, options: PutOptions = {}): Promise<string | null> {
    checkOptions(options, PUT);
    toKey(key, "key");
    const { versionstamp, signal, ...rest } = options;
    const atomic = this.atomic().patch(key, patch, rest);
    if (versionstamp !== undefined) atomic.check({ of: key, versionstamp });
    return stampOf(await atomic.commit({ signal }));
  }

  /** Returns what was there. */
  async delete<T = unknown>(key: Key, options?: CallOptions): Promise<MaybeEntry<T>> {
    toKey(key, "key");
    const commit = await this.atomic().delete(key, { returns: "old" }).commit(options);
    return (commit as { results: unknown[] }).results[0] as MaybeEntry<T>;
  }

  /** Stores a value under the prefix and one more part, by which entries are in order. */
  async add(
    prefix: Key,
    value: unknown,
    options: AddOptions = {},
  ): Promise<{ key: Key; versionstamp: string }> {
    checkOptions(options, ADD);
    const { signal, ttl } = options;
    const { key, versionstamp } = await this.#transport.json<
      { key: unknown[]; versionstamp: string }
    >({
      signal,
      method: "POST",
      path: "/kv",
      query: { key: text(prefix, "prefix"), ttl },
      ...valueBody(value),
      writes: true,
    });
    return { key: fromKey(key), versionstamp };
  }

  list<T = unknown>(options: ListOptions = {}): AsyncGenerator<Entry<T>> {
    checkOptions(options, LIST);
    const { signal, fields, reverse, keys, where, in: values, order, expand } = options;
    if (values !== undefined) checkArray(values, "in");
    if (expand !== undefined) checkArray(expand, "expand");
    const query = {
      ...toQuery(options),
      reverse,
      keys,
      order,
      fields: fieldsOf(fields) && JSON.stringify(fields),
      expand: expand?.join(","),
      where: where && stringifyJson(toWhere(where)),
      in: values?.map((value, i) => JSON.stringify(toKey(value, `in[${i}]`))),
    };
    const ask = (place: object) =>
      this.#transport.json<Page>({
        signal,
        method: "GET",
        path: "/list",
        query: { ...query, ...place },
        reads: true,
      });
    return paged(options, ask, (page) => page.entries.map((one) => toEntry<T>(one) as Entry<T>));
  }

  /** The entries of up to 64 ranges as one list, each entry once. */
  listRanges<T = unknown>(
    ranges: readonly ListedRange[],
    options: RangesOptions = {},
  ): AsyncGenerator<Entry<T>> {
    checkArray(ranges, "ranges");
    checkOptions(options, RANGES);
    const { signal, fields, keys, order } = options;
    const body = {
      ranges: ranges.map((range, i) => {
        checkOptions(range, LISTED, `ranges[${i}]`);
        return { ...toRange(range), reverse: range.reverse };
      }),
      order,
      keys,
      fields: fieldsOf(fields),
    };
    const ask = (place: object) =>
      this.#transport.json<Page>({
        signal,
        method: "POST",
        path: "/list",
        body: { ...body, ...place },
        reads: true,
      });
    return paged(options, ask, (page) => page.entries.map((one) => toEntry<T>(one) as Entry<T>));
  }

  /** The parts that follow a prefix, of keys or of the values of an index. */
  children(options: Selection & PageOptions = {}): AsyncGenerator<Child> {
    checkOptions(options, CHILDREN);
    const query = toQuery(options);
    const ask = (place: object) =>
      this.#transport.json<{ children: (Child & { key: unknown[] })[]; cursor: string | null }>({
        signal: options.signal,
        method: "GET",
        path: "/tree",
        query: { ...query, ...place },
        reads: true,
      });
    return paged(options, ask, ({ children }) =>
      children.map((child) => ({ ...child, key: fromKey(child.key) })));
  }

  async count(selection: Selection & CountOptions = {}): Promise<number> {
    checkOptions(selection, COUNTED, "selection");
    const { count } = await this.#transport.json<{ count: number }>({
      signal: selection.signal,
      method: "GET",
      path: "/count",
      query: { ...toQuery(selection), estimate: selection.estimate },
      reads: true,
    });
    return count;
  }

  /** The totals of an index of totals, or of those of its groups in a range, as one. */
  async aggregate(index: string, range: Range & CallOptions = {}): Promise<Aggregate> {
    checkOptions(range, AGGREGATED, "range");
    return await this.#transport.json({
      signal: range.signal,
      method: "GET",
      path: "/aggregate",
      query: { ...toQuery(range), index },
      reads: true,
    });
  }

  /** Which index answers a query, by which request, or which one would. */
  async explain(question: Question, options?: CallOptions): Promise<Explanation> {
    checkOptions(options, CALL);
    checkObject(question, "question");
    checkOptions(question, QUESTION, "question");
    const { prefix, where, ...rest } = question;
    return await this.#transport.json({
      ...options,
      method: "POST",
      path: "/explain",
      body: { ...rest, prefix: toKey(prefix, "question.prefix"), where: where && toWhere(where) },
    });
  }

  /**
   * Stores entries, many in each commit, and returns how many. At the first one that is
   * refused a KindexError has their number in `problem.stored`: those before are stored.
   */
  async bulk(
    entries: Iterable<BulkEntry> | AsyncIterable<BulkEntry>,
    options?: CallOptions,
  ): Promise<number> {
    checkOptions(options, CALL);
    let stored = 0;
    let lines = "";
    const send = async () => {
      if (lines !== "") stored += await this.#bulk(lines, stored, options);
      lines = "";
    };
    for await (const entry of entries) {
      checkObject(entry, "entry");
      checkOptions(entry, LINE, "entry");
      const { key, value, ...times } = entry;
      const line = { key: toKey(key, "entry.key"), ...toStored(value), ...times };
      lines += `${stringifyJson(line)}\n`;
      if (lines.length >= BULK_CHARS) await send();
    }
    await send();
    return stored;
  }

  // Sent again, the lines set the same entries, so that they need no idempotency key.
  async #bulk(lines: string, before: number, options?: CallOptions): Promise<number> {
    const refused = (status: number, problem: Record<string, unknown>, stored: number) =>
      new KindexError(status, { ...problem, stored: before + stored });
    try {
      const end = await this.#transport.send({
        ...options,
        method: "POST",
        path: "/bulk",
        headers: { "Content-Type": "application/x-ndjson" },
        body: new JsonText(lines),
      }, async (answer) => bulkEnd(await textOf(answer)));
      if (end.end) return end.stored;
      throw refused(end.error!.status as number, end.error!, end.stored);
    } catch (error) {
      if (error instanceof KindexError && error.problem.stored === undefined) {
        throw refused(error.status, { ...error.problem }, 0);
      }
      throw error;
    }
  }

  /** Deletes what a list would have, in commits of up to 1000; returns how many. */
  async deleteRange(selection: Selection & CallOptions): Promise<number> {
    checkOptions(selection, SELECTED, "selection");
    for (let all = 0, cursor: string | undefined;;) {
      const page: Deleted = await this.#transport.json({
        signal: selection.signal,
        method: "DELETE",
        path: "/list",
        query: { ...toQuery(selection), cursor },
        writes: true,
      });
      all += page.deleted;
      if (!page.more) return all;
      cursor = page.cursor;
    }
  }

  /** Patches what a list would have, in commits of up to 1000; returns how many. */
  async patchRange(options: PatchRangeOptions): Promise<number> {
    checkOptions(options, PATCHED);
    const { signal, patch, operations, ttl } = options;
    if (operations !== undefined) checkArray(operations, "operations");
    const body = operations ?? patch;
    const kind = operations ? "json-patch" : "merge-patch";
    for (let all = 0, cursor: string | undefined;;) {
      const page: Patched = await this.#transport.json({
        signal,
        method: "PATCH",
        path: "/list",
        query: { ...toQuery(options), ttl, cursor },
        ...body !== undefined && {
          headers: { "Content-Type": `application/${kind}+json` },
          body: toJson(body, operations ? "operations" : "patch"),
        },
        writes: true,
      });
      all += page.patched;
      if (!page.more) return all;
      cursor = page.cursor;
    }
  }

  /** First all of up to 100 entries, then those that have changed, without an end. */
  async *watch<T = unknown>(
    keys: readonly Key[],
    options?: CallOptions,
  ): AsyncGenerator<MaybeEntry<T>[]> {
    checkOptions(options, CALL);
    checkArray(keys, "keys");
    const query = keys.map((key, i) =>
      `key=${encodeURIComponent(JSON.stringify(toKey(key, `keys[${i}]`)))}`
    );
    const path = `/watch?${query.join("&")}`;
    for await (const { data } of serverEvents(this.#transport, path, options?.signal)) {
      yield parseJson(data).entries.map(toEntry);
    }
  }

  /** First a reset, then what changes under a prefix, without an end. */
  async *watchPrefix<T = unknown>(
    prefix: Key,
    options?: CallOptions,
  ): AsyncGenerator<PrefixChange<T>> {
    checkOptions(options, CALL);
    const path = `/watch?prefix=${encodeURIComponent(JSON.stringify(toKey(prefix, "prefix")))}`;
    const events = serverEvents(this.#transport, path, options?.signal);
    for await (const { event, data } of events) {
      if (event === "reset") yield { reset: true, entries: [] };
      else yield { reset: false, entries: parseJson(data).entries.map(toEntry) };
    }
  }

  /** The entries of an index of changes, then those of each commit, without an end. */
  async *watchIndex<T = unknown>(
    index: string,
    options: WatchIndexOptions = {},
  ): AsyncGenerator<IndexChange<T>> {
    checkOptions(options, WATCH_INDEX);
    const { since, prefix, signal } = options;
    const query = { index, since, prefix: text(prefix, "prefix") };
    const given = Object.entries(query).flatMap(([name, value]) =>
      value ? [`${name}=${encodeURIComponent(value)}`] : []);
    const events = serverEvents(this.#transport, `/watch?${given.join("&")}`, signal);
    for await (const { id, data } of events) {
      const entries = data ? parseJson(data).entries ?? [] : [];
      yield { entries: entries.map(toEntry), since: id };
    }
  }

  /** Declares an index, and resolves when it can be read. Twice is once. */
  async declareIndex(declaration: IndexDeclaration, options?: CallOptions): Promise<Index> {
    checkOptions(options, CALL);
    await this.#transport.done({
      ...options,
      method: "POST",
      path: "/indexes",
      body: toBody(declaration),
    });
    return await this.#settled(declaration.name, options);
  }

  async #settled(name: string, options?: CallOptions): Promise<Index> {
    for (;;) {
      const index = await this.getIndex(name, options);
      if (stateOf(index) !== "building") return index;
      await sleep(100, options?.signal);
    }
  }

  async getIndex(name: string, options?: CallOptions): Promise<Index> {
    checkOptions(options, CALL);
    return fromIndex(
      await this.#transport.json<WireIndex>({
        ...options,
        method: "GET",
        path: pathOf(name),
        headers: { Prefer: `wait=${WAIT_SECONDS}` },
      }),
    );
  }

  async listIndexes(options?: CallOptions): Promise<Index[]> {
    checkOptions(options, CALL);
    const { indexes } = await this.#transport.json<{ indexes: WireIndex[] }>({
      ...options,
      method: "GET",
      path: "/indexes",
    });
    return indexes.map(fromIndex);
  }

  /**
   * Changes members of the declaration; null stands for the default. Resolves when the
   * index has the new form. Until then it can be read in the old one.
   */
  async migrateIndex(
    name: string,
    changes: { [member in keyof Omit<IndexDeclaration, "name" | "fold" | "queue" | "adopt">]?:
      IndexDeclaration[member] | null },
    options?: CallOptions,
  ): Promise<Index> {
    checkOptions(options, CALL);
    checkObject(changes, "changes");
    const { prefix } = changes;
    await this.#transport.done({
      ...options,
      method: "PATCH",
      path: pathOf(name),
      headers: { "Content-Type": "application/merge-patch+json" },
      body: toJson({ ...changes, prefix: prefix && toKey(prefix, "changes.prefix") }, "changes"),
    });
    return await this.#settled(name, options);
  }

  /** Drops an index; its entries are freed in the background. */
  async dropIndex(name: string, options?: CallOptions): Promise<void> {
    checkOptions(options, CALL);
    await this.#transport.done({ ...options, method: "DELETE", path: pathOf(name) });
  }

  /** The first entry that has these values in an index, or null. */
  async getByIndex<T = unknown>(
    index: string,
    values: Key,
    options?: GetOptions,
  ): Promise<Entry<T> | null> {
    checkOptions(options, GET);
    toKey(values, "values");
    const found = this.list<T>({ ...options, index, prefix: values, limit: 1 });
    for await (const entry of found) return entry;
    return null;
  }

  /**
   * Replaces the entry that has this value in a unique index, or makes one under the
   * key `create`. Returns its versionstamp.
   */
  async putByIndex(
    index: string,
    values: Key,
    value: unknown,
    options: { create?: Key } & AddOptions = {},
  ): Promise<string> {
    checkOptions(options, CREATE);
    const { versionstamp } = await this.#transport.json<{ versionstamp: string }>({
      signal: options.signal,
      method: "PUT",
      path: `${pathOf(index)}/get`,
      query: {
        key: JSON.stringify(toKey(values, "values")),
        new: text(options.create, "create"),
        ttl: options.ttl,
      },
      ...valueBody(value),
      writes: true,
    });
    return versionstamp;
  }

  /**
   * The entries under a prefix as values of one type, with the indexes that they
   * need. `collection<User>("users", ..)`, or with a schema, whose output is the type.
   */
  collection<S extends StandardSchema, const I extends Indexes>(
    name: string,
    options: CollectionOptions<I> & { schema: S },
  ): CollectionOf<SchemaOutput<S>, I>;
  collection<T>(
    name: string,
    options?: CollectionOptions<Indexes>,
  ): CollectionOf<T, Indexes>;
  collection(name: string, options: CollectionOptions<Indexes> = {}): unknown {
    const collection = new Collection<unknown>(this, name, options);
    for (const declaration of collection.declarations) {
      this.#declared.set(declaration.name, declaration);
    }
    return collection;
  }

  /**
   * Makes the indexes those of all collections, in one commit by `PUT /indexes`: what
   * differs is declared or migrates. Resolves when they can be read. Others stay.
   */
  async applyIndexes(options: ApplyOptions = {}): Promise<Index[]> {
    const declared = this.#declarations(options);
    const { signal } = options;
    await this.#putIndexes(declared, options);
    const indexes = await Promise.all(
      declared.map(({ name }) => this.#settled(name, { signal })),
    );
    for (const index of indexes) {
      if (index.state === "ready") continue;
      const detail = `index ${index.name} is ${stateOf(index)}`;
      throw new KindexError(409, { code: "index-not-ready", detail, ...index });
    }
    return indexes;
  }

  /** What applyIndexes would change. Nothing is changed. */
  async planIndexes(options: ApplyOptions = {}): Promise<IndexChangePlan[]> {
    return (await this.#putIndexes(this.#declarations(options), options, true)).indexes;
  }

  #declarations(options: ApplyOptions): IndexDeclaration[] {
    checkOptions(options, APPLY);
    const { declarations = [] } = options;
    checkArray(declarations, "declarations");
    return [...this.#declared.values(), ...declarations];
  }

  #putIndexes(declared: IndexDeclaration[], { signal, prune }: ApplyOptions, dry?: true) {
    return this.#transport.json<{ indexes: IndexChangePlan[] }>({
      signal,
      method: "PUT",
      path: "/indexes",
      query: { prune, dry },
      body: Object.fromEntries(declared.map((one) => [one.name, toBody(one)])),
    });
  }

  /**
   * The same store as a `Deno.Kv`: by Deno itself, and elsewhere by the package
   * `@deno/kv`, which must be installed.
   */
  async kv(): Promise<any> {
    const { token } = this.#options;
    const accessToken = typeof token === "function" ? await token() : token;
    const { Deno } = globalThis as any;
    if (Deno?.openKv && !accessToken) return await Deno.openKv(this.#url);
    const name = "@deno/kv";
    const { openKv } = await import(name);
    return await openKv(this.#url, { accessToken: accessToken ?? "none" });
  }
}

type SchemaOutput<S extends StandardSchema> = NonNullable<
  S["~standard"]["types"]
>["output"];

/** That of the new form, if it migrates: duplicates may stop it. */
const stateOf = (index: Index) => ((index.migration ?? index) as Index).state;

function stampOf(commit: Commit): string | null {
  return commit.ok ? commit.versionstamp : null;
}

export function connect(url: string | URL, options?: ConnectOptions): Kindex {
  return new Kindex(url, options);
}

import { Atomic, type Commit, type Entry, type MaybeEntry, toEntry } from "./atomic.js";
import {
  Collection,
  type CollectionOf,
  type CollectionOptions,
  type IndexOptions,
  type Indexes,
  type StandardSchema,
} from "./collection.js";
import { KindexError } from "./error.js";
import { type CallOptions, type ConnectOptions, sleep, Transport } from "./http.js";
import { parseJson } from "./json.js";
import {
  CALL,
  checkArray,
  checkObject,
  checkOptions,
  CREATE,
  LIST,
  PUT,
  SELECTED,
  SINCE,
} from "./options.js";
import { fromKey, type Key, kindOf, toJson, toKey, toStored } from "./values.js";
import { serverEvents } from "./watch.js";

export interface Selection {
  /** The keys that begin with these parts and have more; with `index` values. */
  prefix?: Key;
  start?: Key;
  end?: Key;
  /** In the order of this index, by its values. */
  index?: string;
}
export interface ListOptions extends Selection, CallOptions {
  reverse?: boolean;
  /** At most so many entries in all. */
  limit?: number;
  /** Entries in one request, 100 unless given. */
  pageSize?: number;
  /** Only these members of the values, as JSON Pointers. */
  fields?: string[];
  /** Without values, which are null then. */
  keys?: boolean;
}

export interface PutOptions extends CallOptions {
  /** Such as `30m`, or `keep`. */
  ttl?: string;
  expiresAt?: number;
  /** Only if the entry has this version; null: only if there is no entry. */
  versionstamp?: string | null;
}

/** A declaration, as `POST /indexes` takes it. */
export interface IndexDeclaration extends IndexOptions {
  name: string;
  prefix: Key;
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

type Deleted = { deleted: number; more: boolean };
type Page = { entries: Parameters<typeof toEntry>[0][]; cursor: string | null };

const WAIT_SECONDS = 30;

function text(key: Key | undefined, argument: string): string | undefined {
  return key && JSON.stringify(toKey(key, argument));
}

function toBody(declaration: IndexDeclaration): object {
  checkObject(declaration, "declaration");
  const { prefix, ...rest } = declaration;
  return toJson({ ...rest, prefix: toKey(prefix, "declaration.prefix") }, "declaration");
}

/** Infinity is a limit; what is no number would end a list without a word. */
function checkCount(count: number, least: number, argument: string): void {
  if (typeof count === "number" && count >= least) return;
  throw new TypeError(`${argument} is ${typeof count === "number" ? count : kindOf(count)}, ` +
    `not a number from ${least} up`);
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

  async get<T = unknown>(key: Key, options?: CallOptions): Promise<MaybeEntry<T>> {
    toKey(key, "key");
    return (await this.getMany<T>([key], options))[0];
  }

  /** Up to 1000 entries, in one consistent view. */
  async getMany<T = unknown>(
    keys: readonly Key[],
    options?: CallOptions,
  ): Promise<MaybeEntry<T>[]> {
    checkOptions(options, CALL);
    checkArray(keys, "keys");
    const { entries } = await this.#transport.json<Page>({
      ...options,
      method: "POST",
      path: "/get",
      body: { keys: keys.map((key, i) => toKey(key, `keys[${i}]`)) },
    });
    return entries.map((entry) => toEntry<T>(entry));
  }

  atomic(): Atomic {
    return new Atomic(this.#transport);
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
    const commit = await this.atomic().delete(key, { return: "old" }).commit(options);
    return (commit as { results: unknown[] }).results[0] as MaybeEntry<T>;
  }

  async *list<T = unknown>(options: ListOptions = {}): AsyncGenerator<Entry<T>> {
    checkOptions(options, LIST);
    const { signal, limit = Infinity, pageSize = 100, fields, reverse, keys } = options;
    checkCount(limit, 0, "limit");
    checkCount(pageSize, 1, "pageSize");
    if (fields !== undefined) checkArray(fields, "fields");
    let cursor: string | undefined;
    for (let left = limit; left > 0;) {
      const page: Page = await this.#transport.json({
        signal,
        method: "GET",
        path: "/list",
        query: {
          ...this.#selection(options),
          reverse,
          keys,
          fields: fields && JSON.stringify(fields),
          limit: Math.min(left, pageSize),
          cursor,
        },
      });
      for (const entry of page.entries) yield toEntry<T>(entry) as Entry<T>;
      left -= page.entries.length;
      if (page.cursor === null) return;
      cursor = page.cursor;
    }
  }

  async count(selection: Selection & CallOptions = {}): Promise<number> {
    checkOptions(selection, SELECTED, "selection");
    const { count } = await this.#transport.json<{ count: number }>({
      signal: selection.signal,
      method: "GET",
      path: "/count",
      query: this.#selection(selection),
    });
    return count;
  }

  /** Deletes what a list would have, in commits of up to 1000; returns how many. */
  async deleteRange(selection: Selection & CallOptions): Promise<number> {
    checkOptions(selection, SELECTED, "selection");
    for (let all = 0;;) {
      const { deleted, more } = await this.#transport.json<Deleted>({
        signal: selection.signal,
        method: "DELETE",
        path: "/list",
        query: this.#selection(selection),
        writes: true,
      });
      all += deleted;
      if (!more) return all;
    }
  }

  #selection({ prefix, start, end, index }: Selection) {
    return {
      prefix: text(prefix, "prefix"),
      start: text(start, "start"),
      end: text(end, "end"),
      index,
    };
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
    options: CallOptions & { since?: string } = {},
  ): AsyncGenerator<IndexChange<T>> {
    checkOptions(options, SINCE);
    let path = `/watch?index=${encodeURIComponent(index)}`;
    if (options.since) path += `&since=${encodeURIComponent(options.since)}`;
    for await (const { id, data } of serverEvents(this.#transport, path, options.signal)) {
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
    const index = await this.#transport.json<Index & { prefix: unknown[] }>({
      ...options,
      method: "GET",
      path: `/indexes/${encodeURIComponent(name)}`,
      headers: { Prefer: `wait=${WAIT_SECONDS}` },
    });
    return { ...index, prefix: fromKey(index.prefix) };
  }

  /** Drops an index; its entries are freed in the background. */
  async dropIndex(name: string, options?: CallOptions): Promise<void> {
    checkOptions(options, CALL);
    const path = `/indexes/${encodeURIComponent(name)}`;
    await this.#transport.done({ ...options, method: "DELETE", path });
  }

  /**
   * Replaces the entry that has this value in a unique index, or makes one under the
   * key `create`. Returns its versionstamp.
   */
  async putByIndex(
    index: string,
    values: Key,
    value: unknown,
    options: { create?: Key; ttl?: string } & CallOptions = {},
  ): Promise<string> {
    checkOptions(options, CREATE);
    const { typed, value: json } = toStored(value);
    const { versionstamp } = await this.#transport.json<{ versionstamp: string }>({
      signal: options.signal,
      method: "PUT",
      path: `/indexes/${encodeURIComponent(index)}/get`,
      query: {
        key: JSON.stringify(toKey(values, "values")),
        new: text(options.create, "create"),
        ttl: options.ttl,
      },
      headers: typed && { "Content-Type": "application/vnd.kindex.typed+json" },
      body: typed ?? json,
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
  async applyIndexes(options?: CallOptions): Promise<Index[]> {
    checkOptions(options, CALL);
    const declared = [...this.#declared.values()];
    await this.#transport.done({
      ...options,
      method: "PUT",
      path: "/indexes",
      body: Object.fromEntries(declared.map((one) => [one.name, toBody(one)])),
    });
    const indexes = await Promise.all(
      declared.map(({ name }) => this.#settled(name, options)),
    );
    for (const index of indexes) {
      if (index.state === "ready") continue;
      const detail = `index ${index.name} is ${stateOf(index)}`;
      throw new KindexError(409, { code: "index-not-ready", detail, ...index });
    }
    return indexes;
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

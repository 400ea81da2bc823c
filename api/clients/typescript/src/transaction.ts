import {
  Atomic,
  type Entry,
  type MaybeEntry,
  type MutationOptions,
  type SetOptions,
  type Summand,
  type SumOptions,
  type Target,
  toEntry,
} from "./atomic.js";
import type { GetOptions, Kindex, ListOptions } from "./client.js";
import { type CallOptions, sleep, type Transport } from "./http.js";
import { stringifyJson } from "./json.js";
import { checkArray, checkCount, checkOptions, READ_LIST, TRANSACTION } from "./options.js";
import { type Key, toKey } from "./values.js";
import { KindexError } from "./error.js";

export interface TransactionOptions extends CallOptions {
  /** How often the work is done at most, 10 unless given. */
  tries?: number;
}
/** A list of keys in a transaction. */
export type ReadListOptions = Omit<
  ListOptions,
  "index" | "where" | "in" | "order" | "signal" | "expand"
>;

type WireKey = unknown[];
type Page = {
  entries: (Parameters<typeof toEntry>[0] & { key: WireKey })[];
  cursor: string | null;
  digest: string;
};
type WireRange = { prefix?: WireKey; start?: WireKey; end?: WireKey };

const TRIES = 10;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1000;
const PAGE_MAX = 1000;

/**
 * Reads, and then writes that are committed only if everything that was read is still
 * the same: entries, entries that are absent, and lists with all that they could have.
 */
export class Transaction {
  readonly #db: Kindex;
  readonly #transport: Transport;
  readonly #atomic: Atomic;
  readonly #signal?: AbortSignal;
  #writes = false;

  /** @internal */
  constructor(db: Kindex, transport: Transport, atomic: Atomic, signal?: AbortSignal) {
    this.#db = db;
    this.#transport = transport;
    this.#atomic = atomic;
    this.#signal = signal;
  }

  #mustRead(): void {
    if (!this.#writes) return;
    throw new Error("a transaction does not see its own writes: read before the first of them");
  }

  #write(): Atomic {
    this.#writes = true;
    return this.#atomic;
  }

  async get<T = unknown>(key: Key, options?: Omit<GetOptions, "signal" | "expand">): Promise<MaybeEntry<T>> {
    return (await this.getMany<T>([key], options))[0];
  }

  async getMany<T = unknown>(
    keys: readonly Key[],
    options?: Omit<GetOptions, "signal" | "expand">,
  ): Promise<MaybeEntry<T>[]> {
    this.#mustRead();
    const entries = await this.#db.getMany<T>(keys, { ...options, signal: this.#signal });
    entries.forEach(({ versionstamp }, i) => this.#atomic.check({ of: keys[i], versionstamp }));
    return entries;
  }

  /** Each page that is read is checked as a whole. */
  async *list<T = unknown>(options: ReadListOptions = {}): AsyncGenerator<Entry<T>> {
    checkOptions(options, READ_LIST);
    const { limit = Infinity, pageSize = 100, fields, keys, reverse = false } = options;
    checkCount(limit, 0, "limit");
    checkCount(pageSize, 1, "pageSize");
    if (fields !== undefined) checkArray(fields, "fields");
    const given: WireRange = {};
    for (const name of ["prefix", "start", "end"] as const) {
      if (options[name] !== undefined) given[name] = toKey(options[name], name);
    }
    if (Object.keys(given).length === 0) given.prefix = [];
    let last: WireKey | undefined;
    for (let left = limit; left > 0;) {
      this.#mustRead();
      const range = last ? rangeFrom(given, last, reverse) : given;
      // Without a cursor, which no check has: a page begins with the end of the last one.
      const again = last && !reverse ? 1 : 0;
      const texts = Object.entries(range).map(([name, key]) => [name, stringifyJson(key)]);
      const page: Page = await this.#transport.json({
        signal: this.#signal,
        method: "GET",
        path: "/list",
        query: {
          ...Object.fromEntries(texts),
          reverse,
          keys,
          fields: fields && JSON.stringify(fields),
          limit: Math.min(Math.min(left, pageSize) + again, PAGE_MAX),
          digest: true,
        },
        reads: true,
      });
      const { entries, cursor, digest } = page;
      const most = cursor === null ? undefined : entries.length;
      this.#atomic.checkWire({ ...range, reverse, limit: most, digest });
      const repeated = again && entries.length > 0 &&
        stringifyJson(entries[0].key) === stringifyJson(last);
      const fresh = repeated ? entries.slice(1) : entries;
      for (const entry of fresh) yield toEntry<T>(entry) as Entry<T>;
      left -= fresh.length;
      if (cursor === null) return;
      if (fresh.length === 0) throw new RangeError("an entry fills a page of a list");
      last = fresh[fresh.length - 1].key;
    }
  }

  set(of: Target, value: unknown, options?: SetOptions): this {
    this.#write().set(of, value, options);
    return this;
  }

  delete(of: Target): this {
    this.#write().delete(of);
    return this;
  }

  patch(of: Target, patch: unknown, options?: MutationOptions): this {
    this.#write().patch(of, patch, options);
    return this;
  }

  operations(of: Target, ops: object[], options?: MutationOptions): this {
    this.#write().operations(of, ops, options);
    return this;
  }

  sum(of: Target, amount: Summand, options?: SumOptions): this {
    this.#write().sum(of, amount, options);
    return this;
  }

  min(of: Target, value: Summand, options?: MutationOptions): this {
    this.#write().min(of, value, options);
    return this;
  }

  max(of: Target, value: Summand, options?: MutationOptions): this {
    this.#write().max(of, value, options);
    return this;
  }

  touch(of: Target, options: MutationOptions): this {
    this.#write().touch(of, options);
    return this;
  }
}

/** The part of a range from an entry on, which it has as the first, or ends before. */
function rangeFrom({ prefix = [], start, end }: WireRange, last: WireKey, reverse: boolean) {
  if (reverse) return start ? { start, end: last } : { prefix, end: last };
  return end ? { start: last, end } : { prefix, start: last };
}

/** @internal */
export async function transact<R>(
  db: Kindex,
  transport: Transport,
  work: (transaction: Transaction) => R | Promise<R>,
  options: TransactionOptions = {},
): Promise<R> {
  checkOptions(options, TRANSACTION);
  const { tries = TRIES, signal } = options;
  checkCount(tries, 1, "tries");
  let pause = FIRST_PAUSE_MS;
  for (let left = tries;; left--) {
    const atomic = new Atomic(transport);
    const result = await work(new Transaction(db, transport, atomic, signal));
    try {
      await atomic.send({ signal });
      return result;
    } catch (error) {
      const conflict = error instanceof KindexError && error.code === "check-failed";
      if (!conflict || left <= 1) throw error;
    }
    await sleep(pause * (0.5 + Math.random() / 2), signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

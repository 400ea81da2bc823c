import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Entry, Job, Key, Kindex } from "kindex";
import { batches, opened, type StoreOptions, timeToLive } from "./options.js";

/** The part of `Temporal.Duration` that is used. */
type Duration = { total(options: { unit: "millisecond" }): number };
type FedifyKey = readonly [string, ...string[]];
type SetOptions = { ttl?: Duration };
type EnqueueOptions = { readonly delay?: Duration; readonly orderingKey?: string };

const ms = (duration?: Duration) => duration?.total({ unit: "millisecond" }) ?? 0;

/** The KvStore of Fedify: the key `["a", "b"]` is the entry [...prefix, "a", "b"]. */
export class KindexKvStore {
  readonly #db: Kindex;
  readonly #prefix: Key;

  constructor(options: StoreOptions) {
    const { db, prefix } = opened(options, "fedify");
    this.#db = db;
    this.#prefix = prefix;
  }

  #key(key: FedifyKey): Key {
    return [...this.#prefix, ...key];
  }

  async get<T = unknown>(key: FedifyKey): Promise<T | undefined> {
    return (await this.#db.get<T>(this.#key(key))).value ?? undefined;
  }

  async set(key: FedifyKey, value: unknown, options?: SetOptions): Promise<void> {
    await this.#db.put(this.#key(key), value, timeToLive(ms(options?.ttl)));
  }

  async delete(key: FedifyKey): Promise<void> {
    await this.#db.delete(this.#key(key));
  }

  /** Of several callers with the same expected value exactly one succeeds. `undefined`: no entry. */
  async cas(
    key: FedifyKey,
    expected: unknown,
    value: unknown,
    options?: SetOptions,
  ): Promise<boolean> {
    const of = this.#key(key);
    for (;;) {
      const { value: found, versionstamp } = await this.#db.get(of);
      if (!isDeepStrictEqual(versionstamp === null ? undefined : found, expected)) return false;
      const atomic = this.#db.atomic().check({ of, versionstamp });
      if (value === undefined) atomic.delete(of);
      else atomic.set(of, value, timeToLive(ms(options?.ttl)));
      // Otherwise it was written meanwhile, perhaps with the same value.
      if ((await atomic.commit()).ok) return true;
    }
  }

  /** The entry of the prefix itself, and all below it. */
  async *list(prefix?: FedifyKey): AsyncGenerator<{ key: FedifyKey; value: unknown }, void> {
    const of = prefix ? this.#key(prefix) : this.#prefix;
    const own = prefix && await this.#db.get(of);
    if (own && own.versionstamp !== null) yield this.#entry(own);
    for await (const entry of this.#db.list({ prefix: of })) yield this.#entry(entry);
  }

  #entry({ key, value }: { key: Key; value: unknown }) {
    return { key: key.slice(this.#prefix.length) as unknown as FedifyKey, value };
  }
}

export type KindexMessageQueueOptions = StoreOptions & {
  /** How many messages each `listen` handles at a time: 4 unless given. */
  concurrency?: number;
  /** Called with what a handler has thrown; `console.error` unless given. */
  onError?: (error: unknown) => void;
};

type Message = { message: unknown; due: number; attempts: number };
type Lane = { due: number };

const CONCURRENCY = 4;
const ATTEMPTS_MAX = 5;
const RETRY_MS = 1000;
const ORDERED = "ordered";
const SINGLE = "single";
const SETS = 2; // mutations of a message
const BATCH = 1000 / SETS;

/**
 * The MessageQueue of Fedify. Messages are in lanes, in the order of their commits: one lane for
 * each ordering key, and one for each message without such a key. Each lane with messages is a
 * job of a queue, so only one worker at a time handles it.
 */
export class KindexMessageQueue {
  /** Fedify itself retries failed messages, by enqueueing them again with a delay. */
  readonly nativeRetrial = false;
  readonly #db: Kindex;
  readonly #prefix: Key;
  readonly #name: string;
  readonly #options: KindexMessageQueueOptions;
  #declared?: Promise<unknown>;

  constructor(options: KindexMessageQueueOptions) {
    const { db, prefix } = opened(options, "fedify-queue", ["concurrency", "onError"]);
    this.#db = db;
    this.#prefix = prefix;
    this.#options = options;
    this.#name = `${prefix.join("_")}_due`;
  }

  async #declare(): Promise<void> {
    this.#declared ??= this.#db.declareIndex({
      name: this.#name,
      prefix: [...this.#prefix, "lanes"],
      fields: ["/due"],
      queue: { lease: "60s", retries: ["1s", "1m"] },
    });
    try {
      await this.#declared;
    } catch (error) {
      this.#declared = undefined; // the next call tries again
      throw error;
    }
  }

  #lane(lane: Key): Key {
    return [...this.#prefix, "lanes", ...lane];
  }
  #messages(lane: Key): Key {
    return [...this.#prefix, "messages", ...lane];
  }

  async enqueue(message: unknown, options?: EnqueueOptions): Promise<void> {
    if (options?.orderingKey === undefined) return await this.enqueueMany([message], options);
    await this.#declare();
    const due = Date.now() + ms(options.delay);
    const lane = [ORDERED, options.orderingKey];
    const of = this.#lane(lane);
    const add = () =>
      this.#db.atomic()
        .set(this.#messages(lane), { message, due, attempts: 0 }, { suffix: "versionstamp" });
    for (;;) {
      // Writing the job of a lane would end the lease of its worker, so an existing job stays.
      if ((await add().check({ of, versionstamp: null }).set(of, { due }).commit()).ok) return;
      if ((await add().check({ of, exists: true }).commit()).ok) return;
    }
  }

  /** Up to 500 messages without an ordering key are one commit. */
  async enqueueMany(messages: readonly unknown[], options?: EnqueueOptions): Promise<void> {
    if (options?.orderingKey !== undefined) {
      for (const message of messages) await this.enqueue(message, options);
      return;
    }
    await this.#declare();
    const due = Date.now() + ms(options?.delay);
    for (const batch of batches(messages, BATCH)) {
      const atomic = this.#db.atomic();
      for (const message of batch) {
        const lane = [SINGLE, randomUUID()];
        atomic.set(this.#lane(lane), { due });
        atomic.set(this.#messages(lane), { message, due, attempts: 0 }, { suffix: "versionstamp" });
      }
      await atomic.commit();
    }
  }

  /** Resolves some seconds after the signal, when the running handlers are done. */
  async listen(
    handler: (message: any) => Promise<void> | void,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<void> {
    await this.#declare();
    const { concurrency = CONCURRENCY } = this.#options;
    await this.#db.queue<Lane>(this.#name).work(
      (job, lost) => this.#handle(job, handler, [lost, signal]),
      { concurrency, signal, onError: (error) => this.#report(error) },
    );
  }

  #report(error: unknown): void {
    (this.#options.onError ?? console.error)(error);
  }

  async #handle(
    job: Job<Lane>,
    handler: (message: any) => Promise<void> | void,
    ends: (AbortSignal | undefined)[],
  ): Promise<void> {
    const queue = this.#db.queue(this.#name);
    const lane = this.#messages(job.key.slice(this.#prefix.length + 1));
    for (;;) {
      const [first] = await this.#first(lane);
      if (!first) {
        // Fails if a message has arrived meanwhile: its sender relies on this job.
        const { ok } = await this.#db.atomic().check({ prefix: lane, none: true }).ack(job).commit();
        if (ok) return;
        continue;
      }
      const delay = first.value.due - Date.now();
      if (delay > 0 || ends.some((signal) => signal?.aborted)) {
        return await queue.release(job, { delay: `${Math.max(delay, 0)}ms` });
      }
      try {
        await handler(first.value.message);
      } catch (error) {
        this.#report(error);
        await this.#failed(first);
        return await queue.release(job, { delay: `${RETRY_MS}ms` });
      }
      await this.#db.delete(first.key);
    }
  }

  async #first(lane: Key): Promise<Entry<Message>[]> {
    for await (const entry of this.#db.list<Message>({ prefix: lane, limit: 1 })) return [entry];
    return [];
  }

  // Moves a message whose handler has thrown too often away, so that the lane continues.
  async #failed({ key, value }: Entry<Message>): Promise<void> {
    const attempts = value.attempts + 1;
    if (attempts < ATTEMPTS_MAX) return void await this.#db.put(key, { ...value, attempts });
    const dead = [...this.#prefix, "dead", ...key.slice(this.#prefix.length + 1)];
    await this.#db.atomic().delete(key).set(dead, { ...value, attempts }).commit();
  }

  /** The number of messages that no handler has started. */
  async getDepth(): Promise<{ queued: number }> {
    await this.#declare();
    const messages = await this.#db.count({ prefix: [...this.#prefix, "messages"] });
    const { leased } = await this.#db.queue(this.#name).stats();
    return { queued: Math.max(0, messages - leased) };
  }
}

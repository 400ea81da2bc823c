import { type Entry, toEntry } from "./atomic.js";
import { KindexError } from "./error.js";
import { type CallOptions, sleep, type Transport } from "./http.js";
import { CALL, checkOptions, type Members } from "./options.js";
import { type Key, toKey } from "./values.js";

/** A claimed entry. Its receipt is valid until the lease ends. */
export type Job<T> = Entry<T> & {
  receipt: string;
  /** Claims so far, this one included. */
  attempts: number;
  /** Unix time of the server in milliseconds. */
  leaseEndsAt: number;
  /** Length of the lease in milliseconds. */
  leaseMs: number;
  /** Why the last attempt failed. */
  error?: string;
};
/** A job, or its receipt alone. */
export type Receipt = string | { receipt: string };

export interface ClaimOptions extends CallOptions {
  /** At most so many jobs, 1 unless given. */
  limit?: number;
  /** Seconds to wait for a job, at most 30. */
  wait?: number;
  /** Values of the queue's fields before the time. */
  prefix?: Key;
}
export interface WorkOptions extends CallOptions {
  /** Handlers that run at a time, 1 unless given. */
  concurrency?: number;
  prefix?: Key;
  /** Of a handler, whose job has failed then, or of a job that was lost to others. */
  onError?: (error: unknown, job: Job<any>) => void;
}

const CLAIM: Members<ClaimOptions> = { signal: true, limit: true, wait: true, prefix: true };
const WORK: Members<WorkOptions> = {
  signal: true,
  concurrency: true,
  prefix: true,
  onError: true,
};
const DELAY: Members<CallOptions & { delay?: string }> = { ...CALL, delay: true };
const LEASE: Members<CallOptions & { lease?: string }> = { ...CALL, lease: true };
const FAIL: Members<CallOptions & { delay?: string; error?: string }> = {
  ...DELAY,
  error: true,
};
/** A claim waits for so long, and so does the end of `work`. */
const WAIT_SECONDS = 5;
const HEARTBEATS = 3;
const PAUSE_MS = 1000;
/** UTF-16 units of an error, which have at most 3 bytes each. */
const ERROR_MAX = 300;

const receiptOf = (of: Receipt) => typeof of === "string" ? of : of.receipt;

/** @internal The receipts of one or several jobs. */
export function receiptsOf(of: Receipt | readonly Receipt[]): string[] {
  return [of].flat().map((one) => receiptOf(one as Receipt));
}

function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.slice(0, ERROR_MAX).replace(/[\ud800-\udbff]$/, "");
}

const isPassing = (error: unknown) =>
  error instanceof KindexError && [0, 429, 503].includes(error.status);
const isStale = (error: unknown) =>
  error instanceof KindexError && error.code === "receipt-stale";

/** The jobs of a queue: an index that is declared with `queue`. */
export class Queue<T = unknown> {
  readonly #transport: Transport;
  readonly #path: string;

  /** @internal */
  constructor(transport: Transport, name: string) {
    this.#transport = transport;
    this.#path = `/queues/${encodeURIComponent(name)}`;
  }

  async claim(options: ClaimOptions = {}): Promise<Job<T>[]> {
    checkOptions(options, CLAIM);
    const { signal, prefix, limit, wait } = options;
    const { jobs } = await this.#transport.json<{ jobs: any[] }>({
      signal,
      method: "POST",
      path: `${this.#path}/claim`,
      query: { limit, wait, prefix: prefix && JSON.stringify(toKey(prefix, "prefix")) },
    });
    return jobs.map((job) => toEntry<T>(job) as Job<T>);
  }

  /** How many jobs are in which state. */
  async stats(options?: CallOptions): Promise<Record<string, any>> {
    checkOptions(options, CALL);
    return await this.#transport.json({ ...options, method: "GET", path: this.#path });
  }

  async #change(action: string, of: Receipt | readonly Receipt[], members: CallOptions = {}) {
    const { signal, ...rest } = members;
    await this.#transport.done({
      signal,
      method: "POST",
      path: `${this.#path}/${action}`,
      body: { receipts: receiptsOf(of), ...rest },
      writes: true,
    });
  }

  /** Removes the jobs, which are done. All of these are one commit, or refused. */
  async ack(of: Receipt | readonly Receipt[], options?: CallOptions): Promise<void> {
    checkOptions(options, CALL);
    await this.#change("ack", of, options);
  }

  async extend(
    of: Receipt | readonly Receipt[],
    options?: CallOptions & { lease?: string },
  ): Promise<void> {
    checkOptions(options, LEASE);
    await this.#change("extend", of, options);
  }

  /** Makes the jobs due again, as if they had not been claimed. */
  async release(
    of: Receipt | readonly Receipt[],
    options?: CallOptions & { delay?: string },
  ): Promise<void> {
    checkOptions(options, DELAY);
    await this.#change("release", of, options);
  }

  /** Makes the jobs due after a pause, or dead after their last attempt. */
  async fail(
    of: Receipt | readonly Receipt[],
    options?: CallOptions & { delay?: string; error?: string },
  ): Promise<void> {
    checkOptions(options, FAIL);
    await this.#change("fail", of, options);
  }

  /**
   * Calls the handler for each job, which is acknowledged when the handler is done and
   * fails when it throws. The lease is extended meanwhile; if it is lost, the handler's
   * signal is aborted. When `options.signal` is aborted no more jobs are claimed, and
   * `work` resolves when the running handlers are done.
   */
  async work(
    handler: (job: Job<T>, signal: AbortSignal) => unknown,
    options: WorkOptions = {},
  ): Promise<void> {
    checkOptions(options, WORK);
    const { concurrency = 1, signal } = options;
    const ends = new AbortController();
    const end = () => ends.abort();
    if (signal?.aborted) end();
    signal?.addEventListener("abort", end, { once: true });
    const loops = Array.from({ length: concurrency }, () =>
      this.#loop(handler, options, ends.signal).finally(end));
    const results = await Promise.allSettled(loops);
    signal?.removeEventListener("abort", end);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  async #loop(
    handler: (job: Job<T>, signal: AbortSignal) => unknown,
    { prefix, onError }: WorkOptions,
    ends: AbortSignal,
  ): Promise<void> {
    while (!ends.aborted) {
      try {
        for (const job of await this.claim({ wait: WAIT_SECONDS, prefix })) {
          await this.#run(job, handler, onError);
        }
      } catch (error) {
        if (!isPassing(error)) throw error;
        await sleep(PAUSE_MS, ends).catch(() => {});
      }
    }
  }

  async #run(
    job: Job<T>,
    handler: (job: Job<T>, signal: AbortSignal) => unknown,
    onError: WorkOptions["onError"],
  ): Promise<void> {
    const lost = new AbortController();
    const beat = () =>
      this.extend(job).catch((error) => {
        if (!isStale(error)) return;
        clearInterval(timer);
        lost.abort(error);
      });
    const timer = setInterval(beat, job.leaseMs / HEARTBEATS);
    let failed: { error: unknown } | undefined;
    try {
      await handler(job, lost.signal);
    } catch (error) {
      failed = { error };
    }
    clearInterval(timer);
    if (failed) onError?.(failed.error, job);
    try {
      if (failed) await this.fail(job, { error: errorText(failed.error) });
      else await this.ack(job);
    } catch (error) {
      // The handler may have acknowledged it in a commit of its own.
      if (!isStale(error)) throw error;
      if (lost.signal.aborted) onError?.(error, job);
    }
  }
}

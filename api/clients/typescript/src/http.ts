import { KindexError } from "./error.js";

export interface ConnectOptions {
  /** An access token, or what makes one before each request. */
  token?: string | (() => string | Promise<string>);
  /**
   * How often a request without a result is sent again, 8 unless given: after no
   * answer, 429 and 503. A write that is sent again is done once, by its
   * idempotency key.
   */
  retries?: number;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
}

/** @internal */
export interface Request extends CallOptions {
  method: string;
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  /** It may be sent again only under an idempotency key. */
  writes?: boolean;
}

type Read<T> = (response: Response) => T | Promise<T>;
type Attempt<T> = { result: T } | { error: KindexError; retryAfterMs: number };

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 5000;

/** @internal Resolves after so many milliseconds, or rejects when the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

function newIdempotencyKey(): string {
  // Node 18 has no global `crypto`, so that a weaker name has to do.
  const random = () => Math.random().toString(36).slice(2);
  return globalThis.crypto?.randomUUID?.() ??
    `${Date.now().toString(36)}-${random()}${random()}`;
}

async function problemOf(response: Response): Promise<KindexError> {
  const text = await response.text();
  let problem: Record<string, unknown> = { detail: text.slice(0, 200) };
  try {
    problem = JSON.parse(text);
  } catch { /* not from the service, but from something before it */ }
  return new KindexError(response.status, { code: "no-answer", ...problem });
}

/** @internal Sends requests, again where that may help. */
export class Transport {
  readonly #base: string;
  readonly #options: ConnectOptions;

  constructor(url: string | URL, options: ConnectOptions) {
    this.#base = String(url).replace(/\/+$/, "");
    this.#options = options;
  }

  /** The answer if it is a success; throws a KindexError if not. */
  send(request: Request): Promise<Response> {
    return this.#sendAgain(request, (response) => response);
  }

  /** What its body has. One that is cut off is no answer. */
  json<T>(request: Request): Promise<T> {
    return this.#sendAgain(request, (response) => response.json());
  }

  async #sendAgain<T>(request: Request, read: Read<T>): Promise<T> {
    const again = { ...request, headers: { ...request.headers } };
    if (request.writes) again.headers["Idempotency-Key"] = newIdempotencyKey();
    let wait = FIRST_WAIT_MS;
    for (let left = this.#options.retries ?? 8;; left--) {
      const attempt = await this.#attempt(again, read);
      if ("result" in attempt) return attempt.result;
      if (left <= 0 || !isTransient(attempt.error)) throw attempt.error;
      const jitter = wait * (0.5 + Math.random() / 2);
      await sleep(Math.max(attempt.retryAfterMs, jitter), request.signal);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }

  async #attempt<T>(request: Request, read: Read<T>): Promise<Attempt<T>> {
    try {
      const response = await this.#fetch(request);
      if (response.ok) return { result: await read(response) };
      const seconds = Number(response.headers.get("Retry-After"));
      return { error: await problemOf(response), retryAfterMs: seconds * 1000 || 0 };
    } catch (cause) {
      request.signal?.throwIfAborted();
      const detail = `${this.#base} does not answer`;
      const error = new KindexError(0, { code: "no-answer", detail }, { cause });
      return { error, retryAfterMs: 0 };
    }
  }

  async #fetch(request: Request): Promise<Response> {
    const { token, fetch = globalThis.fetch } = this.#options;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) query.set(name, String(value));
    }
    const headers = new Headers(request.headers);
    if (token) {
      const text = typeof token === "function" ? await token() : token;
      headers.set("Authorization", `Bearer ${text}`);
    }
    if (request.body !== undefined) {
      headers.set("Content-Type", headers.get("Content-Type") ?? "application/json");
    }
    const search = String(query);
    return await fetch(`${this.#base}${request.path}${search && `?${search}`}`, {
      method: request.method,
      headers,
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      signal: request.signal,
    });
  }
}

function isTransient(error: KindexError): boolean {
  return error.status === 0 || error.status === 429 || error.status === 503;
}

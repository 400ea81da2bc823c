import { KindexError } from "./error.js";
import { parseJson, stringifyJson } from "./json.js";
import { checkOptions, CONNECT } from "./options.js";

export interface ConnectOptions {
  /** An access token, or what makes one before each request. */
  token?: string | (() => string | Promise<string>);
  /**
   * How often a request without a result is sent again, 8 unless given: after no
   * answer, 429 and 503. A write that is sent again is done once, by its
   * idempotency key.
   */
  retries?: number;
  /** Bytes of an answer, or of one event of a watch, 256 MiB unless given. */
  answerBytesMax?: number;
  /**
   * What reads show if several nodes serve the store; `session`: all that this client
   * has read and written before.
   */
  consistency?: "strong" | "session" | "eventual";
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
  query?: Record<string, string | number | boolean | string[] | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  /** It may be sent again only under an idempotency key. */
  writes?: boolean;
  /** It takes a consistency. */
  reads?: boolean;
  /** The result is the answer, which the caller closes. */
  streams?: boolean;
}

/** @internal An answer whose body is to be read. */
export interface Answer {
  status: number;
  /** The text in parts; `endless`: it needs no speed, and no end. */
  text(endless?: boolean): AsyncGenerator<string>;
  /** Ends the connection. */
  close(): void;
}

type Read<T> = (answer: Answer) => T | Promise<T>;
type Attempt<T> = { result: T } | { error: KindexError; retryAfterMs: number };

const RETRIES = 8;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 5000;
/** @internal The longest pause that an answer can ask for. */
export const RETRY_AFTER_MS_MAX = 60_000;
/**
 * A request without a byte of its answer for so long has none. A watch gets a byte every
 * 15 seconds, and no other request waits for longer than `WAIT_SECONDS` of client.ts.
 */
const SILENCE_MS = 45_000;
/** After that time an answer must have arrived at this rate. */
const BYTES_PER_SECOND_MIN = 1024;
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
const PROBLEM_BYTES_MAX = 64 * 1024;
const SHOWN_MAX = 200;
/** No connection was made: an address that has never answered may be wrong. */
const UNCONNECTED = /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ConnectionRefused)$/;

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

/** One connection. The signal ends it, and so does silence. */
class Connection {
  readonly signal: AbortSignal;
  readonly close: () => void;

  constructor(signal?: AbortSignal) {
    const controller = new AbortController();
    const abort = () => controller.abort(signal!.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.signal = controller.signal;
    this.close = () => {
      signal?.removeEventListener("abort", abort);
      controller.abort();
    };
  }

  async within<T>(work: Promise<T>): Promise<T> {
    const timer = setTimeout(this.close, SILENCE_MS);
    return await work.finally(() => clearTimeout(timer));
  }

  /** The text of a body in parts, which are at most `bytesMax` in all unless `endless`. */
  async *text(response: Response, bytesMax: number, endless = false): AsyncGenerator<string> {
    if (!response.body) return;
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const begun = Date.now();
    for (let bytes = 0;;) {
      const { done, value } = await this.within(reader.read());
      if (done) {
        yield decoder.decode();
        return;
      }
      yield decoder.decode(value, { stream: true });
      bytes += value.length;
      if (endless) continue;
      if (bytes > bytesMax) throw tooLarge(response.status, bytesMax);
      const lateMs = Date.now() - begun - SILENCE_MS;
      if (bytes * 1000 < lateMs * BYTES_PER_SECOND_MIN) {
        const detail = `the answer came at less than ${BYTES_PER_SECOND_MIN} bytes per second`;
        throw new KindexError(response.status, { detail });
      }
    }
  }
}

/** @internal It is not sent again: its code is `no-answer`, but its status is not 0. */
export function tooLarge(status: number, bytesMax: number): KindexError {
  return new KindexError(status, { detail: `the answer has more than ${bytesMax} bytes` });
}

/** @internal */
export async function textOf(answer: Answer): Promise<string> {
  let text = "";
  for await (const part of answer.text()) text += part;
  return text;
}

// What a problem document has beyond the limit is of no use, nor is its error.
async function problemOf(response: Response, connection: Connection): Promise<KindexError> {
  let text = "";
  try {
    for await (const part of connection.text(response, PROBLEM_BYTES_MAX)) text += part;
  } catch (error) {
    if (text === "") throw error;
  }
  let problem: Record<string, unknown> = { detail: text.slice(0, SHOWN_MAX) };
  try {
    const parsed = parseJson(text);
    if (typeof parsed === "object" && !Array.isArray(parsed)) problem = { ...parsed };
  } catch { /* not from the service, but from something before it */ }
  return new KindexError(response.status, problem);
}

// A browser hides which redirect it is, and where to.
function redirected({ status, headers }: Response): KindexError {
  const place = headers.get("Location") ?? "another address";
  return new KindexError(status || 302, {
    detail: `the answer ${status || "3xx"} sends the request on to ${place}`,
    hint: "Give that address to connect().",
  });
}

const isRedirect = ({ type, status }: Response) =>
  type === "opaqueredirect" || status >= 300 && status < 400;

function retryAfterMs(text: string | null): number {
  if (!text || !/^\d+$/.test(text)) return 0;
  return Math.min(Number(text) * 1000, RETRY_AFTER_MS_MAX);
}

/** Whether a position, which is two numbers with a point between, comes after another. */
function isLater(position: string, other: string): boolean {
  const [[term, place], [otherTerm, otherPlace]] = [position, other]
    .map((text) => text.split(".").map(BigInt));
  return term === otherTerm ? place > otherPlace : term > otherTerm;
}

/** @internal Sends requests, again where that may help. */
export class Transport {
  readonly #base: string;
  readonly #options: ConnectOptions;
  readonly bytesMax: number;
  #answered = false;
  /** The greatest `Kindex-At` of an answer. */
  #position?: string;

  constructor(url: string | URL, options: ConnectOptions) {
    checkOptions(options, CONNECT);
    this.#base = String(url).replace(/\/+$/, "");
    this.#options = options;
    this.bytesMax = options.answerBytesMax ?? ANSWER_BYTES_MAX;
  }

  /** What `read` makes of the answer if it is a success; throws a KindexError if not. */
  async send<T>(request: Request, read: Read<T>): Promise<T> {
    const again = { ...request, headers: { ...request.headers } };
    if (request.writes) again.headers["Idempotency-Key"] = newIdempotencyKey();
    let wait = FIRST_WAIT_MS;
    for (let left = this.#options.retries ?? RETRIES;; left--) {
      const attempt = await this.#attempt(again, read);
      if ("result" in attempt) return attempt.result;
      if (left <= 0 || !this.#isTransient(attempt.error)) throw attempt.error;
      const jitter = wait * (0.5 + Math.random() / 2);
      await sleep(Math.max(attempt.retryAfterMs, jitter), request.signal);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }

  /** What its body has. One that is cut off is no answer. */
  json<T>(request: Request): Promise<T> {
    return this.send(request, async (answer) => parseJson(await textOf(answer)));
  }

  /** For an answer of which only the success counts. */
  async done(request: Request): Promise<void> {
    await this.send(request, textOf);
  }

  async #attempt<T>(request: Request, read: Read<T>): Promise<Attempt<T>> {
    const connection = new Connection(request.signal);
    const { close } = connection;
    let open = false;
    try {
      const response = await connection.within(this.#fetch(request, connection.signal));
      this.#answered = true;
      this.#advance(response.headers.get("Kindex-At"));
      if (isRedirect(response)) return { error: redirected(response), retryAfterMs: 0 };
      if (!response.ok) {
        const error = await problemOf(response, connection);
        return { error, retryAfterMs: retryAfterMs(response.headers.get("Retry-After")) };
      }
      const { status } = response;
      const text = (endless = false) => connection.text(response, this.bytesMax, endless);
      const result = await read({ status, text, close });
      open = request.streams === true;
      return { result };
    } catch (cause) {
      request.signal?.throwIfAborted();
      return { error: this.#noAnswer(cause), retryAfterMs: 0 };
    } finally {
      if (!open) close();
    }
  }

  #noAnswer(cause: any): KindexError {
    if (cause instanceof KindexError) return cause;
    const code = cause?.cause?.code ?? cause?.code;
    const reason = typeof code === "string" ? code : undefined;
    const detail = `${this.#base} does not answer${reason ? ` (${reason})` : ""}`;
    return new KindexError(0, { detail, reason }, { cause });
  }

  #isTransient({ status, problem }: KindexError): boolean {
    if (status === 0) return this.#answered || !UNCONNECTED.test(String(problem.reason));
    return status === 429 || status === 503;
  }

  #advance(at: string | null): void {
    if (at && (!this.#position || isLater(at, this.#position))) this.#position = at;
  }

  async #fetch(request: Request, signal: AbortSignal): Promise<Response> {
    const { token, fetch = globalThis.fetch, consistency } = this.#options;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      for (const one of value === undefined ? [] : [value].flat()) query.append(name, String(one));
    }
    const headers = new Headers(request.headers);
    if (request.reads && consistency) {
      query.set("consistency", consistency);
      if (consistency === "session" && this.#position) headers.set("Kindex-After", this.#position);
    }
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
      body: request.body === undefined ? undefined : stringifyJson(request.body),
      signal,
      // The body and the token are for this address alone.
      redirect: "manual",
    });
  }
}

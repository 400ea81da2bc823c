import { type SessionData, Store } from "express-session";
import { type Key, type Kindex, type KindexError, parseJson, stringifyJson } from "kindex";
import { opened, type StoreOptions, timeToLive } from "./options.js";

export type KindexSessionOptions = StoreOptions & {
  /** Of sessions whose cookie has no time, in seconds: a day unless given. */
  ttl?: number;
};

type Callback<T> = (error: unknown, result?: T) => void;
type Stored = SessionData & { id: string };

const DAY_SECONDS = 86400;

/** Calls the callback, if there is one; the promise then does not fail. */
async function settled<T>(work: () => Promise<T>, callback?: Callback<T>) {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    if (!callback) throw error;
    callback(error);
    return undefined as T;
  }
  callback?.(null, result);
  return result;
}

/** The session `sid` is the JSON value of the entry with the key [...prefix, sid]. */
export class KindexStore extends Store {
  readonly #db: Kindex;
  readonly #prefix: Key;
  readonly #ttl: number;

  constructor(options: KindexSessionOptions) {
    super();
    const { db, prefix } = opened(options, "sessions", ["ttl"]);
    this.#db = db;
    this.#prefix = prefix;
    this.#ttl = options.ttl ?? DAY_SECONDS;
  }

  #key(sid: string): Key {
    return [...this.#prefix, sid];
  }

  #msLeft(session: SessionData): number {
    const { expires } = session.cookie ?? {};
    return expires ? Number(new Date(expires)) - Date.now() : this.#ttl * 1000;
  }

  get(sid: string, callback?: Callback<SessionData | null>): Promise<SessionData | null> {
    return settled(
      async () => (await this.#db.get<SessionData>(this.#key(sid))).value,
      callback,
    );
  }

  /** One whose cookie has expired is deleted. */
  set(sid: string, session: SessionData, callback?: Callback<void>): Promise<void> {
    return settled(async () => {
      const ms = this.#msLeft(session);
      if (ms <= 0) return void await this.#db.delete(this.#key(sid));
      const value = parseJson(stringifyJson(session));
      await this.#db.put(this.#key(sid), value, timeToLive(ms));
    }, callback);
  }

  /** Changes only when the session ends; nothing if there is none. */
  touch(sid: string, session: SessionData, callback?: Callback<void>): Promise<void> {
    return settled(async () => {
      const ms = this.#msLeft(session);
      if (ms <= 0) return void await this.#db.delete(this.#key(sid));
      try {
        await this.#db.atomic().touch(this.#key(sid), timeToLive(ms)).commit();
      } catch (error) {
        if ((error as KindexError).code !== "key-not-found") throw error;
      }
    }, callback);
  }

  destroy(sid: string, callback?: Callback<void>): Promise<void> {
    return settled(async () => {
      await this.#db.delete(this.#key(sid));
    }, callback);
  }

  clear(callback?: Callback<void>): Promise<void> {
    return settled(async () => {
      await this.#db.deleteRange({ prefix: this.#prefix });
    }, callback);
  }

  length(callback?: Callback<number>): Promise<number> {
    return settled(() => this.#db.count({ prefix: this.#prefix }), callback);
  }

  ids(callback?: Callback<string[]>): Promise<string[]> {
    return settled(async () => (await this.#list(true)).map(({ id }) => id), callback);
  }

  all(callback?: Callback<Stored[]>): Promise<Stored[]> {
    return settled(() => this.#list(false), callback);
  }

  async #list(keys: boolean): Promise<Stored[]> {
    const sessions: Stored[] = [];
    const list = this.#db.list<SessionData>({ prefix: this.#prefix, keys });
    for await (const { key, value } of list) {
      sessions.push({ ...value, id: String(key[this.#prefix.length]) });
    }
    return sessions;
  }
}

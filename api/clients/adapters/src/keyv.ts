import type { Key } from "kindex";
import { batches, opened, type StoreOptions, timeToLive, valuesOf } from "./options.js";

// So that they do not take all connections that one address may have.
const DELETES_AT_ONCE = 32;

/** A store for Keyv, whose key `namespace:name` is the last part of an entry's key. */
export class KeyvKindex {
  // Keyv 5 iterates only over stores of a dialect that it knows.
  readonly opts = { dialect: "redis", url: "" };
  /** Set by Keyv; what `clear` and `iterator` are limited to. */
  namespace?: string;
  readonly #db;
  readonly #prefix;

  constructor(options: StoreOptions) {
    const { db, prefix } = opened(options, "keyv");
    this.#db = db;
    this.#prefix = prefix;
  }

  /** For Keyv: errors are thrown, and `throwOnErrors` passes them on. */
  on(): this {
    return this;
  }

  #key(name: string): Key {
    return [...this.#prefix, name];
  }

  // The names from `namespace:` up to `namespace;`, which follows it.
  #selection(namespace = this.namespace) {
    if (!namespace) return { prefix: this.#prefix };
    return { start: this.#key(`${namespace}:`), end: this.#key(`${namespace};`) };
  }

  async get(name: string): Promise<any> {
    return (await this.getMany([name]))[0];
  }

  async getMany(names: string[]): Promise<any[]> {
    const values = await valuesOf(this.#db, names.map((name) => this.#key(name)));
    return values.map((value) => value ?? undefined);
  }

  async set(name: string, value: unknown, ttl?: number): Promise<void> {
    await this.setMany([{ key: name, value, ttl }]);
  }

  /** In one commit, if there are at most 1000. */
  async setMany(entries: { key: string; value: unknown; ttl?: number }[]): Promise<void> {
    for (const batch of batches(entries)) {
      const atomic = this.#db.atomic();
      for (const { key, value, ttl } of batch) {
        atomic.set(this.#key(key), value, timeToLive(ttl));
      }
      await atomic.commit();
    }
  }

  async delete(name: string): Promise<boolean> {
    return (await this.#db.delete(this.#key(name))).versionstamp !== null;
  }

  /** Whether one of them was there. */
  async deleteMany(names: string[]): Promise<boolean> {
    let found = false;
    for (const batch of batches(names, DELETES_AT_ONCE)) {
      const each = await Promise.all(batch.map((name) => this.delete(name)));
      found ||= each.includes(true);
    }
    return found;
  }

  async has(name: string): Promise<boolean> {
    return (await this.hasMany([name]))[0];
  }

  async hasMany(names: string[]): Promise<boolean[]> {
    const values = await this.getMany(names);
    return values.map((value) => value !== undefined);
  }

  async clear(): Promise<void> {
    await this.#db.deleteRange(this.#selection());
  }

  async *iterator(namespace?: string): AsyncGenerator<any[], void> {
    for await (const { key, value } of this.#db.list(this.#selection(namespace))) {
      yield [key[this.#prefix.length], value];
    }
  }

  /** There is nothing to close. */
  async disconnect(): Promise<void> {}
}

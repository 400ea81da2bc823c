import { connect, type ConnectOptions, type Key, type Kindex } from "kindex";

/** Where an adapter keeps its entries: a client, or what `connect` makes one of. */
export type StoreOptions =
  & ({ db: Kindex } | ({ url: string | URL } & ConnectOptions))
  & {
    /** All keys begin with these parts. */
    prefix?: Key;
  };

/** @internal */
export function opened(options: StoreOptions, name: string): { db: Kindex; prefix: Key } {
  const db = "db" in options ? options.db : connect(options.url, options);
  return { db, prefix: options.prefix ?? [name] };
}

/** @internal How many keys one request may have. */
const BATCH_MAX = 1000;

/** @internal */
export function batches<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / BATCH_MAX);
  return Array.from({ length: count }, (_, n) =>
    items.slice(n * BATCH_MAX, (n + 1) * BATCH_MAX));
}

/** @internal The values of keys, null without an entry, in the order of the keys. */
export async function valuesOf(db: Kindex, keys: readonly Key[]): Promise<unknown[]> {
  const values: unknown[] = [];
  for (const batch of batches(keys)) {
    for (const { value } of await db.getMany(batch)) values.push(value);
  }
  return values;
}

/** @internal The text of a time to live; none without one. */
export function timeToLive(ms?: number): { ttl?: string } {
  return ms && ms > 0 ? { ttl: `${Math.ceil(ms)}ms` } : {};
}

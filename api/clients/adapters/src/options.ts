import {
  connect,
  type ConnectOptions,
  type Key,
  type Kindex,
  type KindexError,
} from "kindex";

/** Where an adapter keeps its entries: a client, or what `connect` makes one of. */
export type StoreOptions =
  & ({ db: Kindex } | ({ url: string | URL } & ConnectOptions))
  & {
    /** All keys begin with these parts. */
    prefix?: Key;
  };

/**
 * @internal An option that is none of an adapter's `own`, of these or of `connect` is a
 * TypeError.
 */
export function opened(
  options: StoreOptions,
  name: string,
  own: readonly string[] = [],
): { db: Kindex; prefix: Key } {
  const { prefix = [name], db, url, ...others } = { db: undefined, url: "", ...options };
  for (const member of own) delete (others as Record<string, unknown>)[member];
  if (db === undefined) return { db: connect(url, others), prefix };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new TypeError(`options has no member ${unknown} beside db`);
  return { db, prefix };
}

/** @internal How many keys one request may have. */
const BATCH_MAX = 1000;

/** @internal */
export function batches<T>(items: readonly T[], size = BATCH_MAX): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, n) => items.slice(n * size, (n + 1) * size));
}

/** @internal The values of keys, null without an entry, in the order of the keys. */
export async function valuesOf(db: Kindex, keys: readonly Key[]): Promise<unknown[]> {
  const values: unknown[] = [];
  for (const batch of batches(keys)) values.push(...await valuesOfBatch(db, batch));
  return values;
}

// What is too large for one answer comes in two.
async function valuesOfBatch(db: Kindex, keys: readonly Key[]): Promise<unknown[]> {
  try {
    return (await db.getMany(keys)).map(({ value }) => value);
  } catch (error) {
    if ((error as KindexError).status !== 413 || keys.length === 1) throw error;
  }
  const half = Math.ceil(keys.length / 2);
  return [
    ...await valuesOfBatch(db, keys.slice(0, half)),
    ...await valuesOfBatch(db, keys.slice(half)),
  ];
}

/** @internal The text of a time to live; none without one. */
export function timeToLive(ms?: number): { ttl?: string } {
  return ms && ms > 0 ? { ttl: `${Math.ceil(ms)}ms` } : {};
}

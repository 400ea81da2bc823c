import type { Key } from "kindex";
import { batches, opened, type StoreOptions, timeToLive, valuesOf } from "./options.js";

export type KindexDriverOptions = StoreOptions & {
  /** Of items that are set without one, in seconds. */
  ttl?: number;
  /** Called with what has ended a watch, such as a refusal; `console.error` unless given. */
  onError?: (error: unknown) => void;
};

type ItemOptions = { ttl?: number } | undefined;
type WatchEvent = "update" | "remove";

/** The item `a:b` is the entry with the key [...prefix, "a", "b"]. */
export function kindexDriver(options: KindexDriverOptions) {
  const { db, prefix } = opened(options, "unstorage", ["ttl", "onError"]);
  const watches = new Set<AbortController>();

  const toKey = (item: string): Key => [...prefix, ...item.split(":").filter(Boolean)];
  const toItem = (key: Key) => key.slice(prefix.length).join(":");
  const ttlOf = (item: ItemOptions) => timeToLive((item?.ttl ?? options.ttl ?? 0) * 1000);
  const get = async (item: string): Promise<any> => (await db.get(toKey(item))).value;
  const set = async (item: string, value: unknown, given?: ItemOptions) => {
    await db.put(toKey(item), value, ttlOf(given));
  };

  async function getKeys(base = ""): Promise<string[]> {
    const items: string[] = [];
    const list = db.list({ prefix: toKey(base), keys: true, pageSize: 1000 });
    for await (const { key } of list) items.push(toItem(key));
    return items;
  }

  async function watch(callback: (event: WatchEvent, item: string) => unknown) {
    const stop = new AbortController();
    watches.add(stop);
    const changes = db.watchPrefix(prefix, { signal: stop.signal });
    await changes.next(); // from here on no change is missed
    follow().catch((error) => {
      if (!stop.signal.aborted) (options.onError ?? console.error)(error);
    });
    return () => {
      watches.delete(stop);
      stop.abort();
    };

    async function follow() {
      for await (const { reset, entries } of changes) {
        for (const { key, versionstamp } of entries) {
          callback(versionstamp === null ? "remove" : "update", toItem(key));
        }
        // Changes were missed: anything that is there may be new.
        if (reset) for (const item of await getKeys()) callback("update", item);
      }
    }
  }

  return {
    name: "kindex",
    options,
    flags: { ttl: true },
    getInstance: () => db,
    hasItem: async (item: string) => (await db.get(toKey(item))).versionstamp !== null,
    getItem: get,
    getItemRaw: get,
    async getItems(items: { key: string }[]): Promise<{ key: string; value: any }[]> {
      const values = await valuesOf(db, items.map(({ key }) => toKey(key)));
      return items.map(({ key }, n) => ({ key, value: values[n] }));
    },
    setItem: set,
    setItemRaw: set,
    /** In one commit, if there are at most 1000. */
    async setItems(
      items: { key: string; value: string; options?: ItemOptions }[],
      common?: ItemOptions,
    ) {
      for (const batch of batches(items)) {
        const atomic = db.atomic();
        for (const { key, value, options: given } of batch) {
          atomic.set(toKey(key), value, ttlOf({ ...common, ...given }));
        }
        await atomic.commit();
      }
    },
    async removeItem(item: string) {
      await db.delete(toKey(item));
    },
    getKeys,
    async clear(base = "") {
      await db.deleteRange({ prefix: toKey(base) });
    },
    watch,
    dispose() {
      for (const stop of watches) stop.abort();
      watches.clear();
    },
  };
}

/** For what takes the name of a module, as Nitro does. */
export default kindexDriver;

import { opened, type StoreOptions, timeToLive } from "./options.js";

const text = (value: unknown) => value === null ? null : String(value);
const seconds = (ttl = 0) => timeToLive(ttl * 1000);

/** The secondary storage of Better Auth: sessions, verifications, rate limits. */
export function kindexStorage(options: StoreOptions) {
  const { db, prefix } = opened(options, "better-auth");
  return {
    async get(name: string): Promise<string | null> {
      return text((await db.get([...prefix, name])).value);
    },
    /** In one commit, so that of several callers only one gets the value. */
    async getAndDelete(name: string): Promise<string | null> {
      return text((await db.delete([...prefix, name])).value);
    },
    /** In one commit; the time to live is that of the first one, in seconds. */
    async increment(name: string, ttl: number): Promise<number> {
      const commit = await db.atomic()
        .sum([...prefix, name], 1, { ...seconds(ttl), ttlOf: "new", returns: "new" })
        .commit();
      return (commit as { results: { value: number }[] }).results[0].value;
    },
    async set(name: string, value: string, ttl?: number): Promise<void> {
      await db.put([...prefix, name], value, seconds(ttl));
    },
    async delete(name: string): Promise<void> {
      await db.delete([...prefix, name]);
    },
  };
}

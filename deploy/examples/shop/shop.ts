// The shop in TypeScript, for Node, Deno and Bun. Usage: KINDEX_URL=http://127.0.0.1:4512 node shop.js
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import process from "node:process";
import { connect, KindexError } from "kindex";

type User = { email: string };
type Order = {
  user: string;
  item: string;
  count: number;
  total: number;
  status: "open" | "paid";
  date: string;
};
type Session = { user: string; device: string };
type Copy = { since: string; orders: Record<string, Order> };

const copyFile = process.env.COPY ?? "orders.json";
const db = connect(process.env.KINDEX_URL ?? "http://127.0.0.1:4512");

// The same indexes as in indexes.json, as a part of the types.
const users = db.collection<User>("users", {
  indexes: { byEmail: { fields: ["/email"], fold: "lower", unique: true } },
});
const orders = db.collection<Order>("orders", {
  indexes: {
    byStatus: { fields: ["/status", "/date"] },
    changed: { fields: [{ versionstamp: true }], tombstones: "7d" },
    sales: {
      fields: ["/status"],
      store: { aggregate: { count: true, sum: [{ path: "/total", scale: 2 }] } },
    },
  },
});
const sessions = db.collection<Session>("sessions", {
  indexes: { byUser: { fields: ["/user"] } },
});
const CHANGED = "orders_changed";

const isRefusal = (error: unknown, code: string): error is KindexError =>
  error instanceof KindexError && error.code === code;

/** The user must be new; that the e-mail address is unique is the index's work. */
async function signUp(user: string, email: string) {
  try {
    await users.create(user, { email });
    console.log(`${user} signs up`);
  } catch (error) {
    if (!isRefusal(error, "unique-violation")) throw error;
    console.log(`${email} belongs to ${error.existingKey![1]}`);
  }
}

/** The order and the stock that it takes are one commit: both are stored, or neither. */
async function order(number: number, user: string, item: string, count: number) {
  const { value } = await db.get<{ price: number }>(["items", item]);
  const total = value!.price * count;
  const placed: Order = { user, item, count, total, status: "open", date: `2026-11-0${number}` };
  try {
    const { ok } = await db.atomic()
      .check({ of: users.key(user), exists: true })
      .check({ of: orders.key(number), versionstamp: null })
      .sum(["stock", item], -count, { min: 0 })
      .set(orders.key(number), placed)
      .commit();
    if (!ok) throw new Error(`${user} is unknown, or there is an order ${number}`);
    console.log(`order ${number}: ${user} buys ${count} ${item}`);
  } catch (error) {
    if (!isRefusal(error, "out-of-bounds")) throw error;
    console.log(`order ${number}: only ${(await db.get(["stock", item])).value} ${item} left`);
  }
}

/** Newest first. The bounds of the list are values of the index's fields. */
async function showOrders(status: Order["status"]) {
  const numbers: unknown[] = [];
  for await (const { key } of orders.byStatus.list(status, { reverse: true })) numbers.push(key[1]);
  console.log(`${status}:`, ...numbers);
}

async function setStatus(number: number, status: Order["status"]) {
  await orders.update(number, (old) => ({ ...old!, status }));
  console.log(`order ${number} is ${status}`);
}

async function signIn(user: string, device: string) {
  await sessions.put(randomUUID(), { user, device }, { ttl: "30m" });
}

async function showSessions(user: string) {
  const devices: string[] = [];
  for await (const { value } of sessions.byUser.list(user)) devices.push(value.device);
  console.log(`sessions of ${user}:`, devices.sort().join(" ") || "none");
}

async function showSales(status: Order["status"]) {
  const { count, sum } = await orders.sales.aggregate(status);
  console.log(`${count} ${status} for ${sum!["/total"]}`);
}

/**
 * The file has the orders, and the versionstamp up to which it has them. What has changed
 * since is applied to the orders; then the file is replaced.
 */
async function copyChanges() {
  const copy: Copy = existsSync(copyFile)
    ? JSON.parse(readFileSync(copyFile, "utf8"))
    : { since: "", orders: {} };
  const { since } = copy;
  let changes = 0;
  const start = since ? [since] : undefined;
  for await (const entry of db.list<Order>({ index: CHANGED, start })) {
    if (entry.versionstamp <= since) continue;
    copy.since = entry.versionstamp;
    changes++;
    const number = String(entry.key[1]);
    if ("deleted" in entry) delete copy.orders[number];
    else copy.orders[number] = entry.value;
  }
  writeFileSync(`${copyFile}.new`, JSON.stringify(copy));
  renameSync(`${copyFile}.new`, copyFile);
  console.log(`copied ${changes}, the copy has ${Object.keys(copy.orders).length}`);
}

await db.applyIndexes();
await db.atomic()
  .set(["items", "pen"], { price: 2 }).set(["stock", "pen"], 5)
  .set(["items", "ink"], { price: 9.5 }).set(["stock", "ink"], 1)
  .commit();

await signUp("ada", "ada@x.org");
await signUp("bo", "bo@x.org");
await signUp("carl", "ADA@x.org");
await order(1, "ada", "pen", 3);
await order(2, "bo", "ink", 1);
await order(3, "bo", "pen", 3);
await copyChanges();
await showOrders("open");
await setStatus(1, "paid");
await showOrders("open");
await showOrders("paid");
await showSales("open");
await showSales("paid");
await copyChanges();
await signIn("ada", "phone");
await signIn("ada", "laptop");
await showSessions("ada");
await db.deleteRange({ index: "sessions_by_user", prefix: ["ada"] });
await showSessions("ada");

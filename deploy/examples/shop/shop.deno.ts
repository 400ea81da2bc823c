// The shop with Deno's own Deno.openKv, which knows nothing of indexes: their entries are
// read under the names of the indexes. Usage:
//   KINDEX_URL=http://127.0.0.1:4512 DENO_KV_ACCESS_TOKEN=any deno run --unstable-kv -A shop.deno.ts

type Order = {
  user: string;
  item: string;
  count: number;
  total: number;
  status: "open" | "paid";
  date: string;
};
type Copy = { since: string; orders: Record<string, Order> };

const url = Deno.env.get("KINDEX_URL") ?? "http://127.0.0.1:4512";
const copyFile = Deno.env.get("COPY") ?? "orders.json";
const kv = await Deno.openKv(url);

async function declareIndexes() {
  const body = await Deno.readTextFile(new URL("indexes.json", import.meta.url));
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${url}/indexes`, { method: "PUT", headers, body });
  if (!answer.ok) throw new Error(await answer.text());
  await answer.body?.cancel();
}

/** The user must be new, and the address have no entry in the unique index. */
async function signUp(user: string, email: string) {
  const byEmail = ["users_by_email", email.toLowerCase()];
  const { ok } = await kv.atomic()
    .check({ key: ["users", user], versionstamp: null }, { key: byEmail, versionstamp: null })
    .set(["users", user], { email })
    .commit();
  if (ok) console.log(`${user} signs up`);
  else console.log(`${email} belongs to ${(await kv.get(byEmail)).value}`);
}

/** Deno's sums have no bounds, so the stock is read, and checked when it is written. */
async function order(number: number, user: string, item: string, count: number) {
  for (;;) {
    const [buyer, price, stock] = await kv.getMany<[unknown, { price: number }, number]>(
      [["users", user], ["items", item], ["stock", item]],
    );
    if (!buyer.versionstamp) throw new Error(`there is no user ${user}`);
    if (stock.value! < count) {
      return console.log(`order ${number}: only ${stock.value} ${item} left`);
    }
    const total = price.value!.price * count;
    const date = `2026-11-0${number}`;
    const { ok } = await kv.atomic()
      .check(buyer, stock, { key: ["orders", number], versionstamp: null })
      .set(["stock", item], stock.value! - count)
      .set(["orders", number], { user, item, count, total, status: "open", date })
      .commit();
    if (ok) return console.log(`order ${number}: ${user} buys ${count} ${item}`);
  }
}

/** Newest first. The index has one part for each field, and then the order's number. */
async function showOrders(status: Order["status"]) {
  const numbers: unknown[] = [];
  const found = kv.list({ prefix: ["orders_by_status", status] }, { reverse: true });
  for await (const { key } of found) numbers.push(key.at(-1));
  console.log(`${status}:`, ...numbers);
}

async function setStatus(number: number, status: Order["status"]) {
  for (let ok = false; !ok;) {
    const old = await kv.get<Order>(["orders", number]);
    ({ ok } = await kv.atomic()
      .check(old)
      .set(["orders", number], { ...old.value!, status })
      .commit());
  }
  console.log(`order ${number} is ${status}`);
}

async function signIn(user: string, device: string) {
  const expireIn = 30 * 60_000;
  await kv.set(["sessions", crypto.randomUUID()], { user, device }, { expireIn });
}

async function sessionsOf(user: string): Promise<Deno.KvEntryMaybe<{ device: string }>[]> {
  const found = [];
  for await (const { key } of kv.list({ prefix: ["sessions_by_user", user] })) {
    found.push(await kv.get<{ device: string }>(["sessions", key.at(-1)!]));
  }
  return found;
}

async function showSessions(user: string) {
  const devices = (await sessionsOf(user)).flatMap(({ value }) => value?.device ?? []);
  console.log(`sessions of ${user}:`, devices.sort().join(" ") || "none");
}

async function signOutEverywhere(user: string) {
  for (const { key } of await sessionsOf(user)) await kv.delete(key);
}

async function showSales(status: Order["status"]) {
  const totals = await kv.get<{ count: number; sum: Record<string, string> }>(
    ["orders_sales", status],
  );
  console.log(`${totals.value!.count} ${status} for ${totals.value!.sum["/total"]}`);
}

/** By HTTP, since KV Connect does not report removed entries. */
async function copyChanges() {
  const empty = { since: "", orders: {} };
  const copy: Copy = await Deno.readTextFile(copyFile).then(JSON.parse, () => empty);
  const { since } = copy;
  let changes = 0;
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ index: "orders_changed" });
    if (cursor) query.set("cursor", cursor);
    else if (since) query.set("start", since);
    const answer = await fetch(`${url}/list?${query}`);
    if (!answer.ok) throw new Error(await answer.text());
    const page = await answer.json();
    for (const { key, value, versionstamp, deleted } of page.entries) {
      if (versionstamp <= since) continue;
      copy.since = versionstamp;
      changes++;
      if (deleted) delete copy.orders[key[1]];
      else copy.orders[key[1]] = value;
    }
    cursor = page.cursor;
  } while (cursor);
  await Deno.writeTextFile(`${copyFile}.new`, JSON.stringify(copy));
  await Deno.rename(`${copyFile}.new`, copyFile);
  console.log(`copied ${changes}, the copy has ${Object.keys(copy.orders).length}`);
}

await declareIndexes();
await kv.atomic()
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
await signOutEverywhere("ada");
await showSessions("ada");
kv.close();

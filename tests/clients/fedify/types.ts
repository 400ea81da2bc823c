// Checks that Fedify's types accept the adapter, and that the adapter's types find mistakes.
import { createFederation, type KvStore, type MessageQueue } from "@fedify/fedify";
import { connect } from "kindex";
import { KindexKvStore, KindexMessageQueue } from "kindex-adapters/fedify";

const db = connect("http://127.0.0.1:4512");
const kv: KvStore = new KindexKvStore({ db, prefix: ["app"] });
const queue: MessageQueue = new KindexMessageQueue({ db, concurrency: 8 });
export const federation = createFederation<void>({ kv, queue });

// @ts-expect-error a key is an array
await new KindexKvStore({ db }).get("name");
// @ts-expect-error there is no such option
new KindexMessageQueue({ db, workers: 8 });

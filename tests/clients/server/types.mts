import { kindexForTests, type TestStore } from "kindex-server";

const store: TestStore = await kindexForTests({ args: ["--cache", "16MiB"], retries: 0 });
await store.db.put(["users", "ada"], { name: "Ada" });
const url: string = store.url;
await store.close();
// @ts-expect-error it is an unknown option
await kindexForTests({ arg: [url] });
export {};

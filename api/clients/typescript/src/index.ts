export * from "./atomic.js";
export * from "./client.js";
export * from "./collection.js";
export { type ClaimOptions, type Job, Queue, type Receipt, type WorkOptions } from "./queue.js";
export { type FailedCheck, KindexError } from "./error.js";
export type { CallOptions, ConnectOptions } from "./http.js";
export { ExactNumber, parseJson, stringifyJson } from "./json.js";
export { type ReadListOptions, Transaction, type TransactionOptions } from "./transaction.js";
export { type Key, type KeyPart, KvU64, Media, Typed } from "./values.js";

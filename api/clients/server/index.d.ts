import type { ConnectOptions, Kindex } from "kindex";

/** Options of the store, and those of `connect` for its client. */
export interface TestOptions extends ConnectOptions {
  /** The server; the program of this package unless given. */
  program?: string;
  /** Further options of `kindex serve`, such as `["--bodies-max", "64MiB"]`. */
  args?: readonly string[];
}

export interface TestStore {
  db: Kindex;
  url: string;
  /** Ends the server; its store is gone. */
  close(): Promise<void>;
}

/**
 * An empty store for a test, served by a separate process (`kindex serve --ephemeral`), which
 * ends with `close`, or with this program.
 */
export function kindexForTests(options?: TestOptions): Promise<TestStore>;

import { KindexError } from "./error.js";
import { sleep, type Transport } from "./http.js";

/** An event as the service names it, with its data. */
export interface ServerEvent {
  event: string;
  data: string;
  id?: string;
}

// The service sends a comment after 15 seconds of silence.
const SILENCE_MS = 45_000;

/**
 * The events of an address, without an end: after a break it asks again, with the
 * last id, so that nothing is missed.
 */
export async function* serverEvents(
  transport: Transport,
  path: string,
  signal?: AbortSignal,
): AsyncGenerator<ServerEvent> {
  let id: string | undefined;
  let retryMs = 2000;
  for (;;) {
    const connection = new AbortController();
    const stop = () => connection.abort(signal!.reason);
    signal?.addEventListener("abort", stop, { once: true });
    signal?.throwIfAborted();
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (id !== undefined) headers["Last-Event-ID"] = id;
      const response = await transport.send(
        { method: "GET", path, headers, signal: connection.signal },
      );
      for await (const block of blocks(response.body!, connection)) {
        const found = parse(block);
        id = found.id ?? id;
        retryMs = found.retryMs ?? retryMs;
        if (found.event === "error") {
          const problem = JSON.parse(found.data);
          throw new KindexError(problem.status, problem);
        }
        if (found.event) yield found;
      }
    } catch (error) {
      signal?.throwIfAborted();
      const lasting = error instanceof KindexError && error.status !== 0 &&
        error.status !== 503;
      if (lasting) throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
      connection.abort();
    }
    await sleep(retryMs, signal);
  }
}

async function* blocks(
  body: ReadableStream<Uint8Array>,
  connection: AbortController,
): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const timer = setTimeout(() => connection.abort(), SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const complete = text.split("\n\n");
    text = complete.pop()!;
    yield* complete;
  }
}

function parse(block: string): ServerEvent & { retryMs?: number } {
  const found = { event: "", data: "" } as ReturnType<typeof parse>;
  for (const line of block.split("\n")) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "event" || name === "id") found[name] = value;
    else if (name === "data") found.data += value;
    else if (name === "retry") found.retryMs = Number(value);
  }
  return found;
}

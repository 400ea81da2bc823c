import { KindexError } from "./error.js";
import { type Answer, RETRY_AFTER_MS_MAX, sleep, tooLarge, type Transport } from "./http.js";
import { parseJson } from "./json.js";

/** An event as the service names it, with its data. */
export interface ServerEvent {
  event: string;
  data: string;
  id?: string;
}

const FIRST_RETRY_MS = 2000;

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
  let retryMs = FIRST_RETRY_MS;
  for (;;) {
    let answer: Answer | undefined;
    signal?.throwIfAborted();
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (id !== undefined) headers["Last-Event-ID"] = id;
      answer = await transport.send(
        { method: "GET", path, headers, signal, streams: true },
        (open) => open,
      );
      for await (const block of blocks(answer, transport.bytesMax)) {
        const found = parse(block);
        id = found.id ?? id;
        retryMs = found.retryMs ?? retryMs;
        if (found.event === "error") {
          const problem = parseJson(found.data);
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
      answer?.close();
    }
    await sleep(retryMs, signal);
  }
}

async function* blocks(answer: Answer, sizeMax: number): AsyncGenerator<string> {
  let text = "";
  for await (const part of answer.text(true)) {
    text += part;
    const complete = text.split("\n\n");
    text = complete.pop()!;
    yield* complete;
    if (text.length > sizeMax) throw tooLarge(answer.status, sizeMax);
  }
}

function parse(block: string): ServerEvent & { retryMs?: number } {
  const found = { event: "", data: "" } as ReturnType<typeof parse>;
  for (const line of block.split("\n")) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "event" || name === "id") found[name] = value;
    else if (name === "data") found.data += value;
    else if (name === "retry" && /^\d+$/.test(value)) {
      found.retryMs = Math.min(Number(value), RETRY_AFTER_MS_MAX);
    }
  }
  return found;
}

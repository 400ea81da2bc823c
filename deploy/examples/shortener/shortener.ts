// A URL shortener. Usage: KINDEX_URL=http://127.0.0.1:4512 node shortener.js [PORT]
//
//   curl -d https://example.org http://127.0.0.1:8080/        makes a link
//   curl -i http://127.0.0.1:8080/CODE                        follows it
//   curl http://127.0.0.1:8080/CODE/hits                      how often it was followed
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { connect, KindexError } from "kindex";

const LINK_TTL = "365d";
const LINKS_PER_MINUTE = 5; // of one address
const URL_MAX = 2000; // characters
const CODE_BYTES = 5;

const db = connect(process.env.KINDEX_URL ?? "http://127.0.0.1:4512");

/** Counts a link of this address. Each count begins with the first link and lasts a minute. */
async function isWithinRate(address: string): Promise<boolean> {
  try {
    await db.atomic()
      .sum(["rate", address], 1, { max: LINKS_PER_MINUTE, ttl: "1m", ttlOf: "new" })
      .commit();
    return true;
  } catch (error) {
    if (error instanceof KindexError && error.code === "out-of-bounds") return false;
    throw error;
  }
}

/** A code is taken only if no other link has it. */
async function shorten(target: string): Promise<string> {
  for (;;) {
    const code = randomBytes(CODE_BYTES).toString("base64url");
    const link = { target, made: new Date() };
    if (await db.put(["links", code], link, { ttl: LINK_TTL, versionstamp: null })) return code;
  }
}

/** The target of a link, whose hits are counted as long as the link is there. */
async function follow(code: string): Promise<string | null> {
  const { value } = await db.get<{ target: string }>(["links", code]);
  if (value === null) return null;
  await db.atomic()
    .check({ of: ["links", code], exists: true })
    .sum(["hits", code], 1, { ttl: LINK_TTL })
    .commit();
  return value.target;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request.setEncoding("utf8")) {
    text += part;
    if (text.length > URL_MAX) return "";
  }
  return text.trim();
}

function isAddress(text: string): boolean {
  try {
    return ["http:", "https:"].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}

function reply(response: ServerResponse, status: number, text: string, headers = {}) {
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8", ...headers });
  response.end(`${text}\n`);
}

async function handle(request: IncomingMessage, response: ServerResponse) {
  const [, code = "", rest] = (request.url ?? "/").split("/");
  if (request.method === "POST") {
    const target = await bodyOf(request);
    if (!isAddress(target)) {
      return reply(response, 400, `send an http or https address of at most ${URL_MAX} characters`);
    }
    if (!await isWithinRate(request.socket.remoteAddress ?? "")) {
      return reply(response, 429, `at most ${LINKS_PER_MINUTE} links in a minute`, { "Retry-After": "60" });
    }
    return reply(response, 201, `http://${request.headers.host}/${await shorten(target)}`);
  }
  if (rest === "hits") return reply(response, 200, String((await db.get(["hits", code])).value ?? 0));
  const target = code && await follow(code);
  if (!target) return reply(response, 404, "there is no such link");
  reply(response, 302, target, { Location: target });
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) reply(response, 502, "the store cannot be reached");
  });
});
server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  console.log(`http://127.0.0.1:${port}/`);
});

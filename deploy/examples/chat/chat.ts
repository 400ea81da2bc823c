// A chat with rooms. Usage: KINDEX_URL=http://127.0.0.1:4512 node chat.js [PORT]
// Several of these can run at the same time: each sees the messages that the others store.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { connect } from "kindex";

const TEXT_MAX = 2000; // characters
const MESSAGE_TTL = "7d";

type Message = { room: string; from: string; text: string; at: string };

const db = connect(process.env.KINDEX_URL ?? "http://127.0.0.1:4512");
// The messages of a room in the order in which they were stored. A position in it is a versionstamp.
const messages = db.collection<Message>("messages", {
  indexes: { ofRoom: { fields: ["/room", { versionstamp: true }], tombstones: "1h" } },
});

/** Sends the messages of a room after `since`, then each new one, until the client leaves. */
async function stream(room: string, since: string | undefined, response: ServerResponse) {
  const stop = new AbortController();
  response.on("close", () => stop.abort());
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  response.flushHeaders();
  const changes = db.watchIndex<Message>("messages_of_room", { prefix: [room], since, signal: stop.signal });
  try {
    for await (const { entries, since: position } of changes) {
      for (const { value, deleted } of entries) {
        if (!deleted) response.write(`data: ${JSON.stringify(value)}\n\n`);
      }
      // A browser that reconnects sends this as Last-Event-ID.
      if (position) response.write(`id: ${position}\n\n`);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}

async function bodyOf(request: IncomingMessage): Promise<any> {
  let text = "";
  for await (const part of request.setEncoding("utf8")) {
    text += part;
    if (text.length > 2 * TEXT_MAX) return null;
  }
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function reply(response: ServerResponse, status: number, text: string, type = "text/plain") {
  response.writeHead(status, { "Content-Type": `${type}; charset=utf-8` });
  response.end(text);
}

async function handle(request: IncomingMessage, response: ServerResponse) {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const room = /^\/rooms\/([\w-]{1,40})$/.exec(pathname)?.[1];
  if (pathname === "/") return reply(response, 200, PAGE, "text/html");
  if (!room) return reply(response, 404, "there is no such page\n");
  if (request.method === "GET") {
    return await stream(room, request.headers["last-event-id"] as string | undefined, response);
  }
  const { from, text } = await bodyOf(request) ?? {};
  if (typeof from !== "string" || typeof text !== "string" || !text || text.length > TEXT_MAX) {
    return reply(response, 400, `send {"from":..,"text":..} with at most ${TEXT_MAX} characters\n`);
  }
  await messages.add({ room, from, text, at: new Date().toISOString() }, { ttl: MESSAGE_TTL });
  reply(response, 201, "sent\n");
}

const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>Chat</title>
<ul id="messages"></ul>
<form><input name="from" placeholder="name" required> <input name="text" placeholder="text" required>
<button>Send</button></form>
<script type="module">
const room = "/rooms/" + (location.hash.slice(1) || "lobby");
const list = document.getElementById("messages");
new EventSource(room).onmessage = ({ data }) => {
  const { from, text } = JSON.parse(data);
  const line = document.createElement("li");
  line.textContent = from + ": " + text;
  list.append(line);
};
document.querySelector("form").onsubmit = async (event) => {
  event.preventDefault();
  const { from, text } = event.target.elements;
  await fetch(room, { method: "POST", body: JSON.stringify({ from: from.value, text: text.value }) });
  text.value = "";
};
</script>
`;

await db.applyIndexes();
const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error);
    if (response.headersSent) response.end();
    else reply(response, 502, "the store cannot be reached\n");
  });
});
server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  console.log(`http://127.0.0.1:${port}/`);
});

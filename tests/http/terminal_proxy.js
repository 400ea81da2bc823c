// Hands requests on to a server, and puts control characters into every string of
// its answers: what a terminal would obey, if it were shown as it is.
//   node terminal_proxy.js SERVER PORT-FILE
const http = require("http");
const { writeFileSync } = require("fs");
const [server, portFile] = process.argv.slice(2);

const HOSTILE = "\u001b]0;t\u0007\u009b31m\u202e\u2066\u200f\u061c\u007f\r";

function spoil(value) {
    if (typeof value === "string") return value + HOSTILE;
    if (Array.isArray(value)) return value.map(spoil);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(
        ([name, member]) => [name, name === "cursor" ? member : spoil(member)]));
}

function spoilText(text, type) {
    if (/event-stream/.test(type))
        return text.replace(/^data: (.*)$/gm, (_, data) => `data: ${JSON.stringify(spoil(JSON.parse(data)))}`);
    if (/ndjson/.test(type))
        return text.replace(/^.+$/gm, (line) => JSON.stringify(spoil(JSON.parse(line))));
    if (/json/.test(type)) return JSON.stringify(spoil(JSON.parse(text)));
    if (/plain/.test(type)) return text.replace(/(index|route|method|state)="[^"]*/g, `$&${HOSTILE}`);
    return text + HOSTILE;
}

const proxy = http.createServer((request, reply) => {
    const { method, url, headers } = request;
    const onward = http.request(server + url, { method, headers }, (answer) => {
        const type = answer.headers["content-type"] ?? "";
        delete answer.headers["content-length"];
        reply.writeHead(answer.statusCode, answer.headers);
        const stream = /event-stream/.test(type);
        let text = "";
        answer.setEncoding("utf8").on("data", (part) => {
            text += part;
            const whole = stream ? text.lastIndexOf("\n\n") + 2 : 0;
            if (whole > 1) reply.write(spoilText(text.slice(0, whole), type));
            if (whole > 1) text = text.slice(whole);
        }).on("end", () => reply.end(text === "" ? "" : spoilText(text, type)));
        reply.on("close", () => answer.destroy());
    });
    onward.on("error", () => reply.destroy());
    request.pipe(onward);
}).listen(0, "127.0.0.1", () => writeFileSync(portFile, `${proxy.address().port}\n`));

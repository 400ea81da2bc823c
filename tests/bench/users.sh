#!/bin/bash
# The users of large.sh and large_peers.sh: 190 bytes of value, in an order that is not
# that of their keys. Sourced.

# users COUNT [rows]: lines for `kindex import`, or rows for PostgreSQL's COPY.
users() {
    node -e '
        const [count, form] = [Number(process.argv[1]), process.argv[2]];
        const write = (n) => {
            let text = "";
            for (const end = Math.min(n + 2000, count); n < end; n++) {
                const id = Math.imul(n, 2654435761) >>> 0;
                const email = Math.imul(id, 40503) >>> 0;
                const key = id.toString(16).padStart(8, "0");
                const value = `{"email":"user${email}@example.org","city":"city${email % 1000}","n":${n},"note":"${"x".repeat(110)}"}`;
                text += form === "rows" ? `${key}\t${value}\n` : `{"key":["users","${key}"],"value":${value}}\n`;
            }
            const more = () => { if (n < count) write(n); };
            if (process.stdout.write(text)) setImmediate(more);
            else process.stdout.once("drain", more);
        };
        process.stdout.on("error", () => process.exit(0)); // the reader was killed
        write(0);' "$1" "${2-lines}"
}

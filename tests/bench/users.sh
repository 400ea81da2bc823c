#!/bin/bash
# The users of large.sh and large_peers.sh: 190 bytes of value, in an order that is not
# that of their keys. Sourced.

# users COUNT [FORM]: lines for `kindex import`, rows for PostgreSQL's COPY, or commands
# of Redis that store the entries, or two indexes of them.
users() {
    node -e '
        const [count, form] = [Number(process.argv[1]), process.argv[2]];
        const command = (...words) => `*${words.length}\r\n` +
            words.map((word) => `$${word.length}\r\n${word}\r\n`).join("");
        const forms = {
            lines: (key, value) => `{"key":["users","${key}"],"value":${value}}\n`,
            rows: (key, value) => `${key}\t${value}\n`,
            entries: (key, value) => command("SET", `user:${key}`, value),
            indexes: (key, value, email, city) => command("ZADD", "emails", "0", `${email} ${key}`) +
                command("ZADD", city, "0", key),
        };
        const write = (n) => {
            let text = "";
            for (const end = Math.min(n + 2000, count); n < end; n++) {
                const id = Math.imul(n, 2654435761) >>> 0;
                const email = Math.imul(id, 40503) >>> 0;
                const key = id.toString(16).padStart(8, "0");
                const address = `user${email}@example.org`;
                const city = `city${email % 1000}`;
                const value = `{"email":"${address}","city":"${city}","n":${n},"note":"${"x".repeat(110)}"}`;
                text += forms[form](key, value, address, city);
            }
            const more = () => { if (n < count) write(n); };
            if (process.stdout.write(text)) setImmediate(more);
            else process.stdout.once("drain", more);
        };
        process.stdout.on("error", () => process.exit(0)); // the reader was killed
        write(0);' "$1" "${2-lines}"
}

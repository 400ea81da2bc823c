// Makes dist from src: one file for `import`, one for `require`, and the
// declarations, in which the comments are, for both.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const esbuild = require("esbuild");

const dist = path.join(__dirname, "dist");
const tsc = require.resolve("typescript/bin/tsc");

fs.rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, "--project", __dirname, "--declaration",
  "--emitDeclarationOnly", "--outDir", path.join(dist, "types")], { stdio: "inherit" });
for (const [format, extension] of [["esm", "mjs"], ["cjs", "cjs"]]) {
  esbuild.buildSync({
    entryPoints: [path.join(__dirname, "src/index.ts")],
    outfile: path.join(dist, `index.${extension}`),
    bundle: true,
    format,
    minify: true,
    keepNames: false,
    target: "es2022",
  });
}

// Makes dist of a package from its src: each module as one file for `import` (dist/esm),
// one for `require` (dist/cjs), and the declarations, in which the comments are, for both.
// npm packs files of one name side by side, so that both together compress well.
// build.js [DIRECTORY OF THE PACKAGE]
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const esbuild = require("esbuild");

const root = path.resolve(process.argv[2] ?? __dirname);
const dist = path.join(root, "dist");
const tsc = require.resolve("typescript/bin/tsc");

fs.rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, "--project", root, "--declaration",
  "--emitDeclarationOnly", "--outDir", path.join(dist, "types")], { stdio: "inherit" });
const [esm, cjs] = ["esm", "cjs"].map((format) => path.join(dist, format));
const inside = (folder) => fs.readdirSync(folder).map((name) => path.join(folder, name));
esbuild.buildSync({ entryPoints: inside(path.join(root, "src")), outdir: esm, format: "esm",
  target: "es2022", minify: true, keepNames: true });
// With the same short names.
esbuild.buildSync({ entryPoints: inside(esm), outdir: cjs, format: "cjs", target: "es2022",
  minifyWhitespace: true, minifySyntax: true });
fs.writeFileSync(path.join(esm, "package.json"), '{"type":"module"}\n');

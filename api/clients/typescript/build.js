// Makes dist of a package from its src: for each module that it exports one file for
// `import`, one for `require`, and the declarations, in which the comments are, for
// both.  build.js [DIRECTORY OF THE PACKAGE]
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const esbuild = require("esbuild");

const root = path.resolve(process.argv[2] ?? __dirname);
const dist = path.join(root, "dist");
const tsc = require.resolve("typescript/bin/tsc");
const described = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));

fs.rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, "--project", root, "--declaration",
  "--emitDeclarationOnly", "--outDir", path.join(dist, "types")], { stdio: "inherit" });
for (const { import: file } of Object.values(described.exports)) {
  const name = path.basename(file, ".mjs");
  const [mjs, cjs] = ["mjs", "cjs"].map((form) => path.join(dist, `${name}.${form}`));
  const common = { bundle: true, packages: "external", target: "es2022" };
  esbuild.buildSync({ ...common, entryPoints: [path.join(root, `src/${name}.ts`)],
    outfile: mjs, format: "esm", minify: true, keepNames: true });
  // With the same short names, so that both together compress well.
  esbuild.buildSync({ ...common, entryPoints: [mjs], outfile: cjs, format: "cjs",
    minifyWhitespace: true, minifySyntax: true });
}

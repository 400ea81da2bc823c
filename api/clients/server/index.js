// An empty store for a test.
"use strict";

const { spawn } = require("node:child_process");
const { connect } = require("kindex");
const { findProgram } = require("./program.js");

const SAID_MAX = 4096; // last characters of standard error that are kept

// Resolves with the first line of standard output. If the program ends before, rejects with
// its last output on standard error.
function firstLine(server) {
  return new Promise((resolve, reject) => {
    let line = "";
    let said = "";
    server.stderr.on("data", (text) => { said = `${said}${text}`.slice(-SAID_MAX); });
    server.stdout.on("data", (text) => {
      line += text;
      if (line.includes("\n")) resolve(line);
    });
    server.once("error", reject);
    server.once("close", () => reject(new Error(`${server.spawnfile} did not start: ${said}`)));
  });
}

// Returns a function that stops the server. It also stops when this process exits.
function ending(server) {
  const kill = () => server.kill();
  process.once("exit", kill);
  const ended = new Promise((resolve) => {
    server.once("close", () => {
      process.removeListener("exit", kill);
      resolve();
    });
  });
  return () => {
    kill();
    return ended;
  };
}

async function kindexForTests(options = {}) {
  const { program = findProgram(), args = [], ...others } = options;
  if (!Array.isArray(args)) throw new TypeError("args is an array");
  connect("http://127.0.0.1", others); // refuses options that are unknown
  const server = spawn(program, ["serve", "--ephemeral", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const close = ending(server);
  const { url } = JSON.parse(await firstLine(server));
  return { db: connect(url, others), url, close };
}

exports.kindexForTests = kindexForTests;

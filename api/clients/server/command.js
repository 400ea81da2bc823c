#!/usr/bin/env node
// Runs the program with the arguments of this command, and exits with its status or signal.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { findProgram } = require("./program.js");

const NOT_LOADED = 127; // exit status of the dynamic loader, which has named the missing library

const program = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) {
  process.on(signal, () => program.kill(signal));
}
program.on("error", (error) => {
  console.error(`kindex: ${error.message}`);
  process.exitCode = 1;
});
program.on("exit", (code, signal) => {
  if (code === NOT_LOADED) {
    console.error("kindex: the README of kindex-server names the libraries of Debian 12 that it needs");
  }
  process.exitCode = code ?? 128 + constants.signals[signal];
});

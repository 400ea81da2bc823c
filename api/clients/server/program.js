// Finds the program for this machine.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const programs = path.join(__dirname, "programs");

/** The path of the program. Throws if this package has none for this machine. */
function findProgram() {
  const name = `${process.platform}-${process.arch}`;
  const program = path.join(programs, name);
  if (!fs.existsSync(program)) {
    throw new Error(`kindex-server has no program for ${name}, only for ${fs.readdirSync(programs).join(", ")}`);
  }
  return program;
}

module.exports = { findProgram };

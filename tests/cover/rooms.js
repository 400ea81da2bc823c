// Prints the lines and branches of a build that have run, by room, as counted by gcov.
//
//   node rooms.js BUILD        all rooms; ends with "N passed, N failed"
//   node rooms.js BUILD ROOM   the lines of one room that have not run, and those with a
//                              branch that was never taken
"use strict";
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

// Minimum in percent for the rooms that decide about data and access.
const LINES = 90;
const BRANCHES = 80;
const BOUND = ["src/plan", "src/commit", "src/bdb", "src/engine", "src/builds", "api/access", "api/http1"];

// A macro of uthash has dozens of branches on one line, which belong to the library, so they
// are not counted.
const LIBRARY_MACRO = /\bHASH_[A-Z_]+\(/;

const rooms = ["src", "api"].flatMap((top) => fs.readFileSync(`${top}/ROOMS`, "utf8").split("\n")
  .filter((line) => /^[a-z]/.test(line)).map((line) => `${top}/${line.split(":")[0]}`));

const texts = new Map();
function textOf(file) {
  if (!texts.has(file)) texts.set(file, fs.readFileSync(file, "utf8").split("\n"));
  return texts.get(file);
}

// A header is compiled with many sources: its counts are added up.
function add(files, { file, lines }) {
  if (!rooms.includes(path.dirname(file))) return;
  const known = files.get(file) ?? files.set(file, new Map()).get(file);
  const text = textOf(file);
  for (const { line_number: number, function_name: name, count, branches: all } of lines) {
    const branches = LIBRARY_MACRO.test(text[number - 1]) ? [] : all;
    const key = `${number} ${name}`;
    const line = known.get(key) ?? { number, count: 0, branches: branches.map(() => 0) };
    line.count += count;
    branches.forEach((branch, n) => { line.branches[n] = (line.branches[n] ?? 0) + branch.count; });
    known.set(key, line);
  }
}

function read(build) {
  const files = new Map();
  for (const room of rooms) {
    const folder = path.join(build, room);
    const notes = fs.existsSync(folder) ? fs.readdirSync(folder).filter((name) => name.endsWith(".gcno")) : [];
    if (notes.length === 0) throw new Error(`${folder} has no files of gcov: make cover builds it`);
    const text = execFileSync("gcov", ["-b", "-t", "-j", ...notes.map((name) => path.join(folder, name))],
      { maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "ignore"] }).toString();
    for (const report of text.split("\n").filter(Boolean)) JSON.parse(report).files.forEach((file) => add(files, file));
  }
  return files;
}

const share = (all, has) => all.length === 0 ? 100 : all.filter(has).length / all.length * 100;

function sum(files, room) {
  const lines = [...files].filter(([file]) => path.dirname(file) === room).flatMap(([, known]) => [...known.values()]);
  return { lines: share(lines, (line) => line.count > 0),
    branches: share(lines.flatMap((line) => line.branches), (count) => count > 0), count: lines.length };
}

function showRooms(files) {
  let passed = 0;
  let failed = 0;
  console.log(`${"room".padEnd(20)} ${"lines".padStart(6)} ${"run".padStart(7)} ${"branches".padStart(9)}`);
  for (const room of rooms) {
    const { lines, branches, count } = sum(files, room);
    const good = lines >= LINES && branches >= BRANCHES;
    if (BOUND.includes(room)) good ? passed++ : failed++;
    console.log(`${room.padEnd(20)} ${String(count).padStart(6)} ${lines.toFixed(1).padStart(6)}% ` +
      `${branches.toFixed(1).padStart(8)}%${BOUND.includes(room) && !good ? `  FAILED: at least ${LINES}% and ${BRANCHES}%` : ""}`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

function showRoom(files, room) {
  for (const [file, known] of [...files].filter(([name]) => path.dirname(name) === room).sort()) {
    const text = textOf(file);
    for (const line of [...known.values()].sort((a, b) => a.number - b.number)) {
      const never = line.branches.filter((count) => count === 0).length;
      if (line.count > 0 && never === 0) continue;
      const what = line.count === 0 ? "not run" : `${never} of ${line.branches.length}`;
      console.log(`${file}:${line.number}: ${what.padEnd(8)} ${text[line.number - 1]}`);
    }
  }
}

const [build, room] = process.argv.slice(2);
const files = read(build);
room === undefined ? showRooms(files) : showRoom(files, room);

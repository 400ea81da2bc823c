// Makes JSON Web Tokens, and serves the keys of their issuer.
//
//   node tests/http/jwt.js keys DIRECTORY KID:ALGORITHM...
//       adds a key KID.key to the directory for each, and prints the set of their public keys
//   node tests/http/jwt.js sign KEY-FILE HEADER CLAIMS
//       prints a token; ALG of the header says how it is signed: RS256, ES256, EdDSA,
//       HS256 (with the text of KEY-FILE as the secret) or none
//   node tests/http/jwt.js serve CERTIFICATE KEY FILE PORT-FILE COUNT-FILE
//       serves FILE by HTTPS, and adds a byte to COUNT-FILE for each request. Without FILE
//       the answer is 500; if FILE begins with "redirect ", it is a redirect to what follows.
"use strict";
const crypto = require("node:crypto");
const fs = require("node:fs");
const https = require("node:https");
const path = require("node:path");

const PAIRS = { RS256: ["rsa", { modulusLength: 2048 }],
  ES256: ["ec", { namedCurve: "P-256" }], EdDSA: ["ed25519", {}] };

function makeKeys(directory, names) {
  const keys = names.map((name) => {
    const [kid, algorithm] = name.split(":");
    const { publicKey, privateKey } = crypto.generateKeyPairSync(...PAIRS[algorithm]);
    fs.writeFileSync(path.join(directory, `${kid}.key`), privateKey.export({ type: "pkcs8", format: "pem" }));
    return { ...publicKey.export({ format: "jwk" }), kid, alg: algorithm, use: "sig" };
  });
  return JSON.stringify({ keys });
}

function signature(algorithm, key, text) {
  if (algorithm === "none") return Buffer.alloc(0);
  if (algorithm === "HS256") return crypto.createHmac("sha256", key).update(text).digest();
  if (algorithm === "EdDSA") return crypto.sign(null, Buffer.from(text), key);
  return crypto.sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
}

function sign(file, header, claims) {
  const text = [header, claims].map((part) => Buffer.from(part).toString("base64url")).join(".");
  const made = signature(JSON.parse(header).alg, fs.readFileSync(file, "utf8"), text);
  return `${text}.${made.toString("base64url")}`;
}

function serve(certificate, key, file, portFile, countFile) {
  const server = https.createServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) },
    (request, reply) => {
      fs.appendFileSync(countFile, ".");
      const body = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
      if (body === "") reply.writeHead(500);
      else if (body.startsWith("redirect ")) reply.writeHead(302, { location: body.slice(9).trim() });
      reply.end(body);
    });
  server.listen(0, "127.0.0.1", () => {
    fs.writeFileSync(`${portFile}.part`, String(server.address().port));
    fs.renameSync(`${portFile}.part`, portFile);
  });
}

const [what, ...given] = process.argv.slice(2);
if (what === "keys") console.log(makeKeys(given[0], given.slice(1)));
else if (what === "sign") console.log(sign(...given));
else serve(...given);

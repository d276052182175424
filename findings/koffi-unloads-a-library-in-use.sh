#!/usr/bin/env bash
# koffi 3.3.4: a library is unloaded while a pointer that it returned is still held.
#
# koffi.load returns an object, and its func functions. While one of these is reachable, the library stays. A pointer that
# the library returned does not keep it, nor does what koffi.decode makes of such a pointer. Many C interfaces hand out
# one table of functions (PJRT, ONNX Runtime, Vulkan's loader): a program that keeps the table, and lets the object and the
# function that returned the table go, works until the garbage collector runs. Then the code is unmapped, and the next
# call is an access to memory that is gone. This script does not make that call: it reads /proc/self/maps.
# Keep what koffi.load returned for as long as anything of the library is used.
#
# Seen with Node 20.20.2 on Linux x64, where the library is zlib and the table that of its checksum:
#   loaded                             true
#   collected, the object is held      true
#   collected, only the table is held  false
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund koffi@3.3.4
cat >look.mjs <<'NODE'
import assert from "node:assert";
import { readFileSync } from "node:fs";
import koffi from "koffi";

const isLoaded = () => readFileSync("/proc/self/maps", "utf8").includes("/libz.so.1");
const collect = async () => {
  for (let turn = 0; turn < 5; turn++) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

let library = koffi.load("libz.so.1");
const table = library.func("void *get_crc_table()")();
const seen = [isLoaded()];
await collect();
seen.push(isLoaded());
assert.ok(library);
library = undefined;
await collect();
seen.push(isLoaded());
console.log("koffi", koffi.version, "node", process.version, "table", typeof table);
console.log("loaded                            ", seen[0]);
console.log("collected, the object is held     ", seen[1]);
console.log("collected, only the table is held ", seen[2]);
assert.deepEqual(seen, [true, true, false]);
NODE
node --expose-gc look.mjs

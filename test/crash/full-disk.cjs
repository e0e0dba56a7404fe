// Loaded into a worker (node --require): while the file FULL_DISK names is there, nothing can be
// written below the folder FULL_DISK_AT.
const fs = require("node:fs");

const { FULL_DISK: flag = "", FULL_DISK_AT: folder = "" } = process.env;
const paths = new Map();
const isFull = fs.existsSync;

function fail(name) {
  const error = new Error(`ENOSPC: no space left on device, ${name}`);
  throw Object.assign(error, { code: "ENOSPC", errno: -28, syscall: name });
}

/** Of one that goes by the handle of its folder. */
function knownPath(path) {
  const [handle] = /^\/proc\/[^/]+\/fd\/\d+/.exec(String(path)) ?? [];
  return handle ? fs.readlinkSync(handle) + String(path).slice(handle.length) : path;
}

function isBelow(target) {
  const path = typeof target === "number" ? paths.get(target) : knownPath(target);
  return typeof path === "string" && path.startsWith(`${folder}/`);
}

for (const name of ["writeSync", "writeFileSync", "appendFileSync", "mkdirSync", "openSync"]) {
  const original = fs[name];
  fs[name] = (target, ...rest) => {
    const isLook =
      name === "openSync" && (rest[0] === undefined || rest[0] === "r" || !(rest[0] & 0o1101));
    if (!isLook && isBelow(target) && isFull(flag)) fail(name);
    const result = original(target, ...rest);
    if (name === "openSync") paths.set(result, knownPath(target));
    return result;
  };
}

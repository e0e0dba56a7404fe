// Tries to open a run and to do everything with it; prints {"what": "fine" | "CODE message"}.
//   try-all.mjs RUN

import { pathToFileURL } from "node:url";

const [path] = process.argv.slice(2);
const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const outcomes = {};
const attempt = async (what, call) => {
  try {
    const value = await call();
    outcomes[what] = "fine";
    return value;
  } catch (error) {
    const own = error.name === "VivError" ? error.code : "RAW";
    outcomes[what] = `${own} ${error.code}: ${error.message}`;
  }
};
for (const options of [{}, { readOnly: true }, { create: true }]) {
  const name = JSON.stringify(options);
  const store = await attempt(`open ${name}`, () => openRun(path, options));
  if (!store) continue;
  await attempt(`enqueue ${name}`, () => store.enqueue({ id: "n", type: "t" }));
  await attempt(`claim ${name}`, () => store.claim({ worker: "w" }));
  await attempt(`counts ${name}`, () => store.counts());
  await attempt(`doctor ${name}`, () => store.doctor());
  await attempt(`close ${name}`, () => store.close());
}
console.log(JSON.stringify(outcomes));

// Stands in for `viv` while a build has none: node one-shot.mjs LIBRARY claim|enqueue RUN

const [library, verb, run] = process.argv.slice(2);
const { openRun } = await import(library);
const store = await openRun(run);
if (verb === "claim") await store.claim({ worker: "w0" });
else await store.enqueue({ type: "common" });
await store.close();

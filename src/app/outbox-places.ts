/** Where the outbox lies, below the folder of each. A crew's `outbox` has its answers. */
export const OUTBOX = { run: "outbox", pit: "record/outbox", crew: "notify", warden: "notify" };

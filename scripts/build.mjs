// `npm run build`: the whole of dist/, with the declarations that a published package needs.

import { bundle } from "./bundle.mjs";
import { withLock } from "./lock.mjs";
import { fail } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

ensureInstalled();
try {
  withLock(() => bundle({ types: true }));
} catch (error) {
  fail(error.message);
}

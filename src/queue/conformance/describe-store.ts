import { describe } from "vitest";
import { bulkSuite } from "./bulk.ts";
import { chokeSuite } from "./choke.ts";
import { claimSuite } from "./claim.ts";
import { decideSuite } from "./decide.ts";
import { dependenciesSuite } from "./dependencies.ts";
import { enqueueSuite } from "./enqueue.ts";
import { exceptTypesSuite } from "./except-types.ts";
import { fencingSuite } from "./fencing.ts";
import { finishSuite } from "./finish.ts";
import type { MakeHarness } from "./harness.ts";
import { ledgerSuite } from "./ledger.ts";
import { orderSuite } from "./order.ts";
import { processesSuite } from "./processes.ts";
import { reapSuite } from "./reap.ts";
import { recordSuite } from "./record.ts";
import { retrySuite } from "./retry.ts";
import { timeSuite } from "./time.ts";
import { watchSuite } from "./watch.ts";
import { workersSuite } from "./workers.ts";

/** What every store must do: a describe for each interface. A backend passes all of it, or it does not land. */
export function describeStore(name: string, make: MakeHarness): void {
  describe(name, () => {
    describe("its queue", () => {
      enqueueSuite(make);
      bulkSuite(make);
      orderSuite(make);
      claimSuite(make);
      exceptTypesSuite(make);
      finishSuite(make);
      fencingSuite(make);
      dependenciesSuite(make);
      timeSuite(make);
      retrySuite(make);
      chokeSuite(make);
      decideSuite(make);
      reapSuite(make);
      processesSuite(make);
      workersSuite(make);
      watchSuite(make);
      ledgerSuite(make);
    });
    describe("its record", () => recordSuite(make));
  });
}

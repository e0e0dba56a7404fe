import { describe } from "vitest";
import { bulkSuite } from "./bulk-suite.ts";
import { chokeSuite } from "./choke-suite.ts";
import { claimSuite } from "./claim-suite.ts";
import { decideSuite } from "./decide-suite.ts";
import { dependenciesSuite } from "./dependencies-suite.ts";
import { enqueueSuite } from "./enqueue-suite.ts";
import { exceptTypesSuite } from "./except-types-suite.ts";
import { fencingSuite } from "./fencing-suite.ts";
import { finishSuite } from "./finish-suite.ts";
import type { MakeHarness } from "./harness.ts";
import { ledgerSuite } from "./ledger-suite.ts";
import { orderSuite } from "./order-suite.ts";
import { pauseSuite } from "./pause-suite.ts";
import { processesSuite } from "./processes-suite.ts";
import { reapSuite } from "./reap-suite.ts";
import { recordSuite } from "./record-suite.ts";
import { retrySuite } from "./retry-suite.ts";
import { timeSuite } from "./time-suite.ts";
import { watchSuite } from "./watch-suite.ts";
import { workersSuite } from "./workers-suite.ts";

/** The rules for every store, by interface. A new backend passes all of them, or does not land. */
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
      pauseSuite(make);
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

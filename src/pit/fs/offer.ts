import type { LayoutOffer } from "../../queue/fs/layout.ts";

/** The snake pit's layout, for `openFsRun`: most commands are about runs and load none of it. */
export const PIT_OFFER: LayoutOffer = {
  kind: "pit",
  howToMake: (path) => `make it with: viv pit init ${path}`,
  signs: ["food", "claimed"],
  load: async () => (await import("./layout.ts")).PIT_LAYOUT,
};

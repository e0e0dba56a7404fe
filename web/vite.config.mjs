// The page, built into dist/web: hashed files, no inline script or style (the server's CSP allows
// none), nothing from another host. scripts/bundle.mjs runs it.

import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  logLevel: "warn",
  // vite would look for Babel's settings and TypeScript's of the whole repository.
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    // Fewer files: what is alike in them is written once. It takes 3 kB off the page.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "base", test: /web.src.(parts|views.row-keys|shell.dialog)/, minShareCount: 2 },
          ],
        },
      },
    },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    emptyOutDir: true,
    outDir: "../dist/web",
  },
});

#!/usr/bin/env node
/** Cuts what is too big. What it tosses is noted as part of what it digests. */
import { writeFileSync } from "node:fs";
import { PARTS, WHOLE } from "./menu.mjs";
import { toss } from "./pit.mjs";

const parts = PARTS.map((part) => toss(part));
parts.push(toss(WHOLE, "--depends-on", parts.join(",")));
for (const part of parts) console.log(`cut off ${part}`);
writeFileSync(process.env.VIV_RESULT, `Cut into\n\n${parts.map((part) => `- ${part}\n`).join("")}`);

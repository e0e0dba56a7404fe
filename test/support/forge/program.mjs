// The stand-in as a program: `program.mjs gh FOLDER api …`.

import { readFileSync } from "node:fs";
import { respond } from "./respond.mjs";

const [, , program, folder, ...args] = process.argv;
const stdin = args.some((arg) => arg.startsWith("--input=")) ? readFileSync(0, "utf8") : "";
const die = () => process.kill(process.ppid, "SIGKILL");
const { status, stdout, stderr } = await respond(program, folder, args, stdin, die);
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = status;

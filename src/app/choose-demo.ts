import { dirname, join } from "node:path";

const HELP = `viv demo [--no-open]: a whole fleet at work in a throw-away folder, with its page, until Ctrl-C.
viv demo --no-page [--quick]: a small fleet in the terminal, with a crash on the way.
`;

/** `viv demo`: with the page, or in the terminal; and `--clean DIR`, for what is left of one. */
export async function chooseDemo(
  args: readonly string[],
  viv: string,
  signal: AbortSignal,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(HELP);
    return 0;
  }
  if (args.includes("--no-page")) {
    const { demo } = await import("./demo.ts");
    const rest = args.filter((arg) => arg !== "--no-page");
    const unknown = rest.find((arg) => !["--quick", "--no-color"].includes(arg));
    if (unknown === undefined) return demo(rest, join(dirname(viv), "demo-worker.cjs"), signal);
    process.stderr.write(`viv: demo --no-page does not know ${unknown}.\n${HELP}`);
    return 2;
  }
  const given = readArgs(args);
  if (typeof given === "string") {
    process.stderr.write(`viv: demo ${given}.\n${HELP}`);
    return 2;
  }
  if (given.clean !== null) {
    const { clearIfDead } = await import("./demo-fleet/place.ts");
    return (await clearIfDead(given.clean)) ? 0 : 1;
  }
  const { demoFleet } = await import("./demo-fleet/demo-fleet.ts");
  const program = { node: process.execPath, viv };
  return demoFleet({ program, signal, ...given });
}

/** Or what is wrong with them. */
function readArgs(args: readonly string[]) {
  const given = { opens: true, color: true, pace: 1, clean: null as string | null };
  for (let i = 0; i < args.length; i++) {
    const [name, own] = (args[i] ?? "").split("=", 2);
    const value = () => own ?? args[++i] ?? "";
    if (name === "--no-open") given.opens = false;
    else if (name === "--no-color") given.color = false;
    else if (name === "--quick") return "has --quick only with --no-page";
    else if (name === "--clean") given.clean = value();
    else if (name === "--pace") given.pace = Number(value());
    else return `does not know ${args[i]}`;
  }
  if (!(given.pace > 0 && given.pace <= 10)) return "needs a --pace above 0, at most 10";
  return given;
}

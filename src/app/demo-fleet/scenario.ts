/**
 * What the demo's agents do: a scenario of the `script` engine (§13). Its commands and files are real,
 * and so are the proofs; the thoughts are written here, and the money is made up.
 */
interface Play {
  /** A text in the prompt, which has the goal of the task. */
  goal: string;
  /** And one behind it: the evidence of the attempt before. An attempt may also end without a start. */
  evidence?: string;
  steps: readonly Move[];
  answer: string;
}

interface Move {
  think?: string;
  run?: string;
  write?: string;
  text?: string;
  /** Before it; relative to the others. */
  after?: number;
  usd?: number;
}

/** Said wherever the money is shown. */
export const MODEL = "demo-stand-in";

const PRICES = (tax: string, tip: string) => `// What a cart costs.
export const RATES = { tax: ${tax}, tip: ${tip} };
export const total = (items) =>
  items.reduce((sum, { price }) => sum + price, 0) * (1 + RATES.tax + RATES.tip);
`;

export const SHOP_FILES: Readonly<Record<string, string>> = {
  "README.md": "# shop\n\nA small shop, for agents to work on.\n",
  "prices.mjs": PRICES("0", "0"),
  "round.check.mjs":
    'import { round } from "./round.mjs";\nconst was = round(1.005);\nconsole.log("1.005 becomes " + was);\nprocess.exit(was === 1.01 ? 0 : 1);\n',
  "check.sh":
    'for file in test/*.mjs; do [ -e "$file" ] || continue; node "$file" || exit 1; done\n',
};

/** A first step that comes soon: until then nothing is known of the cost of a type, and few may run (§13). */
const LOOK = (file: string): Move => ({ run: `cat ${file}`, after: 0.2, usd: 0.004 });

const PLAYS: readonly Play[] = [
  {
    goal: "Plan the discount",
    steps: [
      {
        think: "Read what is there before planning.",
        run: 'ls "$SHOP"',
        after: 0.2,
        usd: 0.011,
      },
      {
        think: "Two steps are enough: the rule with a test, then the receipt.",
        after: 1.5,
        usd: 0.019,
      },
    ],
    answer:
      "# Plan\n\n1. discount.mjs: ten per cent from 50 on, with a test.\n2. receipt.mjs: prints the discount.\n",
  },
  {
    goal: "Add the discount",
    steps: [
      LOOK("prices.mjs"),
      {
        think: "The test first.",
        write: "test/discount.mjs",
        text: 'import assert from "node:assert";\nimport { discount } from "../discount.mjs";\nassert.equal(discount(40), 40);\nassert.equal(discount(100), 90);\nconsole.log("discount: 2 checks passed");\n',
        after: 1,
        usd: 0.024,
      },
      {
        think: "Ten per cent from 50 on.",
        write: "discount.mjs",
        text: "export const discount = (sum) => (sum >= 50 ? sum * 0.9 : sum);\n",
        after: 1.5,
        usd: 0.031,
      },
      { run: "node test/discount.mjs", after: 1, usd: 0.008 },
    ],
    answer: "The discount is there: ten per cent from 50 on, with a test.",
  },
  {
    goal: "Print the receipt",
    steps: [
      {
        think: "The branch of the task before me is in my worktree.",
        run: "cat discount.mjs",
        after: 1,
        usd: 0.012,
      },
      {
        write: "receipt.mjs",
        text: 'import { discount } from "./discount.mjs";\nexport const receipt = (sum) => "to pay: " + discount(sum).toFixed(2);\n',
        after: 1.5,
        usd: 0.027,
      },
      {
        write: "test/receipt.mjs",
        text: 'import assert from "node:assert";\nimport { receipt } from "../receipt.mjs";\nassert.equal(receipt(100), "to pay: 90.00");\nconsole.log("receipt: 1 check passed");\n',
        after: 1,
        usd: 0.014,
      },
    ],
    answer: "The receipt prints the sum after the discount.",
  },
  {
    goal: "Round to whole cents",
    steps: [
      LOOK("round.check.mjs"),
      {
        think: "Cut off the rest.",
        write: "round.mjs",
        text: "export const round = (sum) => Math.floor(sum * 100) / 100;\n",
        after: 1.5,
        usd: 0.018,
      },
    ],
    answer: "Done: sums are rounded.",
  },
  {
    goal: "Round to whole cents",
    evidence: "1.005 becomes",
    steps: [
      {
        think: "The evidence says 1.005 became 1, so a cut is no rounding.",
        run: "cat round.mjs",
        after: 1,
        usd: 0.013,
      },
      {
        write: "round.mjs",
        text: "export const round = (sum) => Math.round((sum + Number.EPSILON) * 100) / 100;\n",
        after: 1.5,
        usd: 0.021,
      },
    ],
    answer: "Done: sums are rounded, half a cent upwards.",
  },
  {
    goal: "Charge the tax",
    steps: [
      LOOK("prices.mjs"),
      { think: "One rate.", write: "prices.mjs", text: PRICES("0.19", "0"), after: 3, usd: 0.016 },
    ],
    answer: "The tax is 19 per cent.",
  },
  {
    goal: "Offer a tip",
    steps: [
      LOOK("prices.mjs"),
      { think: "One rate.", write: "prices.mjs", text: PRICES("0", "0.05"), after: 3, usd: 0.017 },
    ],
    answer: "The tip is five per cent.",
  },
  {
    goal: "(Charge the tax|Offer a tip)",
    evidence: "[Cc]onflict",
    steps: [
      {
        think: "Both changed the same line. The conflict is in my worktree.",
        run: "git status --short",
        after: 1,
        usd: 0.012,
      },
      {
        think: "Keep both rates.",
        write: "prices.mjs",
        text: PRICES("0.19", "0.05"),
        after: 1.5,
        usd: 0.022,
      },
    ],
    answer: "Tax and tip are both charged.",
  },
  {
    goal: "Audit every price",
    steps: [
      {
        think: "All prices, one by one.",
        run: 'cat "$SHOP/prices.mjs"',
        after: 0.5,
        usd: 0.03,
      },
      ...[1, 2, 3, 4].map(
        (n): Move => ({ think: `Shelf ${n} of 4: no price below cost.`, after: 2.5, usd: 0.02 }),
      ),
    ],
    answer: "# Audit\n\nFour shelves, no price below cost.\n",
  },
  {
    goal: "Rename the shop",
    steps: [
      {
        think: "A person should see a name before customers do.",
        write: "README.md",
        text: "# The Glass House\n\nA small shop, for agents to work on.\n",
        after: 2,
        usd: 0.015,
      },
    ],
    answer: 'The shop is called "The Glass House" now. Approve it, or send it back with a note.',
  },
  {
    goal: "Restock",
    steps: [
      { think: "Count first.", run: "mkdir -p stock && ls stock | wc -l", after: 2, usd: 0.009 },
      { run: 'echo "10 pieces" > "stock/$VIV_TASK_ID.txt"', after: 2, usd: 0.012 },
    ],
    answer: "Restocked.",
  },
];

/** So that a person can follow. */
const SLOW = 2;
/** Faster than that, the worker to be killed might be done before. */
const LEAST = 0.2;

/** `pace`: 1 is the usual one, less is faster. */
export function scenarioText(pace: number): string {
  const inOrder = [...PLAYS.filter((one) => one.evidence), ...PLAYS.filter((one) => !one.evidence)];
  const cases = inOrder.map(({ goal, evidence, steps, answer }) => {
    const prompt = evidence === undefined ? goal : `${goal}[^]*${evidence}`;
    const moves = steps.map(({ think, run, write, text, after = 1, usd }) =>
      [
        "[[case.step]]",
        `delay = "${Math.round(after * SLOW * 1000 * Math.max(pace, LEAST))}ms"`,
        ...(think ? [`think = ${toml(think)}`] : []),
        ...(run ? [`run = ${toml(run)}`] : []),
        ...(write ? [`write = ${toml(write)}`, `text = ${toml(text ?? "")}`] : []),
        ...(usd
          ? [
              `usage = { input = ${Math.round(usd * 90_000)}, output = ${Math.round(usd * 9_000)}, usd = ${usd} }`,
            ]
          : []),
      ].join("\n"),
    );
    const end = `[case.end]\ntext = ${toml(answer)}`;
    return ["[[case]]", `when = { prompt = ${toml(prompt)} }`, ...moves, end].join("\n");
  });
  return `# What the stand-in does for each task. The money is made up.\n${cases.join("\n\n")}\n`;
}

/** JSON's escapes are TOML's. */
function toml(text: string): string {
  return JSON.stringify(text);
}

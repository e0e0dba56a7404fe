/**
 * What there is to eat. A food asks for one function and gives examples; whoever eats it writes
 * scraps/NAME.mjs and, out of the examples, scraps/NAME.test.mjs. `node --test` is the proof.
 */
const ask = (name, signature, ...examples) => ({
  name,
  task: [
    `${name}: write ${signature} in scraps/${name}.mjs, and in scraps/${name}.test.mjs a test for each of`,
    ...examples,
  ].join("\n"),
  flags: ["--done-when", `node --test scraps/${name}.test.mjs`],
});

const withFlags = (food, ...flags) => ({ ...food, flags: [...food.flags, ...flags] });

export const MENU = [
  ask("reverse", "reverse(s)", 'reverse("abc") is "cba"', 'reverse("") is ""'),
  // Its first try forgets the fifteens; the second reads what the proof said.
  ask(
    "fizzbuzz",
    "fizzbuzz(n)",
    'fizzbuzz(7) is "7"',
    'fizzbuzz(9) is "Fizz"',
    'fizzbuzz(10) is "Buzz"',
    'fizzbuzz(30) is "FizzBuzz"',
  ),
  // Everybody's first idea is wrong, and everybody insists on it, until one has choked.
  ask("roman", "roman(n)", 'roman(8) is "VIII"', 'roman(49) is "XLIX"', 'roman(2026) is "MMXXVI"'),
  // Who bites into it first dies of it.
  ask("primes", "primes(n)", "primes(1) is []", "primes(20) is [2,3,5,7,11,13,17,19]"),
  // Needs deburr, which nobody has thought of: it gets stuck.
  withFlags(
    ask(
      "slugify",
      'slugify(s), with deburr(s) of "./deburr.mjs",',
      'slugify("Crème brûlée!") is "creme-brulee"',
      'slugify("  Hello,  World ") is "hello-world"',
    ),
    ...["--max-attempts", "2"],
  ),
  {
    name: "text-toolkit",
    task: "text-toolkit: wordcount, palindrome, titlecase, and one module that has them all",
    flags: ["--too-big"],
  },
  {
    name: "headings",
    task: "headings: copy the headings of README.md to scraps/headings.txt, as they stand there",
    flags: ["--type", "shell", "--done-when", "grep '^#' README.md | cmp - scraps/headings.txt"],
  },
  ask("caesar", "caesar(s, n)", 'caesar("Hal", 1) is "Ibm"', 'caesar("xyz, abc", 3) is "abc, def"'),
];

/** What the keeper tosses when it turns out to be missing. */
export const MISSING = [
  ask("deburr", "deburr(s)", 'deburr("Crème brûlée") is "Creme brulee"', 'deburr("abc") is "abc"'),
];

/** What the planner makes of the text-toolkit. The last one needs all the others. */
export const PARTS = [
  ask("wordcount", "wordcount(s)", 'wordcount(" one  two ") is 2', 'wordcount("") is 0'),
  ask("palindrome", "palindrome(s)", 'palindrome("Never odd or even") is true'),
  ask("titlecase", "titlecase(s)", 'titlecase("the snake pit") is "The Snake Pit"'),
];
export const WHOLE = ask(
  "toolkit",
  "all three",
  'wordcount("a b") is 2',
  'palindrome("ab") is false',
  'titlecase("ab") is "Ab"',
);

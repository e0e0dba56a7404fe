const SIGNS = { M: 1000, D: 500, C: 100, L: 50, X: 10, V: 5, I: 1 };

export function roman(n) {
  let rest = n;
  let text = "";
  for (const [sign, value] of Object.entries(SIGNS)) {
    text += sign.repeat(Math.floor(rest / value));
    rest %= value;
  }
  return text;
}

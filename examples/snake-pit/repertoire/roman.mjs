const SIGNS = {
  ...{ M: 1000, CM: 900, D: 500, CD: 400, C: 100, XC: 90 },
  ...{ L: 50, XL: 40, X: 10, IX: 9, V: 5, IV: 4, I: 1 },
};

export function roman(n) {
  let rest = n;
  let text = "";
  for (const [sign, value] of Object.entries(SIGNS)) {
    text += sign.repeat(Math.floor(rest / value));
    rest %= value;
  }
  return text;
}

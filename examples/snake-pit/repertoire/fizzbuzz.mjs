export function fizzbuzz(n) {
  const words = (n % 3 === 0 ? "Fizz" : "") + (n % 5 === 0 ? "Buzz" : "");
  return words || String(n);
}

export function primes(n) {
  const found = [];
  for (let i = 2; i <= n; i++) if (found.every((prime) => i % prime !== 0)) found.push(i);
  return found;
}

export function palindrome(s) {
  const letters = [...s.toLowerCase()].filter((letter) => /\p{L}/u.test(letter));
  return letters.join("") === letters.reverse().join("");
}

export function caesar(s, n) {
  return s.replace(/[a-z]/gi, (letter) => {
    const a = letter < "a" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - a + n) % 26) + a);
  });
}

export function deburr(s) {
  return s.normalize("NFD").replace(/\p{M}/gu, "");
}

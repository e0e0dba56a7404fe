export function titlecase(s) {
  return s.replace(/\S+/g, (word) => word[0].toUpperCase() + word.slice(1));
}

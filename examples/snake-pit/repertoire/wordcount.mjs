export function wordcount(s) {
  return s.match(/\S+/g)?.length ?? 0;
}

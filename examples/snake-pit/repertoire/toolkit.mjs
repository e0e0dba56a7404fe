export { palindrome } from "./palindrome.mjs";
export { titlecase } from "./titlecase.mjs";
export { wordcount } from "./wordcount.mjs";

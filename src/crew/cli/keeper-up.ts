export { keeperCommand as command } from "./up.ts";

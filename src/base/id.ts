const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * An id for a task that was given none: ten characters of time, so that names sort as they were
 * made, and twelve (60 bits) of chance. Publishing makes sure that it is unique.
 */
export function newTaskId(now: number, random: () => number): string {
  let time = "";
  for (let rest = Math.max(0, Math.floor(now)); time.length < 10; rest = Math.floor(rest / 32)) {
    time = DIGITS[rest % 32] + time;
  }
  let chance = "";
  while (chance.length < 12) chance += DIGITS[Math.floor(random() * 32)];
  return `t.${time}${chance}`;
}

import { userInfo } from "node:os";

/** The person who acts, for the record. Services and containers often have no $USER. */
export function personIn(env: Readonly<Record<string, string | undefined>>): string | undefined {
  return env.USER || env.LOGNAME || accountName();
}

export function accountName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined; // a user id without a name
  }
}

import { defaultSocket, type Env, TmuxTrouble, tmuxAt } from "../../platform/tmux/tmux.ts";

export interface SessionActivity {
  name: string;
  /** When something last came onto one of its screens. */
  activeAt: number;
}

/** The sessions of a server, in one call. None when there is no server; throws when it is silent. */
export async function activityOn(socket: string | null, env: Env): Promise<SessionActivity[]> {
  const tmux = tmuxAt(socket ?? defaultSocket(env), { env });
  let text: string;
  try {
    text = await tmux.run(["list-windows", "-a", "-F", "#{window_activity} #{session_name}"]);
  } catch (error) {
    if (error instanceof TmuxTrouble && ["no-server", "lost-server"].includes(error.kind))
      return [];
    throw error;
  }
  const sessions = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, seconds, name] = /^(\d+) (.*)$/.exec(line) ?? [];
    if (seconds === undefined || name === undefined) continue;
    sessions.set(name, Math.max(sessions.get(name) ?? 0, Number(seconds) * 1000));
  }
  return [...sessions].map(([name, activeAt]) => ({ name, activeAt }));
}

export function respond(
  program: string,
  folder: string,
  args: readonly string[],
  stdin: string,
  die: () => void,
): Promise<{ status: number; stdout: string; stderr: string }>;

import type { ServerHost } from "./server-host.ts";
export async function openApi(_host: ServerHost): Promise<object> {
  return {};
}

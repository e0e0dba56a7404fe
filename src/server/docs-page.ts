import type { ServerHost } from "./server-host.ts";
export async function docsPage(_host: ServerHost, _address: string): Promise<string> {
  return "";
}

import { expect, it } from "vitest";
import { parseConfig } from "../app/config.ts";
import { serverSection } from "./config.ts";

const settings = async (text: string) =>
  (await parseConfig(text, "viv.toml")).section(serverSection);

it("listens on loopback, unless viv.toml says otherwise", async () => {
  expect(await settings("")).toMatchObject({ port: 4747, bind: "127.0.0.1", insecure: false });
  const whole = `[server]\nport = 0\nbind = "0.0.0.0"\ntls_cert = "c.pem"\ntls_key = "k.pem"\nhosts = ["viv.example.org"]\norigins = ["https://a.example", "http://b.example:8080"]\n`;
  expect(await settings(whole)).toMatchObject({
    ...{ port: 0, tls: { cert: "c.pem", key: "k.pem" }, hosts: ["viv.example.org"] },
    origins: ["https://a.example", "http://b.example:8080"],
  });
  expect(await settings('[server]\nbind = "::"\ninsecure = true')).toMatchObject({
    insecure: true,
  });
});

it.each([
  ['bind = "0.0.0.0"', /needs tls_cert and tls_key, or insecure = true/],
  ['bind = "localhost"', /bind must be an address/],
  ["port = 70000", /port must be a whole number from 0 to 65535/],
  ['tls_cert = "c.pem"', /tls_cert needs tls_key/],
  ['hosts = ["http://x"]', /hosts must be a list of host names/],
  ['origins = ["https://a.example/"]', /origins must be a list of origins/],
  ['origins = ["*"]', /origins must be a list of origins/],
  ["prot = 1", /did you mean "port"/],
])("refuses %s", async (line, message) => {
  await expect(settings(`[server]\n${line}\n`)).rejects.toThrow(message);
});

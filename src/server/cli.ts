import type { Command } from "../operation/command.ts";
import { plain } from "../operation/term.ts";
import { type ServeEvent, serve, token } from "./operations.ts";

const serveCommand: Command = {
  op: serve,
  flags: {
    "until-stdin-closes": {
      kind: "boolean",
      describe: "stop as with SIGTERM when stdin closes",
      hidden: true,
    },
  },
  examples: [
    ["viv serve", "the page and the API of this run, on http://127.0.0.1:4747"],
    ["viv serve --port 0", "on any free port"],
    ["viv token --link", "from another terminal: a link that lets the page make changes"],
  ],
  view: ({ color }, io) => ({
    event: (event: ServeEvent) => {
      switch (event.kind) {
        case "up":
          return `${color.green("serving")} ${plain(event.run)} at ${event.address}\n${color.dim("to make changes, log in with: viv token --link")}`;
        case "trouble":
          io.stderr.write(`viv: ${plain(event.message)}\n`);
          return null;
        case "reloaded":
          return color.dim(plain(`${event.file} was read anew`));
        case "written":
          return color.dim(plain(`${event.file} is written now`));
        case "stopping":
          return color.dim("stopping");
        default:
          return null;
      }
    },
  }),
};

const tokenCommand: Command = {
  op: token,
  examples: [
    ["viv token", 'for programs: curl -H "Authorization: Bearer $(viv token)" …'],
    ["viv token --link", "a link that logs a browser in, once, within 10 minutes"],
    ["viv token --renew", "another token; all sessions end"],
  ],
  human: ({ token, link }: { token?: string; link?: string }) => link ?? token ?? "",
};

export const commands = { serve: serveCommand, token: tokenCommand };

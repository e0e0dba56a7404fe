// Programs that are no agents, for record.mjs: what must not be taken for an agent's input box.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

export const version = () => "";
const IN = "/home/user/project";
const file = (name, text) => writeFileSync(`${IN}/${name}`, text);

/** A program started by `command`, recorded when the screen has `pattern`. */
const shows = (state, command, pattern, { before, after } = {}) => ({
  sizes: [80],
  async play(screen) {
    before?.();
    await screen.start(command, { shell: true });
    await screen.until(pattern);
    await screen.record(state);
    await after?.(screen);
  },
});

/** A commit, and two changes that are not committed. */
function changed() {
  const git = (...args) =>
    execFileSync("git", ["-c", "user.name=user", "-c", "user.email=user@host", ...args], {
      cwd: IN,
    });
  git("add", ".");
  git("commit", "-q", "-m", "first");
  file("app.py", "def add(a, b):\n    return a + b\n");
}
const text = Array.from({ length: 60 }, (_, i) =>
  i % 7 === 3 ? "ALIVE k7m2qp" : `line ${i} of the log`,
);

export const scenes = () => ({
  bash: shows("bash", "true", /[$#] *$/m, {
    after: async (screen) => {
      await screen.type("git commit -m 'half a comm");
      await screen.rest();
      await screen.record("bash-typed");
    },
  }),
  python: shows("python", "python3 -q", />>> *$/m),
  ipython: shows("ipython", "ipython3 --no-banner", /In \[1\]:/),
  node: shows("node", "node", /^> *$/m),
  vim: shows("vim", "vim --clean notes.txt", /notes\.txt/, {
    before: () => file("notes.txt", text.join("\n")),
    after: async (screen) => {
      await screen.keys("i");
      await screen.rest();
      await screen.record("vim-insert");
    },
  }),
  less: shows("less", "less notes.txt", /ALIVE/, {
    before: () => file("notes.txt", text.join("\n")),
  }),
  "git-add-p": shows("git-add-p", "git add -p", /Stage this hunk/, { before: changed }),
  password: shows("password", `python3 -c "import getpass; getpass.getpass()"`, /Password/),
  read: shows("read", "bash ask.sh", /Proceed/, {
    before: () => file("ask.sh", 'read -p "Proceed? [y/N] " answer\n'),
  }),
  apt: shows("apt", "sh apt.sh", /Do you want to continue/, {
    before: () =>
      file(
        "apt.sh",
        `cat <<'END'
Reading package lists... Done
Building dependency tree... Done
The following NEW packages will be installed:
  libexample1
0 upgraded, 1 newly installed, 0 to remove and 3 not upgraded.
Need to get 48.2 kB of archives.
After this operation, 215 kB of additional disk space will be used.
END
printf 'Do you want to continue? [Y/n] '
read answer
`,
      ),
  }),
  whiptail: shows(
    "whiptail",
    'whiptail --title "Update" --yesno "Restart the services now?" 10 50',
    /Restart/,
  ),
  fzf: shows("fzf", "seq 1 30 | sed 's/^/branch-/' | fzf", /30\/30/),
  input: shows("input", "python3 loop.py", /task> *$/m, {
    before: () => file("loop.py", 'while True:\n    print("you said", input("task> "))\n'),
    after: async (screen) => {
      await screen.type("hello");
      await screen.keys("Enter");
      await screen.rest();
      await screen.record("input-after");
    },
  }),
  cat: shows("cat", "cat", /^/, {
    after: async (screen) => {
      await screen.type("hello");
      await screen.keys("Enter");
      await screen.rest();
      await screen.record("cat-after");
    },
  }),
  top: shows("top", "top", /PID/),
});

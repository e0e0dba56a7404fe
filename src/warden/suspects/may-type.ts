/**
 * Whether a question may be typed to a terminal, judged by the programs in its foreground: only if a
 * person has named the program (`[warden] ask`) or marked the pane (`@viv-ask`), and it takes no
 * commands there. Any other program may run, store or send the line. (Known agents: agent-screen.ts.)
 */
export interface ForegroundProgram {
  /** As it was started, or as it has changed it (`claude` is node). */
  argv: readonly string[];
  /** Its name in the kernel: at most 15 characters. */
  comm: string;
  /** Whether its input is this terminal. True when that is unknown. */
  hasTerminal: boolean;
}

export type MayType =
  | { is: "yes" }
  /** A shell's prompt: only comments, and only if the session is marked as a shell. */
  | { is: "shell"; program: string }
  | { is: "no"; why: string };

/** `ask` names programs that a person has allowed; `isMarked`: a person has marked the pane. */
export function mayType(
  foreground: readonly ForegroundProgram[],
  ask: readonly string[] = [],
  isMarked = false,
): MayType {
  if (foreground.length === 0) return { is: "no", why: "its program is unknown" };
  if (foreground.some(passesOn) && foreground.some(readsPipe)) {
    return { is: "no", why: "text typed there goes to a shell" };
  }
  let shell: MayType | undefined;
  for (const program of foreground) {
    const answer = judge(program);
    // A shell's prompt is one, also where a person has named `bash` for its scripts.
    if (answer.is === "shell") shell ??= answer;
    if (answer.is === "no" && !isNamed([program], ask)) return answer;
  }
  if (shell !== undefined) return shell;
  if (isMarked || isNamed(foreground, ask)) return { is: "yes" };
  const first = foreground.find(({ hasTerminal }) => hasTerminal) ?? foreground[0];
  const name = nameOf(first?.argv ?? []) || first?.comm;
  return { is: "no", why: `${name} is not known; [warden] ask can name it` };
}

/** `cat | sh`: it passes typed text on. */
const passesOn = ({ argv, hasTerminal }: ForegroundProgram) =>
  hasTerminal && /(?:^|\/)(?:cat|tee|pv|dd|sed|tr|awk|gawk|mawk|ts|unbuffer)$/.test(argv[0] ?? "");
const readsPipe = ({ argv, hasTerminal }: ForegroundProgram) =>
  !hasTerminal && SHELLS.has(baseName(argv[0] ?? "")) && readsCommands(argv.slice(1));

/** By its own name, or that of its script. */
export function isNamed(foreground: readonly ForegroundProgram[], ask: readonly string[]): boolean {
  return foreground.some(
    ({ argv, hasTerminal }) =>
      hasTerminal && [baseName(argv[0] ?? ""), nameOf(argv)].some((name) => ask.includes(name)),
  );
}

/** Of an interpreter with a script, the script's name. `vim agent.sh` is vim. */
function nameOf(argv: readonly string[]): string {
  const [first = "", ...rest] = argv;
  const name = baseName(first.replace(/^-/, ""));
  return scriptOf(name, rest) ?? name;
}

const words = (text: string) => new Set(text.split(/\s+/));

const SHELLS = words(
  "sh bash rbash dash ash zsh ksh ksh93 mksh oksh lksh pdksh yash posh csh tcsh fish elvish xonsh nu pwsh rc es",
);
/** They take keys from the terminal even when their input is a pipe. */
const TAKE_KEYS: readonly (readonly [string, Set<string>])[] = [
  [
    "an editor",
    words(
      "vi vim nvim view vimdiff rvim ex ed red nano rnano pico emacs emacsclient hx helix kak micro joe jed ne mcedit vim.basic vim.tiny vim.nox nvi elvis vigr vipw",
    ),
  ],
  ["a pager", words("less more most man pg lv w3m lynx links elinks info pinfo view bat batcat")],
  [
    "a program whose keys are commands",
    words(
      "top htop btop atop iotop fzf sk tig lazygit gitui ranger nnn lf mc vifm mutt neomutt watch dialog whiptail",
    ),
  ],
  [
    "another terminal inside",
    words("tmux screen zellij byobu abduco dtach script expect minicom picocom"),
  ],
];
const REMOTE = words(
  "ssh slogin autossh mosh mosh-client telnet rlogin rsh nc ncat netcat socat ftp sftp lftp cu su login agetty getty machinectl virsh lxc",
);
/** With these words, a connection to another place. */
const CONTAINERS: Record<string, Set<string>> = {
  docker: words("exec run attach start compose container"),
  podman: words("exec run attach start compose container"),
  nerdctl: words("exec run attach start compose container"),
  kubectl: words("exec run attach debug edit"),
  oc: words("exec run attach debug edit rsh"),
};
/** Without a script they read commands. `valued`: options that take the next word. */
const READERS: readonly { name: RegExp; inline: RegExp; valued: RegExp; always?: RegExp }[] = [
  {
    name: /^(python|pypy)[\d.]*$/,
    inline: /^-[A-Za-z]*c$|^-m$/,
    valued: /^-[WX]$/,
    always: /^-[A-Za-z]*i$|^-i[A-Za-z]+$/,
  },
  {
    name: /^node(js)?$/,
    inline: /^(-e|--eval|-p|--print|-pe|--test|--run)(=|$)/,
    valued: /^(-r|--require|--import|--loader|--experimental-loader|-C|--conditions|--env-file)$/,
    always: /^(-i|--interactive|inspect)$/,
  },
  { name: /^(deno|bun)$/, inline: /^(-e|eval|-p)$/, valued: /^$/, always: /^repl$/ },
  { name: /^perl[\d.]*$/, inline: /^-[A-Za-z]*[eE]/, valued: /^-I$/, always: /^-d/ },
  { name: /^ruby[\d.]*$/, inline: /^-[a-z]*e/, valued: /^-[rIC]$/ },
  { name: /^(lua|luajit)[\d.]*$/, inline: /^-e/, valued: /^-l$/, always: /^-i$/ },
  { name: /^php[\d.]*$/, inline: /^-[rRBFS]/, valued: /^-[cdz]$/, always: /^(-a|--interactive)$/ },
  {
    name: /^(R|Rscript|julia|octave|octave-cli)$/,
    inline: /^(-e|-E|-f|--eval|--file)/,
    valued: /^$/,
    always: /^-i$/,
  },
  {
    name: /^(ghci|guile|racket|scala|clj|clojure|sbcl|clisp|ocaml|utop)$/,
    inline: /^$/,
    valued: /^$/,
  },
  { name: /^(awk|gawk|mawk|tclsh[\d.]*|wish[\d.]*)$/, inline: /^-f/, valued: /^-[vF]$/ },
];
/** Prompts, whatever their arguments. */
const PROMPTS = words(
  "ipdb ptipython jupyter jupyter-console irb pry ipython ipython3 bpython ptpython iex erl jshell groovysh gdb lldb pdb pdb3 bc dc sqlite3 psql mysql mariadb mongo mongosh redis-cli duckdb clickhouse-client gnuplot maxima gp sage fdisk parted cfdisk bluetoothctl nmcli ed at mail mailx",
);
/** They run the rest of their words: `env A=1 nice -n 5 bash`. */
const WRAPPERS = words(
  "env nice ionice nohup setsid stdbuf timeout time chrt taskset sudo doas busybox exec unbuffer strace ltrace caffeinate firejail proot chroot unshare nsenter bwrap rlwrap catchsegv xargs",
);

function judge(program: ForegroundProgram, depth = 0): MayType {
  const [first = "", ...rest] = program.argv;
  const isLogin = first.startsWith("-");
  const called = baseName(isLogin ? first.slice(1) : first);
  // A renamed shell (`exec -a agent bash`) is still a shell.
  const name = SHELLS.has(program.comm) && !SHELLS.has(called) ? program.comm : called;
  for (const [kind, names] of TAKE_KEYS) if (names.has(name)) return no(name, kind);
  if (!program.hasTerminal) return { is: "yes" };
  if (SHELLS.has(name)) {
    return isLogin || readsCommands(rest) ? { is: "shell", program: name } : { is: "yes" };
  }
  if (REMOTE.has(name)) return no(name, "a connection to somewhere else");
  if (PROMPTS.has(name)) return no(name, "a prompt that takes commands");
  const container = CONTAINERS[name];
  if (container !== undefined && rest.some((word) => container.has(word))) {
    return no(name, "a connection to somewhere else");
  }
  if (WRAPPERS.has(name)) return judgeWrapped(name, program, rest, depth);
  const reader = READERS.find((each) => each.name.test(name));
  if (reader !== undefined && isReading(reader, rest))
    return no(name, "a prompt that takes commands");
  // `python3 /usr/bin/ipython`: the script counts.
  const script = scriptOf(name, rest)?.replace(/\.(?:[cm]?js|py|rb|pl|sh)$/, "");
  if (script === undefined || depth >= MOST_WRAPS) return { is: "yes" };
  return judge({ ...program, argv: [script], comm: "" }, depth + 1);
}

/** The base name of an interpreter's script; undefined for other programs, or without one. */
function scriptOf(name: string, args: readonly string[]): string | undefined {
  const reader = READERS.find((each) => each.name.test(name));
  const valued = SHELLS.has(name) ? SHELL_VALUED : reader?.valued;
  if (valued === undefined) return undefined;
  const inline = reader?.inline ?? /^-[A-Za-z]*[cs]|^--command/;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (inline.test(arg)) return undefined;
    if (valued.test(arg)) at++;
    else if (!/^[-+]/.test(arg)) return baseName(arg);
  }
  return undefined;
}

const SHELL_VALUED = /^(-o|\+o|-O|\+O|--rcfile|--init-file|--init-command|-C)$/;

/** Of a shell: neither a script nor -c. */
function readsCommands(args: readonly string[]): boolean {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (SHELL_VALUED.test(arg)) at++;
    else if (arg === "--") return args[at + 1] === undefined;
    else if (/^-[A-Za-z]*c/.test(arg) || /^--command/.test(arg)) return false;
    else if (arg === "-" || /^-[A-Za-z]*s/.test(arg)) return true;
    else if (!/^[-+]/.test(arg)) return false; // a script
  }
  return true;
}

function isReading(reader: (typeof READERS)[number], args: readonly string[]): boolean {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (reader.always?.test(arg)) return true;
    if (reader.inline.test(arg)) return /^(pdb|code|IPython|bpython)$/.test(args[at + 1] ?? "");
    if (reader.valued.test(arg)) at++;
    else if (arg === "-") return true;
    else if (!arg.startsWith("-")) return false; // a script
  }
  return true;
}

const MOST_WRAPS = 8;

/** Its words are options, values, assignments, then the program: the first refused one counts. */
function judgeWrapped(
  name: string,
  program: ForegroundProgram,
  args: readonly string[],
  depth: number,
): MayType {
  const isRoot = name === "sudo" || name === "doas";
  if (isRoot && args.some((arg) => /^-[a-zA-Z]*[is]$|^--(login|shell)$/.test(arg))) {
    return { is: "no", why: `${name} is in the foreground: a shell of another user` };
  }
  if (depth < MOST_WRAPS) {
    for (let at = 0; at < args.length; at++) {
      const arg = args[at] as string;
      if (arg.startsWith("-") || /^\w+=/.test(arg) || /^[\d.:,]+[smhd]?$/.test(arg)) continue;
      const answer = judge({ ...program, argv: args.slice(at), comm: "" }, depth + 1);
      if (answer.is !== "yes") return answer;
      if (isKnown(baseName(arg))) return answer;
    }
  }
  return { is: "yes" };
}

/** Then the words after it are its own. */
function isKnown(name: string): boolean {
  return SHELLS.has(name) || READERS.some((each) => each.name.test(name));
}

function no(name: string, what: string): MayType {
  return { is: "no", why: `${name} is in the foreground: ${what}` };
}

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

import type { Catalog } from "./catalog.ts";
import { type Flag, flagsOf, GLOBAL_FLAGS } from "./flags.ts";

/**
 * Completion scripts, made from the same tables as the help. They are static, so that pressing TAB
 * starts no process, except for task ids, which they ask for with `viv completion ids`.
 */
export const SHELLS = ["bash", "zsh", "fish"] as const;

type Families = Catalog["families"];

interface Entry {
  name: string;
  summary: string;
  flags: Flag[];
  takesIds: boolean;
}

export async function completionFor(
  shell: (typeof SHELLS)[number],
  { commands, families, others }: Catalog,
): Promise<string> {
  const list: Entry[] = [];
  for (const { name, summary, load } of commands) {
    const command = await load();
    // Of tasks: an operation without a run has ids of its own.
    const takesIds =
      command.op.access !== undefined &&
      (command.positionals ?? []).some(({ key }) => key === "id" || key === "ids");
    list.push({ name, summary, flags: [...(await flagsOf(command)), ...GLOBAL_FLAGS], takesIds });
  }
  for (const { name, summary } of others) list.push({ name, summary, flags: [], takesIds: false });
  return { bash, zsh, fish }[shell](list, followersOf(list, families));
}

/** A word that may come next, and what it is about. */
type Word = [word: string, summary: string];
/** For the words so far, the ones that may come next: `dog pool` has status, allocate, release. */
type Followers = [line: string, words: Word[]][];

function followersOf(list: readonly Entry[], families: Families): Followers {
  const followers = new Map<string, Map<string, string>>([["", new Map()]]);
  const add = (line: string, word: string, summary: string) => {
    const words = followers.get(line) ?? new Map<string, string>();
    followers.set(line, words.set(word, words.get(word) || summary));
  };
  for (const { name, summary } of list) {
    const words = name.split(" ");
    for (const [i, word] of words.entries()) {
      const isWhole = i === words.length - 1;
      const about = isWhole ? summary : (families[words.slice(0, i + 1).join(" ")]?.summary ?? "");
      add(words.slice(0, i).join(" "), word, about);
    }
  }
  for (const [word, summary] of followers.get("") ?? []) add("help", word, summary);
  for (const shell of SHELLS) add("completion", shell, `for ${shell}`);
  return [...followers].map(([line, words]) => [line, [...words]]);
}

function bash(list: readonly Entry[], followers: Followers): string {
  const cases = list
    .map(({ name, flags, takesIds }) => {
      const words = flags.map((flag) => `--${flag.name}`).join(" ");
      const ids = takesIds ? " $([[ $cur == -* ]] || viv completion ids 2>/dev/null)" : "";
      return `    "${name} "*) words="${words}${ids}" ;;`;
    })
    .join("\n");
  // By command: what `--by` means to one is not what it means to another.
  const choices = choiceFlags(list)
    .map(
      ([name, flag, values]) =>
        `    "${name} "*"--${flag} ") COMPREPLY=($(compgen -W "${values.join(" ")}" -- "$cur")); return ;;`,
    )
    .join("\n");
  const next = followers
    .map(([line, words]) => {
      const offered = words.map(([word]) => word).join(" ");
      return `    "${line && `${line} `}") COMPREPLY=($(compgen -W "${offered}" -- "$cur")); return ;;`;
    })
    .join("\n");
  return `# bash completion for viv. Load it with: eval "$(viv completion bash)"
_viv() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line="\${COMP_WORDS[*]:1:COMP_CWORD-1} " words
  [[ $COMP_CWORD -gt 1 ]] || line=""
  case $line in
${next}
${choices}
    *" --run "|*" --jsonl "|*" -r ") COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case $line in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _viv viv
`;
}

function zsh(list: readonly Entry[], followers: Followers): string {
  const next = followers
    .map(([line, words]) => {
      const offered = words.map(([word, summary]) => `'${word}:${quote(summary)}'`).join(" ");
      return `      "${line}") more=(${offered}) ;;`;
    })
    .join("\n");
  const cases = list
    .filter(({ flags }) => flags.length > 0)
    .map(({ name, flags, takesIds }) => {
      const specs = flags.map(
        (flag) => `'--${flag.name}[${quote(flag.describe)}]${zshValue(flag)}'`,
      );
      if (takesIds) specs.push("'*:task:{compadd -- $(viv completion ids 2>/dev/null)}'");
      return `    "${name}") _arguments ${specs.join(" ")} ;;`;
    })
    .join("\n");
  return `#compdef viv
# zsh completion for viv. Load it with: eval "$(viv completion zsh)"
_viv() {
  local command=""
  local -a more
  while true; do
    case $command in
${next}
      *) break ;;
    esac
    if (( CURRENT == 2 )); then _describe command more; return; fi
    command="\${command:+$command }\${words[2]}"; shift words; (( CURRENT-- ))
  done
  case $command in
${cases}
  esac
}
if [[ -n \${functions[compdef]} ]]; then compdef _viv viv; fi
`;
}

function zshValue(flag: Flag): string {
  if (flag.kind === "boolean") return "";
  if (flag.choices) return `:${flag.name}:(${flag.choices.join(" ")})`;
  return flag.name === "run" || flag.name === "jsonl" ? `:${flag.name}:_files` : `:${flag.name}:`;
}

/** `__viv_at` is told all words before the cursor, `__viv_in` the first of them. */
const FISH_WORDS = `function __viv_words
    set -l words (commandline -opc)
    set -e words[1]
    echo "$words "
end
function __viv_at
    set -l words (__viv_words)
    test "$words" = "$argv[1] "
end
function __viv_in
    set -l words (__viv_words)
    string match -q -- "$argv[1] *" "$words"
end`;

function fish(list: readonly Entry[], followers: Followers): string {
  const lines = [
    "# fish completion for viv. Load it with: viv completion fish | source",
    FISH_WORDS,
    "complete -c viv -f",
  ];
  for (const [line, words] of followers) {
    for (const [word, summary] of words) {
      lines.push(`complete -c viv -n '__viv_at "${line}"' -a ${word} -d '${quote(summary)}'`);
    }
  }
  for (const { name, flags, takesIds } of list) {
    const when = `-n '__viv_in "${name}"'`;
    for (const flag of flags) {
      const value =
        flag.kind === "boolean" ? "" : flag.choices ? ` -xa '${flag.choices.join(" ")}'` : " -r";
      const short = flag.short ? ` -s ${flag.short}` : "";
      lines.push(
        `complete -c viv ${when} -l ${flag.name}${short}${value} -d '${quote(flag.describe)}'`,
      );
    }
    if (takesIds) lines.push(`complete -c viv ${when} -a '(viv completion ids 2>/dev/null)'`);
  }
  return `${lines.join("\n")}\n`;
}

/** Commands, their flags, and what those may be. */
function choiceFlags(
  list: readonly Entry[],
): [name: string, flag: string, values: readonly string[]][] {
  return list.flatMap(({ name, flags }) =>
    flags.flatMap((flag): [string, string, readonly string[]][] =>
      flag.choices ? [[name, flag.name, flag.choices]] : [],
    ),
  );
}

/** For inside single quotes, and inside zsh's brackets and colons. */
function quote(text: string): string {
  return text.replace(/'/g, "’").replace(/[[\]:]/g, " ");
}

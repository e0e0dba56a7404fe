import { type Catalog, firstWord } from "./catalog.ts";
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
    const takesIds = (command.positionals ?? []).some(({ key }) => key === "id" || key === "ids");
    list.push({ name, summary, flags: [...(await flagsOf(command)), ...GLOBAL_FLAGS], takesIds });
  }
  for (const { name, summary } of others) list.push({ name, summary, flags: [], takesIds: false });
  return { bash, zsh, fish }[shell](list, families);
}

function bash(list: readonly Entry[], families: Families): string {
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
  const seconds = secondWords(list, families)
    .map(
      ([word, rest]) =>
        `    "${word} ") COMPREPLY=($(compgen -W "${rest.map(([second]) => second).join(" ")}" -- "$cur")); return ;;`,
    )
    .join("\n");
  return `# bash completion for viv. Load it with: eval "$(viv completion bash)"
_viv() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line="\${COMP_WORDS[*]:1:COMP_CWORD-1} " words
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "${firstWords(list).join(" ")}" -- "$cur")); return
  fi
  case $line in
${seconds}
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

function firstWords(list: readonly Entry[]): string[] {
  return [...new Set(list.map(({ name }) => firstWord(name)))];
}

/** The words that are the first of several commands, with the second word and summary of each. */
function secondWords(
  list: readonly Entry[],
  families: Families,
): [string, [second: string, summary: string][]][] {
  return Object.keys(families).map((word) => {
    const members = list.filter(({ name }) => name.startsWith(`${word} `));
    return [word, members.map(({ name, summary }) => [name.slice(word.length + 1), summary])];
  });
}

function zsh(list: readonly Entry[], families: Families): string {
  const summaryOf = (word: string) =>
    families[word]?.summary ?? list.find(({ name }) => name === word)?.summary ?? "";
  const commands = firstWords(list)
    .map((word) => `    '${word}:${quote(summaryOf(word))}'`)
    .join("\n");
  const seconds = secondWords(list, families)
    .map(([word, rest]) => {
      const words = rest.map(([second, summary]) => `'${second}:${quote(summary)}'`).join(" ");
      return `    ${word}) if (( CURRENT == 2 )); then local -a more=(${words}); _describe command more; return; fi
      command="$command \${words[2]}"; shift words; (( CURRENT-- )) ;;`;
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
  local -a commands=(
${commands}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=\${words[2]}
  shift words; (( CURRENT-- ))
  case $command in
${seconds}
  esac
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

function fish(list: readonly Entry[], families: Families): string {
  const lines = [
    "# fish completion for viv. Load it with: viv completion fish | source",
    "complete -c viv -f",
  ];
  for (const [word, rest] of secondWords(list, families)) {
    const about = quote(families[word]?.summary ?? "");
    lines.push(`complete -c viv -n __fish_use_subcommand -a ${word} -d '${about}'`);
    const seen = rest.map(([second]) => second).join(" ");
    const when = `-n '__fish_seen_subcommand_from ${word}; and not __fish_seen_subcommand_from ${seen}'`;
    for (const [second, summary] of rest) {
      lines.push(`complete -c viv ${when} -a ${second} -d '${quote(summary)}'`);
    }
  }
  for (const { name, summary, flags, takesIds } of list) {
    const words = name.split(" ");
    if (words.length === 1) {
      lines.push(`complete -c viv -n __fish_use_subcommand -a ${name} -d '${quote(summary)}'`);
    }
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`);
    const when = `-n '${seen.join("; and ")}'`;
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

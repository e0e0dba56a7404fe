/** What a key of viv.toml is for, and what counts without it. By path, as in known-keys.ts. */
type Words = readonly [describe: string, byDefault?: string];

/** The words for a key; for one in several tables, those of the first. */
export function wordsFor(path: string): Words | undefined {
  for (const known of spellings(path)) if (Object.hasOwn(WORDS, known)) return WORDS[known];
  return undefined;
}

/** Keys with one meaning in several tables have their words once. */
function spellings(path: string): string[] {
  return [
    path,
    path.replace(/^engines\.\*\./, "handlers.*."),
    path.replace(/^warden\.rules\.\w+\./, "warden.rules.*."),
    path.replace(/^.*(?:budget|budget\.(?:run|day))\.(usd|tokens)$/, "budget.*.$1"),
  ];
}

const WORDS: Readonly<Record<string, Words>> = {
  run: ["the run directory of commands in this folder and below"],
  on_dependency_failed: [
    "tasks that depend on a failed one: wait for its retry, or fail too",
    "wait",
  ],

  handlers: ["a route for each task type; default is for every type without one of its own"],
  "handlers.*": ["the route of one task type: a handler or an engine, and its limits"],
  "handlers.*.handler": [
    "the executable of each task: a path relative to this file, a name in PATH, or a list with arguments",
  ],
  "handlers.*.timeout": ["time limit of one attempt", "none"],
  "handlers.*.max_attempts": ["attempts until the task fails; a task's own number wins", "1"],
  "handlers.*.backoff": ["pause before the second attempt; it doubles, up to 15 minutes", "1s"],
  "handlers.*.done_when": ["shell command that proves the work; a task's own wins", "none"],
  "handlers.*.done_when_timeout": ["time limit of the proof", "none"],
  "handlers.*.review": ["a person approves each task before it is done", "false"],
  "handlers.*.workspace": ["a folder for each task: none, an empty one, or a git worktree", "none"],
  "handlers.*.repository": ["for worktrees: the repository, relative to this file"],
  "handlers.*.base": ["for worktrees: the branch or commit to begin from", "the repository's HEAD"],
  "handlers.*.sandbox": ["bubblewrap: write only into the workspace, reach no network", "off"],
  "handlers.*.env": ["variables for the handler: names to pass on, or NAME=VALUE", "[]"],
  "handlers.*.engine": ["a model instead of a handler", "none"],
  "handlers.*.prompt": ["template of the prompt, relative to this file"],
  "handlers.*.model": ["the model, in the engine's own words", "the engine's own"],
  "handlers.*.tiers": ["models by name, the cheapest first; a task's tier_hint picks one"],
  "handlers.*.tiers.*": ["a model"],
  "handlers.*.escalate_after": ["unproven attempts until the next tier", "never"],
  "handlers.*.mode": ["whether the model may change files", "edit"],
  "handlers.*.budget": ["the most that one attempt may use", "no limit"],
  "handlers.*.budget.turns": ["turns of the model"],
  "handlers.*.task_budget": ["the most that one task may use, over its attempts", "no limit"],
  "handlers.*.account": ["routes with one account share a rate limit", "the engine's name"],
  "handlers.*.resume": ["a retry goes on with the session of the attempt before", "true"],
  "handlers.*.binary": ["the engine's program: a path or a name in PATH", "the engine's name"],
  "handlers.*.flags": ["more arguments for the engine's program", "[]"],
  "handlers.*.permission": ["the vendor's word for what the agent may do", "by mode"],
  "handlers.*.url": ["for llm: the address of the API", "the vendor's"],
  "handlers.*.api": ["for llm: the protocol", "anthropic"],
  "handlers.*.key_env": ["for llm: the variable that holds the key", "by api"],
  "handlers.*.context_tokens": ["for llm: the size of the model's context", "by model"],
  "handlers.*.scenario": ["for script: the file with its steps"],

  limits: ["limits of every worker"],
  "limits.review": ["claim nothing while this many tasks wait for review", "no limit"],
  "limits.log": ["size of one attempt's log", "10MB"],

  engines: ["settings for all routes with an engine, by its name"],
  "engines.*": ["settings for all routes with this engine"],

  prices: ["dollars for a million tokens, by model; * is any other", "viv prices"],
  "prices.*": ["prices of a model"],
  "prices.*.input": ["dollars for a million tokens of input"],
  "prices.*.output": ["dollars for a million tokens of output"],
  "prices.*.cached_read": ["dollars for a million tokens that are read from the cache", "input"],
  "prices.*.cached_write": ["dollars for a million tokens that are written to the cache", "input"],

  budget: ["the most that all tasks together may use"],
  "budget.run": ["in this run", "no limit"],
  "budget.day": ["in a day (UTC)", "no limit"],
  "budget.*.usd": ["dollars"],
  "budget.*.tokens": ["tokens"],

  crew: ["a crew: a table for each member, and the keys of all"],
  "crew.stagger": ["pause between the first ticks of two members"],
  "crew.grace": ["pause before the first tick after a start"],
  "crew.max_concurrent": ["members that run at the same time"],
  "crew.state": ["state folder of the crew, relative to this file", ".crew"],
  "crew.port": ["port of /_activity; 0 for any free one"],
  "crew.origins": ["web pages that may read /_activity: exact origins", "[]"],
  "crew.*": ["a member: a standing agent with its own clock"],
  "crew.*.def": ["its instructions: a file, relative to this one"],
  "crew.*.interval": ["time between two ticks", "1h"],
  "crew.*.lifecycle": ["its stages, in words of its own"],
  "crew.*.engine": ["its engine", "claude, or exec with a command"],
  "crew.*.model": ["the model, in the engine's own words"],
  "crew.*.command": ["for exec: the command line"],
  "crew.*.mode": ["whether it may change files", "plan"],
  "crew.*.workdir": ["where it runs", "the folder of this file"],
  "crew.*.run_if": ["a command; the tick is skipped unless it exits with 0"],
  "crew.*.budget_usd_day": ["the most dollars in a day", "no limit"],
  "crew.*.priority": ["its place in the gate's queue", "normal"],
  "crew.*.continuous": ["goes on with one session from tick to tick", "no"],

  warden: ["the warden of viv up: asks stuck agents before it ends them"],
  "warden.pool": ["dogs: dances at the same time", "5"],
  "warden.timeouts": ["time to answer, for each question", '["60s", "120s", "240s"]'],
  "warden.kill_after": ["time between SIGTERM and SIGKILL", "10s"],
  "warden.unasked": ["an agent that cannot be asked: spare it, or end it", "spare"],
  "warden.patience": ["how long a sleeping or busy agent is spared", "30m"],
  "warden.state": ["state folder of the warden, relative to this file"],
  "warden.tmux_socket": ["socket of the tmux server with the agents"],
  "warden.hook": ["shell command that gets each verdict"],
  "warden.webhook": ["address that gets each verdict"],
  "warden.runs": ["runs that the rules look at", "[]"],
  "warden.crews": ["state folders of crews that the rules look at", "[]"],
  "warden.sessions": ["tmux sessions that the rules look at, with *", "[]"],
  "warden.ask": ["programs that may be typed to, though their screens are not known", "[]"],
  "warden.breaker": ["pauses the pool when too many agents are ended"],
  "warden.breaker.executions": ["so many ended agents", "3"],
  "warden.breaker.within": ["in this time", "10m"],
  "warden.rules": ["rules that find suspects"],
  "warden.rules.no_output": ["no new output for this long", "off"],
  "warden.rules.stale_heartbeat": ["a heartbeat this old of a living worker", "off"],
  "warden.rules.repeated_tool": ["the same tool call this often in a row", "off"],
  "warden.rules.over_budget": ["an agent that has spent more than it may", "off"],
  "warden.rules.past_deadline": ["a task this long after its deadline", "off"],
  "warden.rules.*.after": ["the time"],
  "warden.rules.*.times": ["the number"],
  "warden.rules.*.action": ["observe: report it; file: file a warrant", "observe"],
  "warden.rules.*.patience": ["patience of the warrants that it files", "the warden's"],
};

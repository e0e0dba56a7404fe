/**
 * Two runs of a task at the same time: the second began before the first had ended, and the first was
 * alive then. A handler of `viv work` says so itself (`previous`), or ends later than the second
 * began. A claim without a process (a loop in a shell, a foreign worker) may be given away when its
 * lease is over or a person cancels it: then it is nobody's fault.
 */
export function overlapping({ journal, operations, staleSeconds }) {
  const crimes = [];
  const open = new Map();
  const cancels = new Set(operations.filter(({ verb }) => verb === "cancel").map(({ id }) => id));
  const tell = (id, first, second) => {
    const text = `${second.worker} began at ${second.at}; ${first.worker}, begun at ${first.at}, still ran`;
    crimes.push({ kind: "overlapping", id, text });
  };
  const isExcused = (first, second) =>
    first.kind !== "work" && (cancels.has(first.id) || second.at - first.at > staleSeconds - 1);
  for (const entry of journal) {
    const runs = open.get(entry.id) ?? [];
    if (entry.what === "begin") {
      const alive = runs.find(({ token }) => token === entry.previous);
      if (alive && !isExcused(alive, entry)) tell(entry.id, alive, entry);
      open.set(entry.id, [...runs, { ...entry, isTold: new Set(alive ? [alive.token] : []) }]);
    } else if (entry.what === "end") {
      const at = runs.findIndex(({ token, pid }) => token === entry.token && pid === entry.pid);
      if (at === -1) continue;
      const [ended] = runs.splice(at, 1);
      // Those that began while it ran: it has just shown that it was alive.
      for (const later of runs.slice(at)) {
        if (later.isTold.has(ended.token) || isExcused(ended, later)) continue;
        tell(entry.id, ended, later);
      }
    }
  }
  return crimes;
}

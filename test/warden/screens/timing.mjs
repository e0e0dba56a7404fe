// How long after a paste an Enter submits it, in the vendors' programs: a table on stdout, no fixture.
import { answered, QUESTION, up } from "./agents.mjs";
import { ms, tmux } from "./screen.mjs";

export async function timing(screen) {
  const rows = [];
  let n = 0;
  for (const how of ["paste", "keys"]) {
    await up(screen, "ok+alive");
    // The first turn may take long (opencode: 20 s without a network).
    await deliver(screen, "paste", QUESTION.replaceAll("k7m2qp", `warm-${how}`), 1_000);
    await answered(`warm-${how}`, 60_000);
    for (const wait of ["same", 0, 10, 20, 30, 40, 60, 100, 250]) {
      let first = 0;
      let second = 0;
      const tries = 4;
      for (let i = 0; i < tries; i++) {
        const nonce = `t${String(++n).padStart(5, "0")}`;
        const text = QUESTION.replaceAll("k7m2qp", nonce);
        await deliver(screen, how, text, wait);
        if (await answered(nonce, 8_000)) first++;
        else {
          const left = (await screen.text()).split("\n").filter((row) => row.includes(nonce));
          console.log(screen.program, how, wait, "not submitted:", JSON.stringify(left));
          await screen.keys("Enter");
          if (await answered(nonce, 8_000)) second++;
          else {
            await screen.keys("C-u");
            await screen.keys("-N", "200", "BSpace");
          }
        }
        await screen.rest(400, 2_000);
      }
      rows.push({ how, wait, first: `${first}/${tries}`, second: `${second}/${tries - first}` });
      console.log(screen.program, JSON.stringify(rows.at(-1)));
    }
  }
}
export async function deliver(screen, how, text, wait) {
  const target = ["-t", screen.target];
  await tmux("set-buffer", "-b", "q", "--", text);
  const put =
    how === "paste"
      ? ["paste-buffer", "-p", "-b", "q", ...target]
      : ["send-keys", ...target, "-l", text];
  if (wait === "same") return tmux(...put, ";", "send-keys", ...target, "Enter");
  await tmux(...put);
  if (wait > 0) await ms(wait);
  await tmux("send-keys", ...target, "Enter");
}

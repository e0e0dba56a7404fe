import { Main, TopBar } from "../../shell/top-bar.tsx";

export function Board() {
  return (
    <>
      <TopBar title="Board" />
      <Main>…</Main>
    </>
  );
}

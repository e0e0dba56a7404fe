import { Main, TopBar } from "../../shell/top-bar.tsx";

export function Overview() {
  return (
    <>
      <TopBar title="Overview" />
      <Main>…</Main>
    </>
  );
}

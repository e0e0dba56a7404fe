import { Main, TopBar } from "../../shell/top-bar.tsx";

export function TaskPage() {
  return (
    <>
      <TopBar title="Task" />
      <Main>…</Main>
    </>
  );
}

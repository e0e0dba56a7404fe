import { Empty } from "../parts/empty.tsx";
import { view } from "../shell/router.ts";
import { Main, TopBar } from "../shell/top-bar.tsx";

/** Stands where a view is not built yet. */
export default function Soon() {
  const label = `${view.value.slice(0, 1).toUpperCase()}${view.value.slice(1)}`;
  return (
    <>
      <TopBar title={label} />
      <Main>
        <Empty title={`${label} is not built yet`} />
      </Main>
    </>
  );
}

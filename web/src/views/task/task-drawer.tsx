export function TaskDrawer() {
  return null;
}

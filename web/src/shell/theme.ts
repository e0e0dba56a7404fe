import { effect, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "viv.theme";
export const theme = signal<Theme>(stored());

function stored(): Theme {
  const given = localStorage.getItem(STORED);
  return THEMES.find((one) => one === given) ?? "system";
}

export function setTheme(next: Theme): void {
  theme.value = next;
  localStorage.setItem(STORED, next);
}

export function nextTheme(): void {
  setTheme(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system");
}

/** Only color-scheme differs: every colour is a pair. */
effect(() => {
  const { dataset } = document.documentElement;
  if (theme.value === "system") delete dataset.theme;
  else dataset.theme = theme.value;
});

import type { ConfigTable } from "./config-table.ts";

/**
 * A room's part of viv.toml. It asks the top of the file for the keys that the room owns, and may
 * ask for the sections of lower rooms. app/config.ts lists all of them.
 */
export type Section<T> = (top: ConfigTable, section: GetSection) => T;

export type GetSection = <T>(section: Section<T>) => T;

/** A viv.toml without mistakes. Paths in it are as they are written, relative to its folder. */
export interface Config {
  /** Absolute, as is the folder it lies in. */
  file: string;
  folder: string;
  /** Its content. */
  text: string;
  section: GetSection;
}

import { isAbsolute, join } from "node:path";
import { VivError } from "../base/errors.ts";
import { type Board, decodeBoard, readBoard } from "./board.ts";
import type { BoardPort, BoardRepository } from "./git.ts";

/** Where a command was typed, as far as boards are concerned. */
export interface BoardWhere {
  /** `--board` */
  board?: string | undefined;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** `--board`, then VIV_BOARD, then the nearest board.org here or above. */
export async function openBoard(port: BoardPort, where: BoardWhere): Promise<BoardRepository> {
  const named = where.board ?? (where.env.VIV_BOARD || undefined);
  if (named === "") throw new VivError("USAGE", "--board is empty; it is the path of an org file.");
  const path = named === undefined || isAbsolute(named) ? named : join(where.cwd, named);
  const file = path ?? port.find(where.cwd);
  if (file !== null) return port.open(file);
  const message = "there is no board.org here or above; say where it is with --board FILE.";
  throw new VivError("RUN_NOT_FOUND", message, { cwd: where.cwd });
}

/** As it is committed. */
export async function readCommitted(repository: BoardRepository): Promise<Board> {
  return readBoard(decodeBoard((await repository.read()).bytes).text);
}

import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Disks whose power can be cut: a file with a filesystem, mounted through a loop device. Two ways:
 *
 *   Disk            the filesystem's own shutdown without a flush of its log (FS_IOC_SHUTDOWN): all
 *                   that has not reached the device is gone
 *   SnapshotDisk    the device as it is at one moment: its file lies on an xfs of its own, where a
 *                   copy that shares the blocks (reflink) is one atomic step. What was written is
 *                   there, whether somebody had asked for a sync or not; what came later is not.
 *
 * Either way the next mount replays the journal, as after pulling the plug. (dm-log-writes, which could
 * also reorder what was not flushed, is in few kernels.)
 */

const MAKE = {
  ext4: ["mkfs.ext4", "-q", "-F"],
  xfs: ["mkfs.xfs", "-q", "-f"],
};
export const FILESYSTEMS = Object.keys(MAKE);
const BYTES = 512 * 2 ** 20;

export class Disk {
  constructor(folder, kind, bytes = BYTES) {
    this.kind = kind;
    this.image = join(folder, `${kind}.img`);
    this.path = join(folder, kind);
    mkdirSync(this.path, { recursive: true });
    writeFileSync(this.image, "");
    truncateSync(this.image, bytes);
    must(...MAKE[kind], this.image);
    this.mount();
  }

  mount() {
    must("mount", "-o", "loop", this.image, this.path);
  }

  cut() {
    must("xfs_io", "-x", "-c", "shutdown", this.path);
  }

  /** For someone who wants to look at what broke: the image. */
  keep() {
    spawnSync("umount", ["-l", this.path], { stdio: "ignore" });
    return this.image;
  }

  /** After a cut. Everybody who had a file open there must have ended. */
  unmount() {
    const { status } = spawnSync("umount", [this.path]);
    if (status !== 0) must("umount", "-l", this.path);
  }

  remove() {
    spawnSync("umount", ["-l", this.path], { stdio: "ignore" });
    rmSync(this.image, { force: true });
    rmdirSync(this.path);
  }
}

export class SnapshotDisk extends Disk {
  constructor(folder, kind) {
    const beneath = new Disk(join(folder, "beneath"), "xfs", 2 * BYTES);
    super(beneath.path, kind);
    this.beneath = beneath;
  }

  cut() {
    must("cp", "--reflink=always", this.image, `${this.image}.cut`);
  }

  unmount() {
    super.unmount();
    renameSync(`${this.image}.cut`, this.image);
  }

  remove() {
    super.remove();
    this.beneath.remove();
  }
}

/** Why there can be no such disk here, or null. */
export function cannotCut(folder, kind) {
  if (process.getuid?.() !== 0) return "only root may mount";
  for (const command of [MAKE[kind][0], "xfs_io", "mount"]) {
    if (spawnSync(command, ["-V"]).error) return `${command} is missing`;
  }
  try {
    mkdirSync(folder, { recursive: true });
    const disk = new Disk(folder, kind);
    try {
      disk.cut();
      disk.unmount();
      disk.mount();
    } finally {
      disk.remove();
    }
    return null;
  } catch (error) {
    return error.message;
  }
}

function must(command, ...args) {
  const { status, stderr, error } = spawnSync(command, args);
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${error ?? stderr}`.trim());
}

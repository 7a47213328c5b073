// What the built-in AI APIs call a monitor: it is told of a download in parts of a whole.

/** As the APIs round: pages do not learn sizes. */
const STEPS = 0x10000;

/** Fires `downloadprogress` events: from 0, ever more, to 1. */
export class DownloadMonitor extends EventTarget {
  #last = -1;

  tell(part: number): void {
    const loaded = Math.floor(part * STEPS) / STEPS;
    if (loaded <= this.#last) return;
    this.#last = loaded;
    this.dispatchEvent(progressEvent({ loaded, total: 1, lengthComputable: true }));
  }
}

function progressEvent(progress: { loaded: number; total: number; lengthComputable: boolean }): Event {
  if (typeof ProgressEvent === "function") return new ProgressEvent("downloadprogress", progress);
  return Object.assign(new Event("downloadprogress"), progress);
}

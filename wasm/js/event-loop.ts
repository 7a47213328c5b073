/** Milliseconds until the page may draw and listen. */
export const SLICE = 8;

/** Lets the page draw and listen: a message comes after what waits already. */
export function yieldToPage(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** Yields to the page when it is called, if the last time is a while ago. */
export function pageYielder(): () => Promise<void> {
  let end = performance.now() + SLICE;
  return async () => {
    if (performance.now() < end) return;
    await yieldToPage();
    end = performance.now() + SLICE;
  };
}

/** Milliseconds until the page may draw and listen. */
export const SLICE = 8;

/** Lets the page draw and listen: a message comes behind what waits already. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** Breathes whenever it is called and the last time is a while ago. */
export function breather(): () => Promise<void> {
  let end = performance.now() + SLICE;
  return async () => {
    if (performance.now() < end) return;
    await breathe();
    end = performance.now() + SLICE;
  };
}

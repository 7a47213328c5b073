import { colour, sharp } from "./page.js";

/** A vector as stripes: green above zero, red below. */
export function stripes(canvas: HTMLCanvasElement, vector: Float32Array): void {
  const { context, width, height } = sharp(canvas);
  const most = Math.max(1e-9, ...vector.map(Math.abs));
  vector.forEach((value, at) => {
    context.fillStyle = value > 0 ? colour("accent") : colour("bad");
    context.globalAlpha = Math.abs(value) / most;
    context.fillRect((at * width) / vector.length, 0, width / vector.length + 0.5, height);
  });
}

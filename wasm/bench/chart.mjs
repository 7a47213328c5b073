// Bars for people, drawn from the results: milliseconds per embedding, light and dark.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const colours = {
  light: { text: "#1f2328", faint: "#656d76", ours: "#0a7f5a", other: "#b8bfc7" },
  dark: { text: "#e6edf3", faint: "#8d96a0", ours: "#3fb68b", other: "#545d68" },
};

/** Writes `latency-light.svg` and `latency-dark.svg`. */
export function draw(result, folder) {
  for (const [name, palette] of Object.entries(colours)) writeFileSync(join(folder, `latency-${name}.svg`), svg(result, palette));
}

function svg({ latency, cpu }, { text, faint, ours, other }) {
  const parts = [];
  let y = 34;
  for (const [size, times] of Object.entries(latency)) {
    const most = Math.max(...Object.values(times));
    parts.push(`<text x="16" y="${y}" fill="${text}" font-weight="600">${size} tokens</text>`);
    y += 10;
    for (const [peer, milliseconds] of Object.entries(times)) {
      const width = (milliseconds / most) * 400;
      parts.push(`<text x="180" y="${y + 13}" fill="${text}" text-anchor="end">${peer}</text>`);
      parts.push(`<rect x="190" y="${y + 2}" width="${width.toFixed(1)}" height="14" rx="2" fill="${peer.startsWith("nanoembed") ? ours : other}"/>`);
      parts.push(`<text x="${(196 + width).toFixed(1)}" y="${y + 13}" fill="${faint}">${milliseconds.toFixed(1)} ms</text>`);
      y += 20;
    }
    y += 24;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 ${y + 6}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="Milliseconds per embedding in Chromium, one thread">
<title>Milliseconds per embedding in Chromium, one thread (${cpu})</title>
${parts.join("\n")}
<text x="16" y="${y - 4}" fill="${faint}" font-size="11">Chromium, one thread, ${cpu}; shorter is better</text>
</svg>
`;
}

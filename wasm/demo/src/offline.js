// Keeps the pages for times without a network. The lists are filled in when the pages are built.
const FILES = __FILES__;
const VERSION = __VERSION__;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith("nanoembed-demo-") && name !== VERSION;
  event.waitUntil(
    caches.keys().then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name)))).then(() => self.clients.claim()),
  );
});

/** A part of a kept file, as a server that knows ranges would send it. */
async function part(kept, range) {
  const file = await kept.blob();
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? [];
  if (first === undefined || Number(first) >= file.size) {
    return new Response(null, { status: 416, headers: { "content-range": `bytes */${file.size}` } });
  }
  const end = Math.min(file.size, last ? Number(last) + 1 : file.size);
  const headers = { "content-range": `bytes ${first}-${end - 1}/${file.size}`, "content-length": String(end - first) };
  const etag = kept.headers.get("etag");
  return new Response(file.slice(Number(first), end), { status: 206, headers: etag ? { ...headers, etag } : headers });
}

async function answer(request) {
  const address = request.mode === "navigate" && request.url.endsWith("/") ? `${request.url}index.html` : request.url;
  const kept = await caches.match(address, { ignoreSearch: true });
  const range = request.headers.get("range");
  if (!kept) return fetch(request);
  return range === null ? kept : part(kept, range);
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && new URL(request.url).origin === location.origin) event.respondWith(answer(request));
});

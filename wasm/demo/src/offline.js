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

self.addEventListener("fetch", (event) => {
  const { request } = event;
  // Parts of files are the package's business, and so is the model.
  if (request.method !== "GET" || request.headers.has("range") || new URL(request.url).origin !== location.origin) return;
  const address = request.mode === "navigate" && request.url.endsWith("/") ? `${request.url}index.html` : request.url;
  event.respondWith(caches.match(address, { ignoreSearch: true }).then((kept) => kept ?? fetch(request)));
});

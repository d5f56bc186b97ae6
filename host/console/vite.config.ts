import { defineConfig } from "vite";

// `npm run dev` shows changes at once, on the API of a server that runs: MINDHOST=http://127.0.0.1:8080 npm run dev
const server = process.env["MINDHOST"] ?? "http://127.0.0.1:8080";

const proxy = { "/api": server, "/readyz": server, "/healthz": server };

export default defineConfig({
  root: "web",
  base: "/console/",
  server: { proxy },
  preview: { proxy },
  build: {
    outDir: "../build",
    emptyOutDir: true,
    target: "es2022",
    // Inlined files would be `data:` addresses, which the content security policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The chart library is that large, and loaded only with the first chart.
    chunkSizeWarningLimit: 1000,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});

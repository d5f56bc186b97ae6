// Sends one request for testing.js, which cannot wait for an answer itself: JSON in, JSON out.

import { readFileSync } from "node:fs";

const { method, url, headers, body } = JSON.parse(readFileSync(0, "utf8"));
try {
  const response = await fetch(url, { method, headers, body: body === "" ? undefined : body, redirect: "manual" });
  const bytes = Buffer.from(await response.arrayBuffer());
  const told = { status: response.status, headers: [...response.headers], base64: bytes.toString("base64") };
  process.stdout.write(JSON.stringify(told));
} catch (error) {
  process.stderr.write(String(error.cause ?? error));
  process.exitCode = 1;
}

// What a plugin in JavaScript uses.

export { PluginError } from "./error.js";
export { Tagged } from "./rows.js";
export * as control from "./control.js";
export { log } from "./control.js";
export * as files from "./files.js";
export * as http from "./http.js";
export * as text from "./text.js";

// What a plugin in JavaScript or TypeScript uses.

export { PluginError } from "./error.js";
export { Tagged } from "./rows.js";
export { Decimal } from "./json.js";
export * as control from "./control.js";
export { log } from "./control.js";
export * as files from "./files.js";
export * as http from "./http.js";
export * as json from "./json.js";
export * as text from "./text.js";
export * as values from "./values.js";

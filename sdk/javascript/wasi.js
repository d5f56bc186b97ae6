// WASI, under the name that it has until the component is finished: build.mjs says why.

export { default as clock } from "wa5i:clocks/monotonic-clock@0.2.6";
export { default as preopens } from "wa5i:filesystem/preopens@0.2.6";
export { default as handler } from "wa5i:http/outgoing-handler@0.2.6";
export { default as types } from "wa5i:http/types@0.2.6";
export { default as poll } from "wa5i:io/poll@0.2.6";

// The modules of the host that the code of a development build asks for, by their names without the package: that of
// WASI is another one while a component is made.

import control from "mindhost:plugin/control@0.1.0";
import log from "mindhost:plugin/log@0.1.0";
import * as wasi from "./wasi.js";

export const modules = {
  "plugin/control@0.1.0": control,
  "plugin/log@0.1.0": log,
  "clocks/monotonic-clock@0.2.6": wasi.clock,
  "filesystem/preopens@0.2.6": wasi.preopens,
  "http/outgoing-handler@0.2.6": wasi.handler,
  "http/types@0.2.6": wasi.types,
  "io/poll@0.2.6": wasi.poll,
};

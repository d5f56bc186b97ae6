// The glue between a class of the author's and the world `model-provider`.

import { PluginError, guarded, settings } from "./error.js";

/** `{text}`, `{toolCall: {id, name, arguments}}`, `{opaque: {kind, data}}`, `{usage: {input, output}}`, `{stop: reason}` */
function event(given) {
  if ("text" in given) return { tag: "text", val: String(given.text) };
  if ("toolCall" in given) return { tag: "tool-call", val: given.toolCall };
  if ("opaque" in given) return { tag: "opaque", val: given.opaque };
  if ("usage" in given) return { tag: "usage", val: Object.entries(given.usage) };
  if ("stop" in given) return { tag: "stop", val: [given.stop, given.reason ?? given.stop] };
  throw new PluginError("internal", `the plugin made an unknown event: ${Object.keys(given)}`);
}

class Completion {
  #events;
  #first;
  #stopped = false;

  /** Runs to the first event, so that a refusal is an error of `start`. */
  constructor(events) {
    this.#events = events[Symbol.iterator]();
    this.#first = this.#take();
  }

  next() {
    return guarded(() => {
      if (this.#stopped) return null;
      const given = this.#first ?? this.#take();
      this.#first = null;
      if (given === null) throw new PluginError("connection-lost", "the answer ended without a stop event");
      // Nothing given means that the vendor has accepted: no event yet.
      if (given === undefined) return [];
      this.#stopped = "stop" in given;
      return [event(given)];
    });
  }

  #take() {
    const { done, value } = this.#events.next();
    return done ? null : value;
  }
}

/** The exported interface `model`, for a class; `manifest` is the text of manifest.json. */
export function exportModel(Plugin, manifest) {
  const plugin = (config) => guarded(() => new Plugin(settings(config)));
  return {
    Completion,
    start: (config, request) => guarded(() => new Completion(plugin(config).complete(request))),
    check: (config) => guarded(() => plugin(config).check()),
    models: (config) => guarded(() => plugin(config).models?.() ?? []),
    describe: () => manifest,
  };
}

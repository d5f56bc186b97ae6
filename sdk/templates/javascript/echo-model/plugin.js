// A model that repeats the question.

import { PluginError } from "./mindhost/index.js";

export default class Echo {
  /** What the provider is configured with; manifest.json has its schema. */
  constructor({ greeting }) {
    this.greeting = greeting;
  }

  /** A vendor is asked here, with `http` of the SDK. Yield each piece as soon as it is there. */
  *complete(request) {
    const asked = request.messages.filter((message) => message.role === "user").at(-1);
    const text = asked?.parts.find((part) => part.tag === "text");
    if (!text) throw new PluginError("unsupported", "this model only reads text");
    yield { text: this.greeting };
    yield { text: `: ${text.val}` };
    yield { stop: "end" };
  }

  check() {
    return "ready to repeat";
  }

  models() {
    return ["echo"];
  }
}

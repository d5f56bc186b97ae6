// A vendor of a model that says what a test tells it to, word by word, and waits where the test wants it to. It speaks
// OpenAI's chat completions, so the plugin `model-openai` asks it.
import { createServer } from "node:http";

export class Vendor {
  /** Turns that are played, one for each request: `{ call, arguments }`, `{ words, hold }`, `{ refuses }` with a message, or
   * `{ words, hold, breaks }`, which ends the connection instead of the answer. */
  turns = [];
  /** The models that it was asked for, in order. */
  models = [];
  #held = [];
  #asked = 0;

  static async start() {
    const vendor = new Vendor();
    vendor.server = createServer((request, response) => {
      if (request.method === "GET") return response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ object: "list", data: [{ id: "told", object: "model" }] }));
      const body = [];
      request.on("data", (part) => body.push(part)).on("end", () => {
        vendor.models.push(JSON.parse(Buffer.concat(body).toString()).model);
        void vendor.#play(vendor.turns.shift() ?? { words: ["Nothing more."] }, response);
      });
    });
    await new Promise((resolve) => vendor.server.listen(0, "127.0.0.1", resolve));
    return vendor;
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}/v1`;
  }

  /** Makes a provider of it, and a Mind that asks it. */
  async mind(server, name) {
    const base_url = this.url;
    await server.api("POST", "/providers", { name, plugin: "model-openai", connection_data: { base_url, model: "told", api: "other" } });
    await server.api("POST", "/minds", { name, provider: name, datasources: ["shop"], parameters: { allow_direct_queries: true } });
  }

  /** Goes on with what is held. */
  release() {
    for (const go of this.#held.splice(0)) go();
  }

  /** Resolves once the vendor waits. It looks now and then: the server needs the processor. */
  async held() {
    const end = Date.now() + 60_000;
    while (this.#held.length === 0) {
      if (Date.now() > end) throw new Error("nothing that the vendor holds was asked for within a minute");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async stop() {
    this.release();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #play({ call, arguments: given, words = [], hold, refuses, breaks = false }, response) {
    if (refuses) return response.writeHead(400, { "Content-Type": "application/json" }).end(JSON.stringify({ error: { message: refuses } }));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const id = `call-${++this.#asked}`;
    const send = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "told", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    if (call) send({ role: "assistant", tool_calls: [{ index: 0, id, type: "function", function: { name: call, arguments: JSON.stringify(given) } }] });
    for (const [index, content] of words.entries()) {
      if (index === hold) await new Promise((resolve) => this.#held.push(resolve));
      send({ content });
    }
    if (hold !== undefined && hold >= words.length) await new Promise((resolve) => this.#held.push(resolve));
    if (breaks) return response.destroy();
    send({}, call ? "tool_calls" : "stop");
    response.end("data: [DONE]\n\n");
  }
}

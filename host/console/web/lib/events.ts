// Server-sent events over `fetch`, which can send the key and a body.
import { pieces } from "./api";

export interface ServerEvent {
  type: string;
  [field: string]: unknown;
}

/** Gives each event as it arrives. Ends with the stream. */
export async function* events(response: Response): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of pieces(response)) {
    rest += decoder.decode(piece, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:"));
      const text = data.map((line) => line.slice(5).trimStart()).join("\n");
      if (text !== "" && text !== "[DONE]") yield JSON.parse(text) as ServerEvent;
    }
  }
}

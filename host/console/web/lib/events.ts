// Server-sent events over `fetch`, which can send the key and a body.

export interface ServerEvent {
  type: string;
  [field: string]: unknown;
}

/** Gives each event as it arrives. Ends with the stream. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = block.split("\n").filter((line) => line.startsWith("data:"));
        const text = data.map((line) => line.slice(5).trimStart()).join("\n");
        if (text !== "" && text !== "[DONE]") yield JSON.parse(text) as ServerEvent;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

// The export of a result as CSV, with its progress.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { mayLose } from "../lib/leaving";
import { isAbort, pieces, send, toError, type ApiError } from "../lib/api";
import { save } from "../lib/save";

const NEWLINE = 10;

function fileName(response: Response): string {
  const named = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "");
  return named?.[1]?.replace(/[^\w.-]/g, "_") ?? "result.csv";
}

/** Whether exports are for a spreadsheet; kept for the next one. */
export const forSpreadsheet = signal(true);

export function useExport(conversation: string, message: string, total: number) {
  const [received, setReceived] = useState<number | null>(null);
  const [share, setShare] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);

  async function run(stop: AbortSignal): Promise<void> {
    const response = await send(`/api/v1/conversations/${conversation}/items/${message}/export?formulas=${forSpreadsheet.value ? "escape" : "keep"}`, { signal: stop });
    const parts: BlobPart[] = [];
    let [size, lines] = [0, 0];
    for await (const piece of pieces(response)) {
      parts.push(piece);
      size += piece.length;
      for (const byte of piece) if (byte === NEWLINE) lines++;
      setReceived(size);
      // A value may hold line breaks, so this is a guess, and never says that all is there.
      setShare(Math.min(lines / (total + 1), 0.99));
    }
    save(fileName(response), "text/csv", parts);
  }

  const start = () => {
    abort.current = new AbortController();
    setError(null);
    setReceived(0);
    setShare(null);
    const done = mayLose();
    run(abort.current.signal)
      .catch((thrown: unknown) => {
        if (!isAbort(thrown)) setError(toError(thrown));
      })
      .finally(() => {
        done();
        setReceived(null);
      });
  };
  return { received, share, error, start, stop: () => abort.current?.abort() };
}

// Data of a page: loaded when it is shown, again on request or while something is under way.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isAbort, mayPass, toError, type ApiError } from "./api";
import { later } from "./later";

/** Milliseconds until what is watched is asked for again after a failure. */
const RETRY = 2000;

export interface Loaded<T> {
  data: T | null;
  error: ApiError | null;
  reload: () => void;
  set: (data: T) => void;
}

/** Loads when `inputs` change; `every` says after how many milliseconds to load again, as long as it gives a number. */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: unknown[],
  every?: (data: T) => number | null,
): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; error: ApiError | null }>({ data: null, error: null });
  const [turn, setTurn] = useState(0);
  const period = useRef(every);
  period.current = every;
  useEffect(() => setState({ data: null, error: null }), inputs);
  useEffect(() => {
    const abort = new AbortController();
    let callOff = () => {};
    const again = (ms: number) => {
      callOff = later(ms, () => setTurn((turn) => turn + 1));
    };
    load(abort.signal).then(
      (data) => {
        if (abort.signal.aborted) return;
        setState({ data, error: null });
        const wait = period.current?.(data) ?? null;
        if (wait !== null) again(wait);
      },
      (thrown: unknown) => {
        if (abort.signal.aborted || isAbort(thrown)) return;
        const error = toError(thrown);
        setState(({ data }) => ({ data, error }));
        if (period.current && mayPass(error)) again(RETRY);
      },
    );
    return () => {
      abort.abort();
      callOff();
    };
  }, [...inputs, turn]);
  const reload = useCallback(() => setTurn((turn) => turn + 1), []);
  const set = useCallback((data: T) => setState({ data, error: null }), []);
  return { ...state, reload, set };
}

/** One action at a time: whether it runs, and how it failed. What is asked for while one runs is not done. */
export function useAction(): { busy: boolean; error: ApiError | null; run: (act: () => Promise<void>) => Promise<void>; clear: () => void } {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const running = useRef(false);
  const run = async (act: () => Promise<void>) => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setError(null);
    try {
      await act();
    } catch (thrown) {
      if (!isAbort(thrown)) setError(toError(thrown));
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return { busy, error, run, clear: () => setError(null) };
}

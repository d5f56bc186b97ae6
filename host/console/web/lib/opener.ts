import { useLayoutEffect, useRef } from "preact/hooks";

/** For a button that gives way to what it opens: it has the focus again once that is closed, so that who works with the
 * keyboard goes on from there. */
export function useOpener(isOpen: boolean) {
  const opener = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    if (wasOpen.current && !isOpen) opener.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  return opener;
}

/** Acts after so many milliseconds, and not while the page is hidden: then once it is seen again. Gives what calls it off. */
export function later(ms: number, act: () => void): () => void {
  const end = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", due);
  };
  const due = () => {
    if (document.hidden) return;
    end();
    act();
  };
  const timer = window.setTimeout(() => {
    document.addEventListener("visibilitychange", due);
    due();
  }, ms);
  return end;
}

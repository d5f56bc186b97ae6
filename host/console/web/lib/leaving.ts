// What would be lost if the page were left: while there is some, the browser asks before it leaves.

let count = 0;

const ask = (event: BeforeUnloadEvent) => event.preventDefault();

/** Says that something runs which ends with the page. Gives what says that it is over. */
export function mayLose(): () => void {
  if (count++ === 0) addEventListener("beforeunload", ask);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    if (--count === 0) removeEventListener("beforeunload", ask);
  };
}

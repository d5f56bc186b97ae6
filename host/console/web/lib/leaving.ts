// What would be lost if the page were left: while there is some, the browser asks before it leaves.

let count = 0;

const ask = (event: BeforeUnloadEvent) => event.preventDefault();

/** A file that is dropped beside the field for it would be opened in place of the console, and the key would be gone. */
function keepPage(event: DragEvent): void {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "none";
}

addEventListener("dragover", keepPage);
addEventListener("drop", keepPage);

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

/** Hands a file to the browser to keep. */
export function save(name: string, type: string, parts: BlobPart[]): void {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to read the blob by the next turn of its loop.
  setTimeout(() => URL.revokeObjectURL(address));
}

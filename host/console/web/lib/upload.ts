// Sends a file with XMLHttpRequest, which tells how much of it was sent; `fetch` does not.
import { ApiError, accepted } from "./api";
import { key } from "./session";

/** Sends a file as the body of a POST. `progress` gets the bytes sent so far. Throws as `send` does. */
export async function upload(address: string, file: File, progress: (sent: number) => void, signal: AbortSignal): Promise<Response> {
  const as = key.value;
  await readable(file);
  const response = await new Promise<Response>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    if (as) request.setRequestHeader("Authorization", `Bearer ${as}`);
    request.upload.onprogress = (event) => progress(event.loaded);
    request.onload = () => resolve(new Response(request.responseText, { status: request.status, headers: headersOf(request) }));
    request.onerror = () => reject(new ApiError("The connection ended before the server answered. Is it running?", "unreachable", 0, null));
    request.onabort = () => reject(new DOMException("The upload was stopped", "AbortError"));
    if (signal.aborted) return reject(new DOMException("The upload was stopped", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
  return accepted(as, response);
}

/** A folder that was dropped comes as a file that cannot be read, and so does a file that was moved since. */
async function readable(file: File): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new ApiError("The browser cannot read it. Folders cannot be uploaded; choose the files in them.", "unreadable", 0, null);
  }
}

function headersOf(request: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const name of ["content-type", "x-request-id"]) {
    const value = request.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  return headers;
}

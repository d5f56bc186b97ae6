// Types of mindhost/testing.js: unit tests in Node, without a server.

import type { Filter, Request, StopReason, TableRef, ToolCall } from "./index.js";

/** A request as the plugin sent it. */
export interface SentRequest {
  method: string;
  url: string;
  headers: [string, string][];
  body: string;
}

/** An answer for a test: the status is 200 when left out. */
export interface GivenResponse {
  status?: number;
  headers?: Record<string, string> | [string, string][];
  body?: string | Uint8Array;
}

/** The host of a test, and what the plugin did with it. */
export interface TestHost {
  /** Level and text of each line that the plugin logged. */
  logged: [string, string][];
  /** The milliseconds of each wait; a test does not wait. */
  slept: number[];
  requests: SentRequest[];
  /** Set it to have the plugin see that the host cancelled the call. */
  cancelled: boolean;
}

export interface StandInOptions {
  /** Answers a request; without it a request is an error. */
  http?: (request: SentRequest) => GivenResponse;
  /** How long a call may take: 60,000 when left out. */
  timeLimitMs?: number;
}

export interface ReplayOptions extends Omit<StandInOptions, "http"> {
  /** Ask the real server when the file is missing, as with `RECORD_HTTP=1`. */
  record?: boolean;
  /**
   * What the host would add, such as the key, or a function that gives it for a request. Never written, and sent to the
   * origin of the first request alone, or to those of `servers`.
   */
  headers?: Record<string, string> | ((request: SentRequest) => Record<string, string>);
  /** Where the real server of a URL is: `{"http://engine.test": process.env.ENGINE}`. In answers it is that URL again. */
  servers?: Record<string, string | undefined>;
  /** Texts that are written as `***`. */
  secrets?: (string | undefined)[];
}

/** A host for tests. From here on it is the plugin's. */
export function standIn(options?: StandInOptions): TestHost;

/** A host whose HTTP comes from a file that was recorded with `RECORD_HTTP=1`. Several tests of one run may share it. */
export function replay(file: string | URL, options?: ReplayOptions): TestHost;

/** A plugin as the host opens it. Each call opens it anew. */
export interface Opened {
  /** The rows of a table as objects, with dates and times in ISO 8601 form. */
  scan(
    table: string | TableRef,
    asked?: { columns?: string[]; filters?: Filter[]; limit?: number | null },
  ): Record<string, any>[];
  /** The names of the columns, and the rows of a statement. */
  query(text: string): { columns: string[]; rows: any[][] };
  /** The whole answer to a question or a request. */
  complete(request: string | Partial<Request>): {
    text: string;
    toolCalls: ToolCall[];
    usage: Record<string, number>;
    stop: StopReason | null;
  };
}

/**
 * A plugin with a configuration, whose calls go through the checks of the SDK. A class without a method that the host
 * calls is a `TypeError`.
 */
export function open(Plugin: new (config: any) => object, config?: object): Opened;
